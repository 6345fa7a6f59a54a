/** A head as callers see it. */
import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema } from '@bufbuild/protobuf/wkt';
import { nanosOfMs, timestampOf } from '../core/timestamp.ts';
import {
  AcceleratorCountSchema,
  ClusterState,
  type ClusterStatus,
  ClusterStatusSchema,
  type RefusedPush,
  RefusedPushSchema,
} from '../gen/resourcemap/v1/service_pb.ts';
import type { Head } from '../storage/head.ts';
import { type Refusal, standingRefusal } from '../storage/refusals.ts';

/**
 * @param refusal the last refused push, whenever it was
 * @param nowMs the service's clock, from which the age is counted
 */
export function clusterStatus(head: Head, refusal: Refusal | undefined, nowMs: number): ClusterStatus {
  const standing = standingRefusal(refusal, head);
  return create(ClusterStatusSchema, {
    cluster: { clusterId: head.clusterId, ...head.identity },
    state: head.omission === undefined ? ClusterState.INCLUDED : ClusterState.OMITTED,
    ...(head.omission === undefined
      ? {}
      : {
          omittedReason: head.omission.reason,
          omittedAt: timestampOf(nanosOfMs(head.omission.atMs)),
        }),
    highWaterMark: head.highWater,
    collectedAt: timestampOf(head.collectedAtNanos),
    receivedAt: timestampOf(nanosOfMs(head.receivedAtMs)),
    // Another instance's clock may be a little ahead of ours.
    age: durationOfMs(Math.max(0, nowMs - head.receivedAtMs)),
    contentSinceCounter: head.contentSince.counter,
    contentSince: timestampOf(nanosOfMs(head.contentSince.atMs)),
    accelerators: head.accelerators.map(({ model, total, free, unavailable }) =>
      create(AcceleratorCountSchema, { model, total, free, unavailable }),
    ),
    omittedAcceleratorModels: head.omittedModels,
    warningCount: head.warnings,
    bodyBytes: BigInt(head.body.rawBytes),
    storedBytes: BigInt(head.body.storedBytes),
    ...(standing === undefined ? {} : { lastRefusal: refusedPush(standing) }),
  });
}

/**
 * The status of a cluster of which no snapshot was ever accepted, or none is kept.
 *
 * @param highWaterMark of a retired cluster; absent where nothing was ever accepted
 */
export function refusedClusterStatus(refusal: Refusal, highWaterMark: bigint | undefined): ClusterStatus {
  return create(ClusterStatusSchema, {
    cluster: { clusterId: refusal.clusterId },
    state: ClusterState.UNSPECIFIED,
    ...(highWaterMark === undefined ? {} : { highWaterMark }),
    lastRefusal: refusedPush(refusal),
  });
}

function refusedPush({ atMs, code, message, count }: Refusal): RefusedPush {
  return create(RefusedPushSchema, { at: timestampOf(nanosOfMs(atMs)), code, message, count });
}

function durationOfMs(ms: number): Duration {
  return create(DurationSchema, { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 });
}
