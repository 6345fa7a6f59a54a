/**
 * What is still to be placed: pods that have no accelerators yet, and chains reserved for
 * autoscaling. Both are shapes, not sums: two pods of 4 are not one of 8.
 */
import {
  type ClusterResourceMap,
  type PodState,
  type RankState,
  WorkloadPhase,
  type WorkloadStatus,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { count, EMPTY, type Histogram, largestFirst } from './histogram.ts';
import { type ChainKeys, NO_CHAINS, podKey } from './pods.ts';

/** Accelerators of a pod: number of such pods, on one node type. */
export interface Demand {
  readonly pending: Histogram;
  readonly reserved: Histogram;
}

/** Demand by pool and node type. */
export interface DemandByTarget {
  on(poolId: string, nodeTypeId: string): Demand;
}

/** A pod or chain in one of these asks for free any more. */
const OVER: ReadonlySet<WorkloadPhase> = new Set([
  WorkloadPhase.SUCCEEDED,
  WorkloadPhase.FAILED,
  WorkloadPhase.DRAINING,
]);

/**
 * Gathers a cluster's demand.
 *
 * A pod without an allocation is demanded unless it or its chain is over. What its phase
 * says otherwise does not matter: a pod that is said to run and holds nothing still has to
 * get it. A reservation is so many copies of each of the rank's requirements on the node
 * type where it stands; its entries on several node types are one number of chains.
 *
 * @param released chains that count as gone
 */
export function demandOf(snapshot: ClusterResourceMap, released: ChainKeys = NO_CHAINS): DemandByTarget {
  const tally = new Tally();
  const allocated = allocatedPods(snapshot);
  const ranks = new Map<string, Map<string, RankState>>();
  for (const job of snapshot.jobs) {
    const ofJob = new Map<string, RankState>();
    ranks.set(job.jobId, ofJob);
    for (const rank of job.ranks) {
      ofJob.set(rank.rankId, rank);
      for (const chain of rank.chains) {
        const name = { jobId: job.jobId, rankId: rank.rankId, chainId: chain.chainId };
        if (isOver(chain.status) || released.has(name)) continue;
        for (const pod of chain.pods) {
          if (isOver(pod.status) || allocated.has(podKey(name, pod.podIndex))) continue;
          tally.add('pending', rank, pod, 1);
        }
      }
    }
  }
  for (const pool of snapshot.capacityPools) {
    for (const type of pool.nodeTypes) {
      for (const { jobId, rankId, additionalChains } of type.reservedForAutoscaling) {
        for (const requirement of ranks.get(jobId)?.get(rankId)?.podRequirements ?? []) {
          if (requirement.poolId !== pool.id || requirement.nodeTypeId !== type.id) continue;
          count(tally.of('reserved', pool.id, type.id), requirement.acceleratorCount, additionalChains);
        }
      }
    }
  }
  return tally;
}

/** Whether a pod or chain in this status asks for nothing any more. */
export function isOver(status: WorkloadStatus | undefined): boolean {
  return status !== undefined && OVER.has(status.phase);
}

/** Keys of the pods that have accelerators. */
export function allocatedPods(snapshot: ClusterResourceMap): ReadonlySet<string> {
  const pods = new Set<string>();
  for (const pool of snapshot.capacityPools) {
    for (const type of pool.nodeTypes) {
      for (const node of type.inUse) {
        for (const allocation of node.allocations) pods.add(podKey(allocation, allocation.podIndex));
      }
    }
  }
  return pods;
}

interface Counts {
  readonly pending: Map<number, number>;
  readonly reserved: Map<number, number>;
}

class Tally implements DemandByTarget {
  readonly #targets = new Map<string, Map<string, Counts>>();

  of(kind: keyof Counts, poolId: string, nodeTypeId: string): Map<number, number> {
    const pool = this.#targets.get(poolId) ?? new Map<string, Counts>();
    this.#targets.set(poolId, pool);
    const counts = pool.get(nodeTypeId) ?? { pending: new Map(), reserved: new Map() };
    pool.set(nodeTypeId, counts);
    return counts[kind];
  }

  add(kind: keyof Counts, rank: RankState, { podIndex }: PodState, pods: number): void {
    const requirement = rank.podRequirements[podIndex];
    if (requirement === undefined) return;
    count(this.of(kind, requirement.poolId, requirement.nodeTypeId), requirement.acceleratorCount, pods);
  }

  on(poolId: string, nodeTypeId: string): Demand {
    const counts = this.#targets.get(poolId)?.get(nodeTypeId);
    return {
      pending: largestFirst(counts?.pending ?? EMPTY),
      reserved: largestFirst(counts?.reserved ?? EMPTY),
    };
  }
}
