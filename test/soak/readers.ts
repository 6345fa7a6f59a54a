/** Readers of the map, and replicas of it: none may be given less than what was acknowledged before it asked. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../functions/client/client.ts';
import { MapReplica } from '../../functions/client/replica.ts';
import type { Fleet } from './fleet.ts';
import { Latencies } from './latencies.ts';

const READERS = 2;
const REPLICAS = 3;
const READ_EVERY_MS = 2_000;

export class Readers {
  readonly latencies = new Latencies();
  reads = 0;
  changes = 0;
  #ending = false;
  readonly #abort = new AbortController();
  readonly #replicas: MapReplica[] = [];
  #loops: Promise<void>[] = [];

  constructor(
    private readonly client: Client,
    private readonly fleet: Fleet,
    private readonly wrongs: string[],
  ) {}

  start(): void {
    for (let i = 0; i < REPLICAS; i++) this.#replicas.push(new MapReplica(this.client));
    this.#loops = [
      ...Array.from({ length: READERS }, () => this.#read()),
      ...this.#replicas.map((replica) => this.#follow(replica)),
    ];
  }

  /** Once no agent pushes any more: map, marks and replicas must be the same. */
  async end(): Promise<void> {
    this.#ending = true;
    this.#abort.abort();
    await Promise.all(this.#loops);
    const response = await this.client.map();
    if (response.kind !== 'map') throw new Error('The map was not sent.');
    this.#judge(response.map.vectorClock, this.fleet.acknowledged, 'the map at the end');
    for (const replica of this.#replicas) {
      await replica.pull();
      this.#judge(Object.fromEntries(replica.clock), this.fleet.acknowledged, 'a replica at the end');
      if (replica.clusters.size !== response.map.clusterResourceMaps.length)
        this.wrongs.push(
          `A replica has ${replica.clusters.size} clusters at the end, the map ${response.map.clusterResourceMaps.length}.`,
        );
    }
  }

  async #read(): Promise<void> {
    while (!this.#ending) {
      const before = new Map(this.fleet.acknowledged);
      try {
        const response = await this.latencies.time(() => this.client.map());
        if (response.kind === 'map') this.#judge(response.map.vectorClock, before, 'a map');
        this.reads++;
      } catch (error) {
        this.wrongs.push(`A map could not be read: ${String(error)}`);
      }
      if (!this.#ending) await sleep(READ_EVERY_MS);
    }
  }

  async #follow(replica: MapReplica): Promise<void> {
    try {
      for await (const event of replica.changes({ signal: this.#abort.signal })) {
        this.changes++;
        if (event.kind === 'mismatch') this.wrongs.push('A replica differed from the map.');
        if (event.kind === 'changed' && event.regressed)
          this.wrongs.push(`A replica was sent an older counter of ${event.clusterId}.`);
        if (event.kind === 'omitted')
          this.wrongs.push(`${event.clusterId} was omitted, and its agent pushes.`);
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) this.wrongs.push(`A replica ended: ${String(error)}`);
    }
  }

  #judge(clock: Readonly<Record<string, bigint>>, before: ReadonlyMap<string, bigint>, what: string): void {
    for (const [clusterId, counter] of before) {
      const seen = clock[clusterId];
      if (seen === undefined)
        this.wrongs.push(`${what} lacks ${clusterId}, acknowledged at ${counter} before.`);
      else if (seen < counter)
        this.wrongs.push(`${what} has ${clusterId} at ${seen}, and ${counter} was acknowledged before.`);
    }
  }
}
