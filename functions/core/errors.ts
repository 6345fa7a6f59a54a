/**
 * The errors that leave the service. The set of codes is closed: clients match on
 * them, `http/status.ts` maps every one of them to a status, and a new one is an
 * addition to the API.
 */
import type { Finding } from './findings.ts';

/** Every `code` that a response can have. */
export type ErrorCode =
  | 'unauthenticated'
  | 'invalid_token'
  | 'forbidden'
  | 'cross_site_request'
  | 'misdirected_request'
  | 'too_many_waits'
  | 'too_many_listeners'
  | 'issuer_unavailable'
  | 'invalid_grant_request'
  | 'grant_not_found'
  | 'grant_exists'
  | 'empty_body'
  | 'malformed_protobuf'
  | 'malformed_json'
  | 'malformed_encoding'
  | 'incomplete_body'
  | 'invalid_cluster_id'
  | 'invalid_query'
  | 'body_too_large'
  | 'map_too_large'
  | 'too_many_elements'
  | 'nested_too_deeply'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'not_acceptable'
  | 'invalid_snapshot'
  | 'invalid_fit_request'
  | 'invalid_bundle_request'
  | 'invalid_pool_name'
  | 'pool_not_found'
  | 'pool_changed'
  | 'invalid_precondition'
  | 'precondition_required'
  | 'unknown_chain'
  | 'counter_regressed'
  | 'counter_reused'
  | 'cluster_not_found'
  | 'cluster_omitted'
  | 'snapshot_unavailable'
  | 'not_found'
  | 'method_not_allowed'
  | 'malformed_request'
  | 'request_timeout'
  | 'headers_too_large'
  | 'invalid_claim'
  | 'claim_does_not_fit'
  | 'claim_undecided'
  | 'claim_exists'
  | 'claim_unbacked'
  | 'claim_ended'
  | 'claim_not_found'
  | 'claim_of_another'
  | 'too_many_claims'
  | 'bundle_not_found'
  | 'bundle_changed'
  | 'bundle_running'
  | 'bundle_of_another'
  | 'bundle_deleting'
  | 'too_many_bundles'
  | 'contention'
  | 'overloaded'
  | 'store_unavailable'
  | 'internal';

/** What a problem details response carries beside its code and text. */
export interface ErrorDetails {
  /** What of the request is at fault: a query parameter, a header, or what an id in the path names. */
  readonly field?: string;
  /** What it has; see {@link shortened}. */
  readonly value?: string;
  /** What `value` may have been meant to be, the nearest first; absent if nothing is near. */
  readonly nearest?: readonly string[];
  /** The limit that the request exceeds, in the unit that the detail names. */
  readonly limit?: number;
  /** Roles that may send the request. */
  readonly allowedRoles?: readonly string[];
  /** The highest counter that was ever accepted for the cluster. */
  readonly highWaterMark?: bigint;
  readonly findings?: readonly Finding[];
  /** Findings that did not fit. */
  readonly omittedFindings?: number;
  /** Seconds after which trying again makes sense. */
  readonly retryAfterSeconds?: number;
  /** Of a claim that does not fit: what stands in its way, and what would fit. */
  readonly claim?: ClaimRefusal;
  /** Methods that the path does know, for 405. */
  readonly allow?: readonly string[];
}

/** Characters of a value that a problem repeats: an id has at most 253 bytes, of which most are far shorter. */
const MAX_VALUE_CHARACTERS = 253;

/** A value of the request as a problem repeats it. */
export function shortened(value: string): string {
  return value.length <= MAX_VALUE_CHARACTERS ? value : `${value.slice(0, MAX_VALUE_CHARACTERS)}…`;
}

/** Why a claim was refused. */
export interface ClaimRefusal {
  /** Ids of live claims on the targets concerned. */
  readonly blockingClaims?: readonly string[];
  /** Chains that would fit, at most; of claims of one rank. */
  readonly maxChains?: number;
  /** Whether it would fit on nodes that the cluster's pools may still add; absent: unknown. */
  readonly fitsWithScaleOut?: boolean;
  /** How a claim ended. */
  readonly state?: string;
}

/**
 * An error that a caller may see. Its message begins with the code, since tools
 * often show nothing else; `detail` is the same text without it. The cause is for
 * the log and is never sent.
 */
export class ResourceMapError extends Error {
  override readonly name: string = 'ResourceMapError';

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    readonly details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(`[${code}] ${detail}`, options);
  }

  /** Anything that was thrown, as one of ours; what is not ours becomes `internal` and says nothing of itself. */
  static from(thrown: unknown): ResourceMapError {
    if (thrown instanceof ResourceMapError) return thrown;
    return new ResourceMapError(
      'internal',
      'Internal error. Search the service log for the request id.',
      {},
      {
        cause: thrown,
      },
    );
  }
}

/** The body is no snapshot at all: it could not be read, so no rule was applied to it. */
export class MalformedBodyError extends ResourceMapError {
  override readonly name = 'MalformedBodyError';

  constructor(
    code: 'empty_body' | 'malformed_protobuf' | 'malformed_json' | 'malformed_encoding' | 'incomplete_body',
    detail: string,
    details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(code, detail, details, options);
  }
}

/** The snapshot was read and breaks rules; the findings say which. */
export class InvalidSnapshotError extends ResourceMapError {
  override readonly name = 'InvalidSnapshotError';

  constructor(findings: readonly Finding[], rejects: number, omitted: number) {
    const count = rejects === 1 ? 'breaks a rule' : `breaks ${rejects} rules`;
    super('invalid_snapshot', `The snapshot ${count}; the map keeps the last good one.`, {
      findings,
      ...(omitted > 0 ? { omittedFindings: omitted } : {}),
    });
  }
}

/** The counter cannot be accepted after the one that was accepted before; that one is carried along. */
export class CounterConflictError extends ResourceMapError {
  override readonly name = 'CounterConflictError';

  constructor(
    code: 'counter_regressed' | 'counter_reused',
    detail: string,
    readonly highWater: bigint,
  ) {
    super(code, detail, { highWaterMark: highWater });
  }
}
