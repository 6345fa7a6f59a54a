/** What a snapshot says of its jobs' chains, as far as it matters to a bundle: what runs, and what has ended how. */
import { type ClusterResourceMap, WorkloadPhase } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { allocatedPods } from '../../capacity/view/demand.ts';
import { podKey } from '../../capacity/view/pods.ts';

/** Chains of one rank. */
export interface RankChains {
  /** Neither succeeded nor failed: something of it may run. */
  readonly alive: number;
  /** Of these, those not draining whose pods all have their accelerators. */
  readonly whole: number;
  readonly failed: number;
  readonly succeeded: number;
}

/** By job and rank. */
export type JobStates = ReadonlyMap<string, ReadonlyMap<string, RankChains>>;

/** Derives them from a snapshot that keeps the rules. */
export function jobStatesOf(snapshot: ClusterResourceMap): JobStates {
  const allocated = allocatedPods(snapshot);
  return new Map(
    snapshot.jobs.map(({ jobId, ranks }) => [
      jobId,
      new Map(
        ranks.map(({ rankId, chains }): [string, RankChains] => {
          const counts = { alive: 0, whole: 0, failed: 0, succeeded: 0 };
          for (const { chainId, pods, status } of chains) {
            const phase = status?.phase;
            if (phase === WorkloadPhase.FAILED) counts.failed++;
            else if (phase === WorkloadPhase.SUCCEEDED) counts.succeeded++;
            else {
              counts.alive++;
              const name = { jobId, rankId, chainId };
              const whole = pods.every(({ podIndex }) => allocated.has(podKey(name, podIndex)));
              if (whole && phase !== WorkloadPhase.DRAINING) counts.whole++;
            }
          }
          return [rankId, counts];
        }),
      ),
    ]),
  );
}

export const NO_CHAINS: RankChains = { alive: 0, whole: 0, failed: 0, succeeded: 0 };

/** Whether any chain of the job may run. */
export function mayRun(jobs: JobStates, jobId: string): boolean {
  return [...(jobs.get(jobId)?.values() ?? [])].some(({ alive }) => alive > 0);
}
