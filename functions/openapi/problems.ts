/** Which problems a route can answer with, beyond those of its own. */

import type { Permission } from '../auth/permissions.ts';
import type { ErrorCode } from '../core/errors.ts';
import { PROBLEMS } from '../http/status.ts';

/** Whatever the route: the server in front of it, and faults of ours. */
const OF_EVERY_REQUEST: readonly ErrorCode[] = [
  'malformed_request',
  'request_timeout',
  'headers_too_large',
  'internal',
];

/** Of a route that asks for a token. */
const OF_A_TOKEN: readonly ErrorCode[] = [
  'unauthenticated',
  'invalid_token',
  'issuer_unavailable',
  'store_unavailable',
];

/** Of a route that reads a body. */
const OF_A_BODY: readonly ErrorCode[] = [
  'empty_body',
  'malformed_protobuf',
  'malformed_json',
  'malformed_encoding',
  'incomplete_body',
  'nested_too_deeply',
  'body_too_large',
  'too_many_elements',
  'unsupported_media_type',
  'unsupported_encoding',
  'overloaded',
];

export interface ProblemSources {
  readonly permission: Permission;
  /** What the path names. */
  readonly names: 'nothing' | 'a cluster' | 'a pool' | 'a claim' | 'a bundle' | 'a copy' | 'a grant';
  readonly readsBody: boolean;
  /** Whether it answers with a message, and so asks what the client accepts. */
  readonly negotiates: boolean;
  readonly own: readonly ErrorCode[];
}

/** The codes of a route by status, both in ascending order. */
export function problemsOf(sources: ProblemSources): ReadonlyMap<number, readonly ErrorCode[]> {
  const { permission, names, readsBody, negotiates, own } = sources;
  const guarded = permission !== 'open';
  const codes = new Set<ErrorCode>([
    ...OF_EVERY_REQUEST,
    ...(guarded ? OF_A_TOKEN : []),
    ...(guarded && canForbid(permission) ? (['forbidden'] as const) : []),
    // What is open takes whatever parameters there are: nothing hangs on them.
    ...(guarded ? (['invalid_query'] as const) : []),
    ...(names === 'a cluster' ? (['invalid_cluster_id'] as const) : []),
    ...(names === 'a pool' ? (['invalid_pool_name'] as const) : []),
    // An id or name that is empty makes a path at which nothing is.
    ...(names === 'nothing' ? [] : (['not_found'] as const)),
    ...(readsBody ? OF_A_BODY : []),
    ...(negotiates ? (['not_acceptable'] as const) : []),
    ...own,
  ]);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes].sort()) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Whether the guard can turn away somebody whose token is good. */
function canForbid(permission: Exclude<Permission, 'open'>): boolean {
  return (['agent', 'scheduler', 'viewer', 'monitor', 'admin'] as const).some((role) => {
    const reach = permission[role];
    return reach === undefined || reach === 'own';
  });
}
