/** Agents: one a cluster, each with a snapshot that now and then changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../functions/client/client.ts';
import { snapshotOf, VARIANTS } from '../simulation/snapshots.ts';
import { Latencies } from './latencies.ts';

/** One push in ten has other content; the others refresh. */
const CHANGES = 0.1;

export class Fleet {
  readonly latencies = new Latencies();
  /** The highest counter that was acknowledged of each cluster. */
  readonly acknowledged = new Map<string, bigint>();
  pushes = 0;
  #ending = false;
  #agents: Promise<void>[] = [];

  constructor(
    private readonly client: Client,
    private readonly clusters: number,
    private readonly cadenceMs: number,
    private readonly wrongs: string[],
  ) {}

  start(): void {
    this.#agents = Array.from({ length: this.clusters }, (_, index) =>
      this.#agent(`cluster-${String(index).padStart(4, '0')}`),
    );
  }

  /** Each agent's last push is acknowledged by then. */
  async end(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#agents);
  }

  async #agent(clusterId: string): Promise<void> {
    let counter = BigInt(Date.now());
    let variant = 0;
    await sleep(Math.random() * this.cadenceMs);
    while (!this.#ending) {
      if (Math.random() < CHANGES) variant = (variant + 1) % VARIANTS;
      counter++;
      const snapshot = snapshotOf(clusterId, counter, variant, Date.now());
      try {
        const { highWaterMark } = await this.latencies.time(() => this.client.push(snapshot));
        if (highWaterMark !== counter)
          this.wrongs.push(`${clusterId}: pushed ${counter}, the mark is ${highWaterMark}.`);
        this.acknowledged.set(clusterId, counter);
        this.pushes++;
      } catch (error) {
        this.wrongs.push(`${clusterId}: the push of ${counter} failed: ${String(error)}`);
      }
      // Ends within the pause, not after it.
      const untilMs = performance.now() + (0.5 + Math.random()) * this.cadenceMs;
      while (!this.#ending && performance.now() < untilMs) await sleep(Math.min(500, this.cadenceMs));
    }
  }
}
