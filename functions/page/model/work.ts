/** Jobs of one snapshot, with what each chain still lacks. */
import type { Chain, Job, Rank, Snapshot, WorkStatus } from '../api/types.ts';

/** A pod or chain in one of these asks for free any more: the rule by which the service counts demand. */
const OVER: ReadonlySet<string> = new Set([
  'WORKLOAD_PHASE_SUCCEEDED',
  'WORKLOAD_PHASE_FAILED',
  'WORKLOAD_PHASE_DRAINING',
]);

/** A pod that has no accelerators yet. */
export interface LackingPod {
  readonly accelerators: number;
  readonly poolId: string;
  readonly nodeTypeId: string;
}

export interface ChainWork {
  readonly chain: Chain;
  readonly pods: number;
  readonly lacking: readonly LackingPod[];
}

export interface RankWork {
  readonly rank: Rank;
  readonly chains: readonly ChainWork[];
}

export interface JobWork {
  readonly job: Job;
  readonly ranks: readonly RankWork[];
  /** Accelerators that its chains still lack. */
  readonly lacking: number;
}

export function workOf(snapshot: Snapshot): readonly JobWork[] {
  const allocated = allocatedPods(snapshot);
  return (snapshot.jobs ?? []).map((job) => {
    const ranks = (job.ranks ?? []).map((rank) => ({
      rank,
      chains: (rank.chains ?? []).map((chain) => chainWork(job.jobId, rank, chain, allocated)),
    }));
    const lacking = ranks
      .flatMap(({ chains }) => chains)
      .flatMap((chain) => chain.lacking)
      .reduce((sum, pod) => sum + pod.accelerators, 0);
    return { job, ranks, lacking };
  });
}

function chainWork(jobId: string, rank: Rank, chain: Chain, allocated: ReadonlySet<string>): ChainWork {
  const pods = chain.pods ?? [];
  const lacking = isOver(chain.status)
    ? []
    : pods.flatMap(({ podIndex = 0, status }) => {
        const requirement = rank.podRequirements?.[podIndex];
        if (requirement === undefined || isOver(status)) return [];
        if (allocated.has(podKey(jobId, rank.rankId, chain.chainId, podIndex))) return [];
        const { poolId, nodeTypeId, acceleratorCount } = requirement;
        return [{ poolId, nodeTypeId, accelerators: acceleratorCount }];
      });
  return { chain, pods: pods.length, lacking };
}

function allocatedPods(snapshot: Snapshot): ReadonlySet<string> {
  const pods = new Set<string>();
  for (const pool of snapshot.capacityPools ?? []) {
    for (const type of pool.nodeTypes ?? []) {
      for (const node of type.inUse ?? []) {
        for (const { jobId, rankId, chainId, podIndex = 0 } of node.allocations ?? []) {
          pods.add(podKey(jobId, rankId, chainId, podIndex));
        }
      }
    }
  }
  return pods;
}

/** Ids hold no control characters, so the joined name is unambiguous. */
function podKey(...parts: readonly (string | number)[]): string {
  return parts.join('\u0000');
}

function isOver(status: WorkStatus | undefined): boolean {
  return OVER.has(status?.phase ?? '');
}

/** `WORKLOAD_PHASE_RUNNING` as `running`. */
export function phaseText(status: WorkStatus | undefined): string {
  return (status?.phase ?? 'WORKLOAD_PHASE_UNKNOWN').replace('WORKLOAD_PHASE_', '').toLowerCase();
}

/** Equal pods together: `2 pods of 8 on pool/type`. */
export function lackingText(pods: readonly LackingPod[]): string {
  const counts = new Map<string, number>();
  for (const { accelerators, poolId, nodeTypeId } of pods) {
    const kind = `of ${accelerators} on ${poolId}/${nodeTypeId}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, pods]) => `${pods} ${pods === 1 ? 'pod' : 'pods'} ${kind}`).join(', ');
}
