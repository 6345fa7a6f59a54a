/** Snapshots that differ in one number, so that which content was read is plain. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  PurchaseModel,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';

export const VARIANTS = 3;

export function snapshotOf(
  clusterId: string,
  counter: bigint,
  variant: number,
  collectedAtMs: number,
): ClusterResourceMap {
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId },
    collectedAt: timestampFromMs(collectedAtMs),
    logicalCounter: counter,
    capacityPools: [
      {
        id: 'p',
        nodeTypes: [
          {
            id: 't',
            acceleratorModel: 'H100',
            acceleratorsPerNode: 8,
            totalCount: variant + 1,
            purchaseModel: PurchaseModel.ON_DEMAND,
            eligibleForTandemn: true,
          },
        ],
      },
    ],
  });
}

/** The variant that a snapshot is of. */
export function variantOf(snapshot: ClusterResourceMap): number {
  return Number(snapshot.capacityPools[0]?.nodeTypes[0]?.totalCount ?? 0) - 1;
}
