/**
 * Single changes that make a lie of a valid snapshot. Each breaks one rule, wherever
 * in the snapshot it strikes.
 */
import { clone, create, type MessageShape } from '@bufbuild/protobuf';
import {
  AutoscalingReservationSchema,
  CapacityPoolSchema,
  ChainStateSchema,
  type ClusterResourceMap,
  FabricLinkSchema,
  FabricSchema,
  JobStateSchema,
  type NodeOccupancy,
  NodeOccupancySchema,
  type NodeTypeCapacity,
  NodeTypeCapacitySchema,
  PodAllocationSchema,
  PodStateSchema,
  RankStateSchema,
  TopologyMapSchema,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { NOW_SECONDS } from '../builders.ts';

/** One of the values; the test decides which. */
export type Pick = <T>(values: readonly T[]) => T;

/** Changes the snapshot in place. */
export type Mutation = (snapshot: ClusterResourceMap, pick: Pick) => void;

const UINT32_MAX = 0xffff_ffff;
const NOWHERE = 'nothing has this id';

function typesOf(snapshot: ClusterResourceMap): NodeTypeCapacity[] {
  return snapshot.capacityPools.flatMap((pool) => pool.nodeTypes);
}

function ranksOf(snapshot: ClusterResourceMap) {
  return snapshot.jobs.flatMap((job) => job.ranks.map((rank) => ({ job, rank })));
}

function allocationsOf(snapshot: ClusterResourceMap) {
  return typesOf(snapshot).flatMap((type) =>
    type.inUse.flatMap((entry) => entry.allocations.map((allocation) => ({ type, entry, allocation }))),
  );
}

function reservationsOf(snapshot: ClusterResourceMap) {
  return typesOf(snapshot).flatMap((type) =>
    type.reservedForAutoscaling.map((reservation) => ({ type, reservation })),
  );
}

/** Node types with an idle node. */
function withRoom(snapshot: ClusterResourceMap): NodeTypeCapacity[] {
  return typesOf(snapshot).filter((type) => type.inUse.length < type.totalCount);
}

function allocatedOn(entry: NodeOccupancy): number {
  return entry.allocations.reduce((sum, a) => sum + a.acceleratorCount, 0);
}

/** The (pool, node type) ids that a rank's pods stand on, each once. */
function spanOf(rank: MessageShape<typeof RankStateSchema>): string[] {
  return [...new Set(rank.podRequirements.map((q) => JSON.stringify([q.poolId, q.nodeTypeId])))];
}

/** Node types with their pools' ids. */
function placesOf(snapshot: ClusterResourceMap) {
  return snapshot.capacityPools.flatMap((pool) =>
    pool.nodeTypes.map((type) => ({ type, place: JSON.stringify([pool.id, type.id]) })),
  );
}

const topologyOf = (snapshot: ClusterResourceMap) => {
  snapshot.topology ??= create(TopologyMapSchema);
  return snapshot.topology;
};

/** Each rule that refuses, with ways to break it. */
export const REJECTED: Readonly<Record<string, readonly Mutation[]>> = {
  invalid_id: [
    (s, pick) => {
      s.capacityPools.push(
        create(CapacityPoolSchema, { id: pick(['', '\n', 'x'.repeat(254), '\ud800', '\u0085']) }),
      );
    },
    (s, pick) => {
      s.jobs.push(
        create(JobStateSchema, { jobId: pick(['', '\u0000', 'é'.repeat(127), 'a\udc00', '\u007f']) }),
      );
    },
    (s) => {
      topologyOf(s).fabrics.push(create(FabricSchema, { id: '\t' }));
    },
    (s, pick) => {
      const { rank } = pick(ranksOf(s));
      const pods = rank.podRequirements.map((_, podIndex) => create(PodStateSchema, { podIndex }));
      rank.chains.push(create(ChainStateSchema, { chainId: '', pods }));
    },
    (s, pick) => {
      if (s.cluster !== undefined) s.cluster.clusterId = pick(['.', '..', '__proto__', 'a\rb']);
    },
  ],
  missing_cluster_id: [
    (s) => {
      if (s.cluster !== undefined) s.cluster.clusterId = '';
    },
    (s) => {
      s.cluster = undefined;
    },
  ],
  missing_collected_at: [
    (s) => {
      s.collectedAt = undefined;
    },
  ],
  invalid_timestamp: [
    (s, pick) => {
      if (s.collectedAt !== undefined) s.collectedAt.nanos = pick([-1, 1_000_000_000]);
    },
    (s, pick) => {
      if (s.collectedAt !== undefined)
        s.collectedAt.seconds = pick([-62_135_596_801n, 253_402_300_800n, -(2n ** 63n)]);
    },
  ],
  collected_in_future: [
    (s, pick) => {
      if (s.collectedAt !== undefined) s.collectedAt.seconds = pick([NOW_SECONDS + 301n, 253_402_300_799n]);
    },
  ],
  missing_counter: [
    (s) => {
      s.logicalCounter = 0n;
    },
  ],
  counter_exhausted: [
    (s) => {
      s.logicalCounter = 2n ** 64n - 1n;
    },
  ],
  duplicate_pool_id: [
    (s, pick) => {
      const copy = clone(CapacityPoolSchema, pick(s.capacityPools));
      // What is allocated twice is another finding.
      for (const type of copy.nodeTypes)
        type.inUse = type.inUse.filter((entry) => entry.allocations.length === 0);
      s.capacityPools.push(copy);
    },
  ],
  pool_bounds_inverted: [
    (s, pick) => {
      const pool = pick(s.capacityPools);
      pool.maxNodes = pick([0, 7, UINT32_MAX - 1]);
      pool.minNodes = pick([pool.maxNodes + 1, UINT32_MAX]);
    },
  ],
  duplicate_node_type_id: [
    (s, pick) => {
      const pool = pick(s.capacityPools.filter((p) => p.nodeTypes.length > 0));
      const copy = clone(NodeTypeCapacitySchema, pick(pool.nodeTypes));
      copy.inUse = [];
      pool.nodeTypes.push(copy);
    },
  ],
  too_many_occupied_nodes: [
    (s, pick) => {
      const type = pick(typesOf(s).filter((t) => t.inUse.length > 0));
      type.totalCount = pick([0, type.inUse.length - 1]);
    },
  ],
  invalid_price: [
    (s, pick) => {
      const decimalAmount = pick(['', '-1', '1e3', '.5', '5.', '1 ', '1.2.3', '0x10', '٣']);
      pick(typesOf(s)).pricePerNodeHour = {
        $typeName: 'resourcemap.v1.HourlyPrice',
        currencyCode: 'USD',
        decimalAmount,
      };
    },
    (s, pick) => {
      const currencyCode = pick(['', 'usd', 'US', 'USDX', '€']);
      pick(typesOf(s)).pricePerNodeHour = {
        $typeName: 'resourcemap.v1.HourlyPrice',
        currencyCode,
        decimalAmount: '1',
      };
    },
  ],
  unknown_fabric: [
    (s, pick) => {
      pick(typesOf(s)).fabricId = NOWHERE;
    },
  ],
  invalid_duration: [
    (s, pick) => {
      const [seconds, nanos] = pick<[bigint, number]>([
        [0n, 0],
        [-1n, 0],
        [0n, -1],
        [1n, 1_000_000_000],
        [1n, -1],
        [315_576_000_001n, 0],
      ]);
      pick(typesOf(s)).maxRunDuration = { $typeName: 'google.protobuf.Duration', seconds, nanos };
    },
  ],
  empty_occupancy: [
    (s, pick) => {
      pick(withRoom(s)).inUse.push(create(NodeOccupancySchema));
    },
  ],
  node_overcommitted: [
    (s, pick) => {
      const type = pick(typesOf(s).filter((t) => t.inUse.some((entry) => allocatedOn(entry) > 0)));
      const entry = pick(type.inUse.filter((candidate) => allocatedOn(candidate) > 0));
      entry.externalAcceleratorsInUse = 0;
      entry.unavailableAccelerators = pick([type.acceleratorsPerNode - allocatedOn(entry) + 1, UINT32_MAX]);
    },
    (s, pick) => {
      const entry = pick(typesOf(s).flatMap((type) => type.inUse));
      // 2^33 - 2, which wraps to less than any node has.
      entry.externalAcceleratorsInUse = UINT32_MAX;
      entry.unavailableAccelerators = UINT32_MAX;
    },
  ],
  zero_allocation: [
    (s, pick) => {
      pick(allocationsOf(s)).allocation.acceleratorCount = 0;
    },
  ],
  unknown_allocation: [
    (s, pick) => {
      pick(allocationsOf(s)).allocation[pick(['jobId', 'rankId', 'chainId'] as const)] = NOWHERE;
    },
    (s, pick) => {
      pick(allocationsOf(s)).allocation.podIndex = pick([4, 31, 32, UINT32_MAX]);
    },
  ],
  allocation_off_target: [
    (s, pick) => {
      const { type, entry, allocation } = pick(
        allocationsOf(s).filter(({ type: from, allocation: a }) =>
          withRoom(s).some((to) => to !== from && to.acceleratorsPerNode >= a.acceleratorCount),
        ),
      );
      const to = pick(
        withRoom(s).filter((t) => t !== type && t.acceleratorsPerNode >= allocation.acceleratorCount),
      );
      entry.allocations.splice(entry.allocations.indexOf(allocation), 1);
      entry.externalAcceleratorsInUse += allocation.acceleratorCount;
      to.inUse.push(create(NodeOccupancySchema, { allocations: [allocation] }));
    },
  ],
  allocation_count_mismatch: [
    (s, pick) => {
      const { allocation } = pick(allocationsOf(s).filter((found) => found.allocation.acceleratorCount > 1));
      allocation.acceleratorCount -= 1;
    },
  ],
  duplicate_allocation: [
    (s, pick) => {
      const { type, allocation } = pick(
        allocationsOf(s).filter((found) => found.type.inUse.length < found.type.totalCount),
      );
      const copy = clone(PodAllocationSchema, allocation);
      type.inUse.splice(
        pick([0, type.inUse.length]),
        0,
        create(NodeOccupancySchema, { allocations: [copy] }),
      );
    },
  ],
  unknown_reservation_rank: [
    (s, pick) => {
      const { job, rank } = pick(ranksOf(s));
      const reservation = { jobId: job.jobId, rankId: rank.rankId, additionalChains: pick([1, UINT32_MAX]) };
      reservation[pick(['jobId', 'rankId'] as const)] = NOWHERE;
      pick(typesOf(s)).reservedForAutoscaling.push(create(AutoscalingReservationSchema, reservation));
    },
  ],
  zero_reservation: [
    (s, pick) => {
      pick(reservationsOf(s)).reservation.additionalChains = 0;
    },
  ],
  duplicate_reservation: [
    (s, pick) => {
      const { type, reservation } = pick(reservationsOf(s));
      const copy = clone(AutoscalingReservationSchema, reservation);
      copy.additionalChains = pick([1, copy.additionalChains, UINT32_MAX]);
      type.reservedForAutoscaling.push(copy);
    },
  ],
  reservation_off_target: [
    (s, pick) => {
      // On its own node type alone, so that the reservation elsewhere leaves nothing incomplete.
      const { job, rank } = pick(ranksOf(s).filter((found) => spanOf(found.rank).length === 1));
      const { type } = pick(placesOf(s).filter(({ place }) => !spanOf(rank).includes(place)));
      type.reservedForAutoscaling.push(
        create(AutoscalingReservationSchema, { jobId: job.jobId, rankId: rank.rankId, additionalChains: 3 }),
      );
    },
  ],
  reservation_incomplete: [
    (s, pick) => {
      const { type, reservation } = pick(spanningReservations(s));
      type.reservedForAutoscaling.splice(type.reservedForAutoscaling.indexOf(reservation), 1);
    },
    (s, pick) => {
      const { reservation } = pick(spanningReservations(s));
      reservation.additionalChains =
        reservation.additionalChains === 1 ? 2 : reservation.additionalChains - 1;
    },
  ],
  duplicate_job_id: [
    (s, pick) => {
      s.jobs.push(clone(JobStateSchema, pick(s.jobs)));
    },
  ],
  duplicate_rank_id: [
    (s, pick) => {
      const { job, rank } = pick(ranksOf(s));
      job.ranks.push(clone(RankStateSchema, rank));
    },
  ],
  duplicate_chain_id: [
    (s, pick) => {
      const { rank } = pick(ranksOf(s).filter((found) => found.rank.chains.length > 0));
      rank.chains.unshift(clone(ChainStateSchema, pick(rank.chains)));
    },
  ],
  missing_pod_requirements: [
    (s, pick) => {
      pick(ranksOf(s)).rank.podRequirements = [];
    },
  ],
  unknown_requirement_target: [
    (s, pick) => {
      pick(pick(ranksOf(s)).rank.podRequirements)[pick(['poolId', 'nodeTypeId'] as const)] = NOWHERE;
    },
  ],
  requirement_exceeds_node: [
    (s, pick) => {
      pick(pick(ranksOf(s)).rank.podRequirements).acceleratorCount = 0;
    },
    (s, pick) => {
      const places = new Map(placesOf(s).map(({ type, place }) => [place, type.acceleratorsPerNode]));
      const perNode = (q: { poolId: string; nodeTypeId: string }) =>
        places.get(JSON.stringify([q.poolId, q.nodeTypeId])) ?? UINT32_MAX;
      const requirement = pick(
        ranksOf(s)
          .flatMap(({ rank }) => rank.podRequirements)
          .filter((q) => perNode(q) < UINT32_MAX),
      );
      requirement.acceleratorCount = pick([perNode(requirement) + 1, UINT32_MAX]);
    },
  ],
  chain_bounds_inverted: [
    (s, pick) => {
      const { rank } = pick(ranksOf(s));
      rank.minChains = 5;
      rank.desiredChains = undefined;
      rank.maxChains = 4;
    },
    (s, pick) => {
      const { rank } = pick(ranksOf(s));
      rank.minChains = UINT32_MAX;
      rank.desiredChains = 0;
      rank.maxChains = undefined;
    },
    (s, pick) => {
      const { rank } = pick(ranksOf(s));
      rank.minChains = 0;
      rank.desiredChains = UINT32_MAX;
      rank.maxChains = 0;
    },
  ],
  pod_states_incomplete: [
    (s, pick) => {
      const chain = pick(ranksOf(s).flatMap(({ rank }) => rank.chains));
      chain.pods.splice(chain.pods.indexOf(pick(chain.pods)), 1);
    },
    (s, pick) => {
      const chain = pick(ranksOf(s).flatMap(({ rank }) => rank.chains));
      chain.pods.push(clone(PodStateSchema, pick(chain.pods)));
    },
    (s, pick) => {
      pick(pick(ranksOf(s).flatMap(({ rank }) => rank.chains)).pods).podIndex = pick([4, UINT32_MAX]);
    },
  ],
  duplicate_fabric_id: [
    (s, pick) => {
      topologyOf(s).fabrics.push(clone(FabricSchema, pick(topologyOf(s).fabrics)));
    },
  ],
  unknown_link_fabric: [
    (s, pick) => {
      pick(topologyOf(s).links)[pick(['fromFabricId', 'toFabricId'] as const)] = NOWHERE;
    },
  ],
  duplicate_link: [
    (s, pick) => {
      topologyOf(s).links.unshift(clone(FabricLinkSchema, pick(topologyOf(s).links)));
    },
  ],
  duplicate_api_resource: [
    (s, pick) => {
      const { group, kind } = pick(s.apiResources);
      s.apiResources.push({ $typeName: 'resourcemap.v1.ApiResource', group, kind, servedVersions: ['v9'] });
    },
  ],
  incomplete_api_resource: [
    (s, pick) => {
      pick(s.apiResources).servedVersions = pick([[], ['']]);
    },
    (s) => {
      const group = 'a group of its own';
      s.apiResources.push({
        $typeName: 'resourcemap.v1.ApiResource',
        group,
        kind: '',
        servedVersions: ['v1'],
      });
    },
  ],
  duplicate_component: [
    (s, pick) => {
      s.installedComponents.push({ ...pick(s.installedComponents) });
    },
  ],
};

function spanningReservations(snapshot: ClusterResourceMap) {
  return reservationsOf(snapshot).filter(({ reservation: { jobId, rankId } }) =>
    ranksOf(snapshot).some(
      ({ job, rank }) => job.jobId === jobId && rank.rankId === rankId && spanOf(rank).length > 1,
    ),
  );
}
