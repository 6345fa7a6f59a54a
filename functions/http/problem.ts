/** RFC 9457 problem details: how every error is answered. */
import type { Context } from 'hono';
import { type ErrorCode, type ResourceMapError, shortened } from '../core/errors.ts';
import { PROBLEMS } from './status.ts';

/** RFC 6750, section 3: what a client may learn of tokens. */
const CHALLENGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  unauthenticated: 'Bearer realm="resource-map"',
  invalid_token: 'Bearer realm="resource-map", error="invalid_token"',
  forbidden: 'Bearer realm="resource-map", error="insufficient_scope"',
  bundle_of_another: 'Bearer realm="resource-map", error="insufficient_scope"',
};

/** Answers with a problem; its cause stays here. */
export function problemResponse(c: Context, error: ResourceMapError): Response {
  const { status, headers, body } = problemOf(error, c.req.path, c.get('requestId'));
  return c.body(body, status, headers);
}

/** A response, for where there is no context to answer with. */
export interface Problem {
  readonly status: (typeof PROBLEMS)[keyof typeof PROBLEMS]['status'];
  readonly headers: Record<string, string>;
  readonly body: string;
}

/**
 * The problem of an error.
 *
 * @param instance path of the request, where it is known
 */
export function problemOf(error: ResourceMapError, instance: string | undefined, requestId: string): Problem {
  const { status, title } = PROBLEMS[error.code];
  const { field, value, nearest, limit, allowedRoles, ...more } = error.details;
  const { highWaterMark, findings, omittedFindings, retryAfterSeconds, allow, claim } = more;
  const body = {
    type: `urn:resource-map:problem:${error.code}`,
    title,
    status,
    detail: error.detail,
    ...(instance === undefined ? {} : { instance }),
    code: error.code,
    requestId,
    ...(field === undefined ? {} : { field }),
    ...(value === undefined ? {} : { value: shortened(value) }),
    ...(nearest === undefined ? {} : { nearest }),
    ...(limit === undefined ? {} : { limit }),
    ...(allowedRoles === undefined ? {} : { allowedRoles }),
    // As everywhere on the wire, 64-bit integers are strings.
    ...(highWaterMark === undefined ? {} : { highWaterMark: String(highWaterMark) }),
    ...(findings === undefined ? {} : { findings }),
    ...(omittedFindings === undefined ? {} : { omittedFindings }),
    ...claim,
    // Beside the header, since tools that show a problem show its body.
    ...(claim === undefined || retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  const challenge = CHALLENGES[error.code];
  if (challenge !== undefined) headers['www-authenticate'] = challenge;
  if (allow !== undefined) headers.allow = allow.join(', ');
  return { status, headers, body: JSON.stringify(body) };
}
