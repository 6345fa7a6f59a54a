/** Pushes as the service commits them, without HTTP. */
import { create } from '@bufbuild/protobuf';
import { nanosOfMs, timestampOf } from '../../../functions/core/timestamp.ts';
import { ClusterIdentitySchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type Published, publishSnapshot } from '../../../functions/lambdas/push/publish.ts';
import type { Store } from '../../../functions/storage/commit.ts';
import { snapshotOf } from '../../core/snapshot/builders.ts';

export interface PushInit {
  readonly counter: bigint;
  /** Equal texts are equal content. */
  readonly content?: string;
  /** By the service's clock. */
  readonly nowMs: number;
  /** By the agent's. */
  readonly collectedAtMs?: number;
}

export function push(store: Store, clusterId: string, init: PushInit): Promise<Published> {
  const { counter, content = 'same', nowMs, collectedAtMs = nowMs } = init;
  const snapshot = snapshotOf({
    cluster: create(ClusterIdentitySchema, { clusterId, displayName: content }),
    collectedAt: timestampOf(nanosOfMs(collectedAtMs)),
    logicalCounter: counter,
  });
  return publishSnapshot(store, { clusterId, snapshot, allowJump: false, strict: false }, nowMs);
}

/** A push of a cluster with eight accelerators on one node, of which so many are free. */
export function pushFree(
  store: Store,
  clusterId: string,
  { counter, free, nowMs }: { readonly counter: bigint; readonly free: number; readonly nowMs: number },
): Promise<Published> {
  const used = ACCELERATORS - free;
  const snapshot = snapshotOf({
    cluster: create(ClusterIdentitySchema, { clusterId }),
    collectedAt: timestampOf(nanosOfMs(nowMs)),
    logicalCounter: counter,
    capacityPools: [
      {
        id: 'pool',
        nodeTypes: [
          {
            id: 'type',
            acceleratorModel: 'H100',
            acceleratorsPerNode: ACCELERATORS,
            totalCount: 1,
            inUse: used === 0 ? [] : [{ externalAcceleratorsInUse: used }],
          },
        ],
      },
    ],
  });
  return publishSnapshot(store, { clusterId, snapshot, allowJump: false, strict: false }, nowMs);
}

const ACCELERATORS = 8;
