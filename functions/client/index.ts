/** What the package exports: the client, the replica, their errors and the messages. `resource-map/bundle` is `functions/core/bundle/index.ts`. */

export { clockEtag } from '../core/map/clock.ts';
export { type MapFilter, WHOLE_MAP } from '../core/map/filter.ts';
export * from '../gen/resourcemap/bundle/v1/bundle_pb.ts';
export * from '../gen/resourcemap/bundle/v1/plan_pb.ts';
export * from '../gen/resourcemap/bundle/v1/pool_pb.ts';
export * from '../gen/resourcemap/v1/capacity_pb.ts';
export * from '../gen/resourcemap/v1/claims_pb.ts';
export * from '../gen/resourcemap/v1/events_pb.ts';
export * from '../gen/resourcemap/v1/resource_map_pb.ts';
export * from '../gen/resourcemap/v1/service_pb.ts';
export {
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
  type Client,
  type ClientOptions,
  createClient,
  type MapOptions,
  type MapResponse,
  type OmitOptions,
  type PushHeaders,
  type PushOptions,
  type PutPoolOptions,
  type SyncOptions,
} from './client.ts';
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
export { MapReplica, type ReplicaEvent, ReplicaMismatchError, type ReplicaOptions } from './replica.ts';
export { DEFAULT_RETRY, type RetryPolicy, type RetryWait } from './transport.ts';
