/** Errors of RPCs: Connect's codes, and which of them each problem code becomes. */
import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ErrorCode } from '../../core/errors.ts';
import type { Finding } from '../../core/findings.ts';
import { ProblemSchema } from '../../gen/resourcemap/v1/rpc_requests_pb.ts';

/** Connect's codes: the number is that of gRPC, the status what Connect prescribes. */
export const RPC_CODES = {
  canceled: { number: 1, status: 499 },
  unknown: { number: 2, status: 500 },
  invalid_argument: { number: 3, status: 400 },
  deadline_exceeded: { number: 4, status: 504 },
  not_found: { number: 5, status: 404 },
  already_exists: { number: 6, status: 409 },
  permission_denied: { number: 7, status: 403 },
  resource_exhausted: { number: 8, status: 429 },
  failed_precondition: { number: 9, status: 400 },
  aborted: { number: 10, status: 409 },
  out_of_range: { number: 11, status: 400 },
  unimplemented: { number: 12, status: 501 },
  internal: { number: 13, status: 500 },
  unavailable: { number: 14, status: 503 },
  data_loss: { number: 15, status: 500 },
  unauthenticated: { number: 16, status: 401 },
} as const;

export type RpcCode = keyof typeof RPC_CODES;

export interface RpcErrorDetail {
  /** Full name of the message. */
  readonly type: string;
  readonly value: Uint8Array;
}

export interface RpcError {
  readonly code: RpcCode;
  readonly message: string;
  readonly details: readonly RpcErrorDetail[];
}

/** Every problem code that is not `invalid_argument`. */
const CODES: Readonly<Partial<Record<ErrorCode, RpcCode>>> = {
  unauthenticated: 'unauthenticated',
  invalid_token: 'unauthenticated',
  forbidden: 'permission_denied',
  cross_site_request: 'permission_denied',
  misdirected_request: 'permission_denied',
  claim_of_another: 'permission_denied',
  bundle_of_another: 'permission_denied',
  grant_not_found: 'not_found',
  pool_not_found: 'not_found',
  bundle_not_found: 'not_found',
  cluster_not_found: 'not_found',
  claim_not_found: 'not_found',
  cluster_omitted: 'not_found',
  not_found: 'not_found',
  counter_regressed: 'failed_precondition',
  precondition_required: 'failed_precondition',
  claim_does_not_fit: 'failed_precondition',
  bundle_running: 'failed_precondition',
  bundle_deleting: 'failed_precondition',
  bundle_changed: 'failed_precondition',
  claim_undecided: 'failed_precondition',
  claim_unbacked: 'failed_precondition',
  claim_ended: 'failed_precondition',
  counter_reused: 'already_exists',
  grant_exists: 'already_exists',
  claim_exists: 'already_exists',
  pool_changed: 'aborted',
  body_too_large: 'resource_exhausted',
  map_too_large: 'resource_exhausted',
  headers_too_large: 'resource_exhausted',
  too_many_elements: 'resource_exhausted',
  too_many_waits: 'resource_exhausted',
  too_many_listeners: 'resource_exhausted',
  too_many_claims: 'resource_exhausted',
  too_many_bundles: 'resource_exhausted',
  overloaded: 'unavailable',
  contention: 'unavailable',
  store_unavailable: 'unavailable',
  issuer_unavailable: 'unavailable',
  snapshot_unavailable: 'unavailable',
  request_timeout: 'unavailable',
  unsupported_encoding: 'unimplemented',
  method_not_allowed: 'unimplemented',
  internal: 'internal',
};

/** What problem details have that an RPC's error shows. */
export interface ProblemBody {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly requestId: string;
  readonly highWaterMark?: string;
  readonly findings?: readonly Finding[];
  readonly omittedFindings?: number;
  readonly field?: string;
  readonly value?: string;
  readonly nearest?: readonly string[];
  readonly limit?: number;
  readonly allowedRoles?: readonly string[];
}

/**
 * The error of an RPC for a problem, with `google.rpc.ErrorInfo`, `resourcemap.v1.Problem` and, if
 * trying again makes sense, `google.rpc.RetryInfo`.
 */
export function rpcErrorOf(problem: ProblemBody, retryAfterSeconds?: number): RpcError {
  const details = [
    { type: 'google.rpc.ErrorInfo', value: errorInfo(problem.code.toUpperCase()) },
    { type: ProblemSchema.typeName, value: toBinary(ProblemSchema, problemMessage(problem)) },
  ];
  if (retryAfterSeconds !== undefined) {
    details.push({ type: 'google.rpc.RetryInfo', value: retryInfo(retryAfterSeconds) });
  }
  return { code: CODES[problem.code] ?? 'invalid_argument', message: problem.detail, details };
}

function problemMessage({ code, requestId, highWaterMark, findings, omittedFindings, ...more }: ProblemBody) {
  return create(ProblemSchema, {
    code,
    requestId,
    ...(highWaterMark === undefined ? {} : { highWaterMark: BigInt(highWaterMark) }),
    findings: (findings ?? []).map(({ code, severity, path, message }) => ({
      code,
      severity,
      path,
      message,
    })),
    omittedFindings: omittedFindings ?? 0,
    field: more.field ?? '',
    value: more.value ?? '',
    nearest: [...(more.nearest ?? [])],
    ...(more.limit === undefined ? {} : { limit: BigInt(more.limit) }),
    allowedRoles: [...(more.allowedRoles ?? [])],
  });
}

/** google.rpc.ErrorInfo { reason = 1; domain = 2 } */
function errorInfo(reason: string): Uint8Array {
  return new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(reason)
    .tag(2, WireType.LengthDelimited)
    .string('resource-map')
    .finish();
}

/** google.rpc.RetryInfo { google.protobuf.Duration retry_delay = 1 } */
function retryInfo(seconds: number): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
  return writer.tag(1, WireType.Varint).int64(Math.ceil(seconds)).join().finish();
}

/** google.rpc.Status { code = 1; message = 2; google.protobuf.Any details = 3 } */
export function statusMessage({ code, message, details }: RpcError): Uint8Array {
  const writer = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(RPC_CODES[code].number)
    .tag(2, WireType.LengthDelimited)
    .string(message);
  for (const { type, value } of details) {
    writer.tag(3, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(`type.googleapis.com/${type}`);
    writer.tag(2, WireType.LengthDelimited).bytes(value).join();
  }
  return writer.finish();
}
