/** The smallest snapshots that mean something, for tests to change one thing of. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AutoscalingReservationSchema,
  type CapacityPoolSchema,
  type ChainStateSchema,
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type JobStateSchema,
  type NodeTypeCapacitySchema,
  type PodAllocationSchema,
  type PodRequirementSchema,
  PurchaseModel,
  type RankStateSchema,
  WorkloadKind,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

/** What a message is made of, as a plain object. */
type Init<T> = Extract<T, { readonly $typeName?: never }>;

export type SnapshotInit = Init<MessageInitShape<typeof ClusterResourceMapSchema>>;
export type PoolInit = Init<MessageInitShape<typeof CapacityPoolSchema>>;
export type NodeTypeInit = Init<MessageInitShape<typeof NodeTypeCapacitySchema>>;
export type AllocationInit = Init<MessageInitShape<typeof PodAllocationSchema>>;
export type ReservationInit = Init<MessageInitShape<typeof AutoscalingReservationSchema>>;
export type JobInit = Init<MessageInitShape<typeof JobStateSchema>>;
export type RankInit = Init<MessageInitShape<typeof RankStateSchema>>;
export type RequirementInit = Init<MessageInitShape<typeof PodRequirementSchema>>;
export type ChainInit = Init<MessageInitShape<typeof ChainStateSchema>>;

export const CLUSTER_ID = 'c1';
/** 2026-01-01T00:00:00Z, when every built snapshot is taken, by the service's clock too. */
export const NOW_SECONDS = 1_767_225_600n;
export const NOW_MS = Number(NOW_SECONDS) * 1_000;

/** A valid snapshot of an empty cluster, with the given fields in place of its own. */
export function snapshotOf(init: SnapshotInit = {}): ClusterResourceMap {
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId: CLUSTER_ID },
    collectedAt: { seconds: NOW_SECONDS },
    logicalCounter: 1n,
    ...init,
  });
}

/** Pool `p`. */
export function pool(init: PoolInit = {}): PoolInit {
  return { id: 'p', ...init };
}

/** Node type `t`: two nodes of eight accelerators. */
export function nodeType(init: NodeTypeInit = {}): NodeTypeInit {
  return {
    id: 't',
    acceleratorsPerNode: 8,
    totalCount: 2,
    purchaseModel: PurchaseModel.ON_DEMAND,
    eligibleForTandemn: true,
    ...init,
  };
}

/** Job `j` with its ranks. */
export function job(ranks: readonly RankInit[] = [], init: JobInit = {}): JobInit {
  return { jobId: 'j', workloadKind: WorkloadKind.ONLINE, ranks: [...ranks], ...init };
}

/** Rank `r` of chains of one pod, which takes half a node of type `t` in pool `p`. */
export function rank(init: RankInit = {}): RankInit {
  return { rankId: 'r', podRequirements: [requirement()], ...init };
}

export function requirement(init: RequirementInit = {}): RequirementInit {
  return { poolId: 'p', nodeTypeId: 't', acceleratorCount: 4, ...init };
}

/** Chain `c` of one pod of an unknown phase. */
export function chain(init: ChainInit = {}): ChainInit {
  return { chainId: 'c', pods: [{ podIndex: 0 }], ...init };
}

/** Pod 0 of chain `c` of rank `r` of job `j`. */
export function allocation(init: AllocationInit = {}): AllocationInit {
  return { jobId: 'j', rankId: 'r', chainId: 'c', podIndex: 0, acceleratorCount: 4, ...init };
}

/** One chain more of rank `r` of job `j`. */
export function reservation(init: ReservationInit = {}): ReservationInit {
  return { jobId: 'j', rankId: 'r', additionalChains: 1, ...init };
}
