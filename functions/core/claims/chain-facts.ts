/** What claims need to know of a snapshot's chains: which are alive, and which of their pods still wait. */
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { allocatedPods, isOver } from '../capacity/view/demand.ts';
import { podKey } from '../capacity/view/pods.ts';

/** A pod without accelerators that asks for some, and the target where the snapshot expects it. */
export interface WaitingPod {
  readonly podIndex: number;
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly accelerators: number;
}

/** A chain that is alive: not SUCCEEDED, FAILED or DRAINING. */
export interface ChainFact {
  readonly rankId: string;
  readonly chainId: string;
  readonly pods: number;
  /** Empty once every pod has its accelerators. */
  readonly waiting: readonly WaitingPod[];
}

export interface RankFacts {
  readonly minChains: number | undefined;
  readonly maxChains: number | undefined;
  readonly chains: readonly ChainFact[];
}

/** Living chains by job and rank. */
export type ChainFacts = ReadonlyMap<string, ReadonlyMap<string, RankFacts>>;

/** Derives them from a snapshot that keeps the rules. */
export function chainFactsOf(snapshot: ClusterResourceMap): ChainFacts {
  const allocated = allocatedPods(snapshot);
  const jobs = new Map<string, ReadonlyMap<string, RankFacts>>();
  for (const { jobId, ranks } of snapshot.jobs) {
    const ofJob = new Map<string, RankFacts>();
    for (const { rankId, minChains, maxChains, podRequirements, chains } of ranks) {
      const alive = chains
        .filter(({ status }) => !isOver(status))
        .map(({ chainId, pods }): ChainFact => {
          const name = { jobId, rankId, chainId };
          const waiting = pods.flatMap(({ podIndex, status }) => {
            const requirement = podRequirements[podIndex];
            // A pod that is over asks for nothing: its chain was started, which is what a claim waits for.
            if (requirement === undefined || isOver(status)) return [];
            if (allocated.has(podKey(name, podIndex))) return [];
            const { poolId, nodeTypeId, acceleratorCount } = requirement;
            return [{ podIndex, poolId, nodeTypeId, accelerators: acceleratorCount }];
          });
          return { rankId, chainId, pods: podRequirements.length, waiting };
        });
      ofJob.set(rankId, { minChains, maxChains, chains: alive });
    }
    jobs.set(jobId, ofJob);
  }
  return jobs;
}

/** The living chains of a job, of one rank or, without a rank id, of all. */
export function livingChains(facts: ChainFacts, jobId: string, rankId: string): readonly ChainFact[] {
  const ranks = facts.get(jobId);
  if (ranks === undefined) return [];
  if (rankId !== '') return ranks.get(rankId)?.chains ?? [];
  return [...ranks.values()].flatMap(({ chains }) => chains);
}
