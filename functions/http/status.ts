/** The one place where an error code becomes an HTTP status and a title. */
import type { ErrorCode } from '../core/errors.ts';

interface Problem {
  readonly status:
    | 400
    | 401
    | 403
    | 404
    | 405
    | 406
    | 408
    | 409
    | 410
    | 412
    | 413
    | 415
    | 421
    | 422
    | 428
    | 429
    | 431
    | 500
    | 503;
  readonly title: string;
}

export const PROBLEMS: Readonly<Record<ErrorCode, Problem>> = {
  empty_body: { status: 400, title: 'The body is empty' },
  malformed_protobuf: { status: 400, title: 'The body is not the expected Protobuf message' },
  malformed_json: { status: 400, title: 'The body is not the expected JSON' },
  malformed_encoding: { status: 400, title: 'The body cannot be decompressed' },
  incomplete_body: { status: 400, title: 'The body is incomplete' },
  malformed_request: { status: 400, title: 'The request is not valid HTTP' },
  invalid_cluster_id: { status: 400, title: 'Invalid cluster id in the URL' },
  invalid_pool_name: { status: 400, title: 'Invalid pool name in the URL' },
  invalid_precondition: { status: 400, title: 'Invalid precondition' },
  invalid_query: { status: 400, title: 'Invalid query parameter' },
  unauthenticated: { status: 401, title: 'The request has no token' },
  invalid_token: { status: 401, title: 'The token is not accepted' },
  forbidden: { status: 403, title: 'The token does not allow this' },
  cross_site_request: { status: 403, title: 'Cross-site request not allowed' },
  cluster_not_found: { status: 404, title: 'No such cluster' },
  cluster_omitted: { status: 404, title: 'The cluster is omitted' },
  snapshot_unavailable: { status: 503, title: 'The snapshot cannot be read' },
  pool_not_found: { status: 404, title: 'No such pool' },
  grant_not_found: { status: 404, title: 'No such registration or token' },
  not_found: { status: 404, title: 'No such resource' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'No acceptable representation' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  counter_regressed: { status: 409, title: 'The counter is below the high-water mark' },
  grant_exists: { status: 409, title: 'The identity is registered already' },
  counter_reused: { status: 409, title: 'The counter was used for another snapshot' },
  bundle_not_found: { status: 404, title: 'No such bundle' },
  bundle_of_another: { status: 403, title: 'The bundle is of another owner' },
  bundle_running: { status: 409, title: 'The bundle has copies that run' },
  bundle_deleting: { status: 409, title: 'The bundle is being deleted' },
  bundle_changed: { status: 412, title: 'The bundle was changed by another writer' },
  too_many_bundles: { status: 429, title: 'Too many bundles' },
  pool_changed: { status: 412, title: 'The pool was changed by another writer' },
  nested_too_deeply: { status: 400, title: 'The body is nested too deeply' },
  body_too_large: { status: 413, title: 'The body is too large' },
  map_too_large: { status: 413, title: 'The response is too large' },
  too_many_elements: { status: 413, title: 'The body has too many elements' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  unsupported_encoding: { status: 415, title: 'The content encoding is not supported' },
  misdirected_request: { status: 421, title: 'Misdirected request: unknown host' },
  invalid_bundle_request: { status: 422, title: 'Invalid bundle request' },
  invalid_fit_request: { status: 422, title: 'Invalid fit request' },
  unknown_chain: { status: 422, title: 'A chain to be released is not in the map' },
  invalid_grant_request: { status: 422, title: 'Invalid registration or token request' },
  invalid_snapshot: { status: 422, title: 'The snapshot breaks rules' },
  precondition_required: { status: 428, title: 'Precondition required' },
  too_many_listeners: { status: 429, title: 'Too many concurrent event streams' },
  too_many_waits: { status: 429, title: 'Too many concurrent long polls' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  invalid_claim: { status: 400, title: 'Invalid claim' },
  claim_of_another: { status: 403, title: 'The claim belongs to another owner' },
  claim_not_found: { status: 404, title: 'No such claim' },
  claim_does_not_fit: { status: 409, title: 'The claim does not fit' },
  claim_undecided: { status: 409, title: 'It is undecided whether the claim fits' },
  claim_exists: { status: 409, title: 'The claim conflicts with an existing one' },
  claim_unbacked: { status: 409, title: 'The claimed capacity is no longer there' },
  claim_ended: { status: 410, title: 'The claim has ended' },
  too_many_claims: { status: 429, title: 'Too many live claims' },
  contention: { status: 503, title: 'Too many concurrent writers of one cluster' },
  overloaded: { status: 503, title: 'Service overloaded' },
  issuer_unavailable: { status: 503, title: 'The issuer of the token is unavailable' },
  store_unavailable: { status: 503, title: 'The store is unavailable' },
  internal: { status: 500, title: 'Internal error' },
};
