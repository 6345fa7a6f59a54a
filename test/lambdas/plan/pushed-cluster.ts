/** A cluster of alike nodes whose agent and deployer a test plays. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '../../../functions/client/client.ts';
import { WorkloadPhase } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { cluster } from '../../core/capacity/builders.ts';

interface Running {
  readonly jobId: string;
  readonly rankId: string;
  readonly accelerators: number;
}

export class PushedCluster {
  #running: Running[] = [];
  #counter = 0n;

  constructor(
    private readonly client: Client,
    readonly id: string,
    public nodes: number,
    private readonly perNode: number,
  ) {}

  start(jobId: string, rankId: string, accelerators: number): void {
    if (this.#running.some((one) => one.jobId === jobId && one.rankId === rankId)) return;
    this.#running.push({ jobId, rankId, accelerators });
  }

  stop(jobId: string): void {
    this.#running = this.#running.filter((one) => one.jobId !== jobId);
  }

  /** The ids of jobs that run. */
  get jobs(): readonly string[] {
    return [...new Set(this.#running.map(({ jobId }) => jobId))];
  }

  /** Each chain on a node of its own: tests ask for no more. */
  async push(): Promise<void> {
    const running = this.#running;
    const snapshot = cluster({
      id: this.id,
      types: [
        {
          perNode: this.perNode,
          idle: this.nodes - running.length,
          nodes: running.map(({ jobId, rankId }) => ({ pods: [{ chain: `${jobId}/${rankId}`, index: 0 }] })),
        },
      ],
      ranks: running.map(({ jobId, rankId, accelerators }) => ({
        name: `${jobId}/${rankId}`,
        pods: [{ count: accelerators }],
        chains: [
          { name: `${jobId}/${rankId}`, phase: WorkloadPhase.RUNNING, podPhases: [WorkloadPhase.RUNNING] },
        ],
      })),
    });
    const named = (name: string): readonly [string, string] => {
      const at = name.lastIndexOf('/');
      return [name.slice(0, at), name.slice(at + 1)];
    };
    for (const job of snapshot.jobs) {
      const [jobId, rankId] = named(job.jobId);
      job.jobId = jobId;
      for (const rank of job.ranks) {
        rank.rankId = rankId;
        for (const chain of rank.chains) chain.chainId = rankId;
      }
    }
    for (const pool of snapshot.capacityPools) {
      for (const type of pool.nodeTypes) {
        for (const allocation of type.inUse.flatMap(({ allocations }) => allocations)) {
          const [jobId, rankId] = named(allocation.jobId);
          allocation.jobId = jobId;
          allocation.rankId = rankId;
          allocation.chainId = rankId;
        }
      }
    }
    snapshot.collectedAt = timestampFromMs(Date.now());
    snapshot.logicalCounter = ++this.#counter;
    await this.client.push(snapshot);
  }
}
