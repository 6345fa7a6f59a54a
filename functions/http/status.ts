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
  incomplete_body: { status: 400, title: 'The body broke off' },
  malformed_request: { status: 400, title: 'The request is not valid HTTP' },
  invalid_cluster_id: { status: 400, title: 'The cluster id in the URL cannot be one' },
  invalid_pool_name: { status: 400, title: 'The pool name in the URL cannot be one' },
  invalid_precondition: { status: 400, title: 'A precondition is not understood' },
  invalid_query: { status: 400, title: 'A query parameter is not understood' },
  unauthenticated: { status: 401, title: 'The request has no token' },
  invalid_token: { status: 401, title: 'The token is not accepted' },
  forbidden: { status: 403, title: 'The token does not allow this' },
  cross_site_request: { status: 403, title: 'A page of another site may not do this' },
  cluster_not_found: { status: 404, title: 'No such cluster' },
  cluster_omitted: { status: 404, title: 'The cluster is out of the map' },
  snapshot_unavailable: { status: 503, title: 'The snapshot cannot be read' },
  pool_not_found: { status: 404, title: 'No such pool' },
  grant_not_found: { status: 404, title: 'No such registration or token' },
  not_found: { status: 404, title: 'No such resource' },
  method_not_allowed: { status: 405, title: 'The resource does not know this method' },
  not_acceptable: { status: 406, title: 'No representation that the client accepts' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  counter_regressed: { status: 409, title: 'The counter is below the high-water mark' },
  grant_exists: { status: 409, title: 'The identity is registered already' },
  counter_reused: { status: 409, title: 'The counter was used for another snapshot' },
  pool_changed: { status: 412, title: 'The pool is not the one that the request expects' },
  nested_too_deeply: { status: 400, title: 'The body is nested too deeply' },
  body_too_large: { status: 413, title: 'The body is too large' },
  map_too_large: { status: 413, title: 'The answer is too large to be carried' },
  too_many_elements: { status: 413, title: 'The body has too many elements' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  unsupported_encoding: { status: 415, title: 'The content encoding is not supported' },
  misdirected_request: { status: 421, title: 'The service has another name' },
  invalid_bundle_request: { status: 422, title: 'The request about bundles makes no sense' },
  invalid_fit_request: { status: 422, title: 'The shape that is asked for makes no sense' },
  unknown_chain: { status: 422, title: 'A chain to be released is not in the map' },
  invalid_grant_request: { status: 422, title: 'No such registration or token can be made' },
  invalid_snapshot: { status: 422, title: 'The snapshot breaks rules' },
  precondition_required: { status: 428, title: 'The request does not say what it expects' },
  too_many_listeners: { status: 429, title: 'The caller listens too often at once' },
  too_many_waits: { status: 429, title: 'The caller waits too often at once' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  invalid_claim: { status: 400, title: 'The claim makes no sense' },
  claim_of_another: { status: 403, title: 'The claim is of another owner' },
  claim_not_found: { status: 404, title: 'No such claim' },
  claim_does_not_fit: { status: 409, title: 'The claim does not fit' },
  claim_undecided: { status: 409, title: 'It is undecided whether the claim fits' },
  claim_exists: { status: 409, title: 'Another claim was made already' },
  claim_unbacked: { status: 409, title: 'What the claim holds is not there any more' },
  claim_ended: { status: 410, title: 'The claim has ended' },
  too_many_claims: { status: 429, title: 'Too many claims are live' },
  contention: { status: 503, title: 'Too many writers of one cluster' },
  overloaded: { status: 503, title: 'Too much is under way' },
  issuer_unavailable: { status: 503, title: 'The issuer of the token does not answer' },
  store_unavailable: { status: 503, title: 'The store does not answer' },
  internal: { status: 500, title: 'The service failed' },
};
