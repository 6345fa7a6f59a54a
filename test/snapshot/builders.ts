/** The smallest snapshots that mean something, for tests to change one thing of. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';

export const CLUSTER_ID = 'c1';
/** 2026-01-01T00:00:00Z, when every built snapshot is taken, by the service's clock too. */
export const NOW_SECONDS = 1_767_225_600n;
export const NOW_MS = Number(NOW_SECONDS) * 1_000;

export type SnapshotInit = MessageInitShape<typeof ClusterResourceMapSchema>;

/** A valid snapshot of an empty cluster, with the given fields in place of its own. */
export function snapshotOf(init: Omit<SnapshotInit, '$typeName'> = {}): ClusterResourceMap {
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId: CLUSTER_ID },
    collectedAt: { seconds: NOW_SECONDS },
    logicalCounter: 1n,
    ...init,
  });
}
