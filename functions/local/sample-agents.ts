/**
 * Plays the samples as agents would: each cluster pushes at a steady cadence, and what it says moves
 * to and fro through its recorded series, so that the page, the feed and the events move.
 */
import { clone } from '@bufbuild/protobuf';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import { type Client, createClient } from '../client/client.ts';
import { ApiError } from '../client/errors.ts';
import { ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { Series } from './sample-series.ts';

export interface SampleCadence {
  /** Milliseconds between two pushes of a cluster. */
  readonly pushMs: number;
  /** Pushes after which its content changes: the first number for the first cluster, and so on. */
  readonly pushesPerChange: readonly number[];
}

/** Every few seconds something changes somewhere, and each cluster is fresh. */
export const SAMPLE_CADENCE: SampleCadence = { pushMs: 5_000, pushesPerChange: [3, 4, 5, 6, 7] };

/** Agents that push until they are stopped. */
export interface SampleAgents {
  stop(): Promise<void>;
}

/** @param series of each cluster; its last snapshot is the one that is there at first */
export function startSampleAgents(
  url: string,
  series: readonly Series[],
  cadence = SAMPLE_CADENCE,
): SampleAgents {
  const client = createClient({ baseUrl: url, retry: { attempts: 1, baseMs: 1, capMs: 1 } });
  const { pushMs, pushesPerChange } = cadence;
  const agents = series.map(
    (each, i) => new SampleAgent(client, each, pushesPerChange[i % pushesPerChange.length] ?? 1),
  );
  let stopped = false;
  const timers = new Map<NodeJS.Timeout, () => void>();
  const loops = agents.map(async (agent, i) => {
    // Not all at the same moment.
    await pause((pushMs * (i + 1)) / agents.length);
    while (!stopped) {
      await agent.push().catch((error: Error) => {
        // The service is ending, or busy; an agent goes on at its next turn.
        if (!stopped && error instanceof ApiError && error.status !== 409) {
          process.stderr.write(`A sample cluster cannot be pushed: ${error.message}\n`);
        }
      });
      await pause(pushMs);
    }
  });

  function pause(ms: number): Promise<void> {
    if (stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        resolve();
      }, ms);
      timers.set(timer, resolve);
    });
  }
  return {
    stop: async () => {
      stopped = true;
      for (const [timer, resolve] of timers) {
        clearTimeout(timer);
        resolve();
      }
      await Promise.all(loops);
    },
  };
}

class SampleAgent {
  #pushes = 0;
  #counter: bigint | undefined;

  constructor(
    private readonly client: Client,
    private readonly series: Series,
    private readonly pushesPerChange: number,
  ) {}

  async push(): Promise<void> {
    const changes = Math.floor(++this.#pushes / this.pushesPerChange);
    const template = this.series[positionAfter(changes, this.series.length)];
    if (template === undefined) return;
    const snapshot = clone(ClusterResourceMapSchema, template);
    // As an agent that was restarted: it goes on above what the service has.
    this.#counter ??= (await this.client.cluster(snapshot.cluster?.clusterId ?? '')).highWaterMark;
    this.#counter++;
    snapshot.logicalCounter = this.#counter;
    snapshot.collectedAt = timestampNow();
    try {
      await this.client.push(snapshot);
    } catch (error) {
      // Somebody else pushes for the cluster, or its counter was lost.
      this.#counter = undefined;
      throw error;
    }
  }
}

/** From the end to the beginning and back: 3 2 1 0 1 2 3 2 … of a length of 4. */
export function positionAfter(changes: number, length: number): number {
  const last = length - 1;
  if (last === 0) return 0;
  return Math.abs(last - (changes % (2 * last)));
}
