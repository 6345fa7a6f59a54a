/** What `@resource-map/client` exports: clients, the replica, their errors and the messages. `/bundle` is `functions/core/bundle/index.ts`, `/rpc` `rpc.ts`. */

export type { ErrorCode } from '../core/errors.ts';
export type { Finding as ProblemFinding } from '../core/findings.ts';
export { type MapFilter, WHOLE_MAP } from '../core/map/filter.ts';
export { type AccessClient, createAccessClient } from './access-client.ts';
export {
  type ChangedClaims,
  type ClaimClient,
  type ClaimInit,
  type ClaimsResponse,
  createClaimClient,
  type ListClaimsOptions,
  type ReleaseOptions,
  type RenewOptions,
} from './claim-client.ts';
export { newClaimId } from './claim-id.ts';
export {
  type CallOptions,
  type CapacityFilterInit,
  type CapacityOptions,
  type ChangedMap,
  type Client,
  type ClientOptions,
  createClient,
  type MapOptions,
  type MapResponse,
  type NotModified,
  type OmitOptions,
  type PushHeaders,
  type PushOptions,
  type PutPoolOptions,
  type SyncOptions,
} from './client.ts';
export { clockEtag } from './clock-etag.ts';
export {
  ApiError,
  ConnectionError,
  type Problem,
  type ProblemCode,
  UnexpectedResponseError,
} from './errors.ts';
export {
  clusterChangeOf,
  type DeliveredEvent,
  type EventStreamOptions,
  eventStream,
} from './event-stream.ts';
export { ClaimNotStartableError, DEFAULT_START_MARGIN_MS, HeldClaim } from './held-claim.ts';
export * from './messages.ts';
export { MapReplica, type ReplicaEvent, ReplicaMismatchError, type ReplicaOptions } from './replica.ts';
export { DEFAULT_RETRY, type RetryPolicy, type RetryWait } from './transport.ts';
