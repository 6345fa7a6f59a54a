/** Agents, readers, operators and replicas: processes that use the service by the project's own client. */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Client, createClient } from '../../functions/client/client.ts';
import { ApiError, ConnectionError } from '../../functions/client/errors.ts';
import type { MapReplica } from '../../functions/client/replica.ts';
import type { ClusterResourceMap } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { PushOutcome } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import type { Entry, Seen, Span } from './history.ts';
import type { Service } from './service.ts';
import { snapshotOf, VARIANTS, variantOf } from './snapshots.ts';
import type { Process, World } from './world.ts';

export interface ClientDeps {
  readonly world: World;
  readonly service: Service;
  readonly history: Entry[];
}

const RETRY = { attempts: 4, baseMs: 50, capMs: 1_000 } as const;
const CONFLICTS: ReadonlySet<string> = new Set(['counter_regressed', 'counter_reused']);
/** What a client may be told while parts of the world are away. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'store_unavailable',
  'contention',
  'overloaded',
  'snapshot_unavailable',
]);

export function clientOf({ service }: ClientDeps): Client {
  return createClient({ baseUrl: 'http://map', fetch: service.fetch as typeof fetch, retry: RETRY });
}

/** Runs `step` again and again as `process`, with random pauses, until `stopped`. */
export function repeat(
  world: World,
  process: Process,
  meanMs: number,
  stopped: () => boolean,
  step: () => Promise<void>,
): void {
  const next = (): void => {
    world.schedule(world.random01.next() * 2 * meanMs, process, () => {
      if (stopped()) return;
      void step().then(next);
    });
  };
  next();
}

async function timed<T>(
  { world }: ClientDeps,
  by: Process,
  call: () => Promise<T>,
): Promise<{ readonly span: Span; readonly result: T }> {
  const fromMs = world.nowMs;
  const result = await call();
  return { span: { fromMs, toMs: world.nowMs, by: by.name }, result };
}

/** Pushes one cluster. Two agents of one cluster do not know of each other, as in a botched rollout. */
export class Agent {
  readonly #client: Client;
  #counter = 0n;
  #variant = 0;
  #last: ClusterResourceMap | undefined;

  constructor(
    private readonly deps: ClientDeps,
    readonly process: Process,
    readonly clusterId: string,
  ) {
    this.#client = clientOf(deps);
  }

  async step(): Promise<void> {
    const { random01 } = this.deps.world;
    // Once in a while an agent repeats itself, or starts again without its memory.
    if (this.#last !== undefined && random01.chance(0.1)) {
      await this.push(this.#last);
      return;
    }
    if (random01.chance(0.05)) this.#counter = BigInt(random01.integer(0, Number(this.#counter)));
    if (random01.chance(0.4)) this.#variant = random01.integer(0, VARIANTS - 1);
    this.#counter += BigInt(random01.integer(1, 3));
    await this.push(this.#next());
  }

  /** Pushes until a push is acknowledged: what every agent comes to once the world is kind. */
  async insist(withNewContent: boolean): Promise<boolean> {
    // Which content is in the table another agent may have decided; of two that differ one is another.
    if (withNewContent) {
      this.#variant = (this.#variant + 1) % VARIANTS;
      if (!(await this.insist(false))) return false;
      this.#variant = (this.#variant + 1) % VARIANTS;
    }
    for (let tries = 0; tries < 50; tries++) {
      this.#counter++;
      if (await this.push(this.#next())) return true;
    }
    return false;
  }

  #next(): ClusterResourceMap {
    return snapshotOf(this.clusterId, this.#counter, this.#variant, Date.now());
  }

  async push(snapshot: ClusterResourceMap): Promise<boolean> {
    const { world, history } = this.deps;
    const { logicalCounter: counter, collectedAt } = snapshot;
    const { clusterId } = this;
    const variant = variantOf(snapshot);
    if (collectedAt === undefined) throw new Error('A snapshot of the simulation has no time.');
    this.#last = snapshot;
    const fromMs = world.nowMs;
    history.push({
      kind: 'push attempt',
      clusterId,
      counter,
      variant,
      collectedAtMs: timestampMs(collectedAt),
      atMs: fromMs,
    });
    try {
      const result = await this.#client.push(snapshot);
      const span = { fromMs, toMs: world.nowMs, by: this.process.name };
      world.note(
        `${this.process.name}: ${clusterId} at ${counter} is ${PushOutcome[result.outcome]} (content ${variant})`,
      );
      const { highWaterMark } = result;
      history.push({ kind: 'push acknowledged', clusterId, counter, variant, highWaterMark, ...span });
      return true;
    } catch (error) {
      if (error instanceof ApiError && CONFLICTS.has(error.code)) {
        const mark = error.problem.highWaterMark;
        if (mark === undefined) throw error;
        const highWaterMark = BigInt(mark);
        const span = { fromMs, toMs: world.nowMs, by: this.process.name };
        world.note(
          `${this.process.name}: ${clusterId} at ${counter} is ${error.code}, the mark is ${highWaterMark}`,
        );
        history.push({
          kind: 'push conflicted',
          clusterId,
          counter,
          code: error.code,
          highWaterMark,
          ...span,
        });
        this.#counter = highWaterMark;
        return false;
      }
      expectUnavailable(this.deps, error);
      return false;
    }
  }
}

/** Whoever reads: the map, its clock, one cluster's status, one cluster's snapshot. */
export async function read(
  deps: ClientDeps,
  by: Process,
  client: Client,
  clusterIds: readonly string[],
): Promise<void> {
  const { world, history } = deps;
  const clusterId = world.random01.pick(clusterIds);
  try {
    switch (world.random01.pick(['map', 'map', 'clock', 'cluster', 'snapshot'] as const)) {
      case 'map': {
        const { span, result } = await timed(deps, by, () => client.map());
        if (result.kind !== 'map') return;
        const { clusterResourceMaps, vectorClock } = result.map;
        for (const snapshot of clusterResourceMaps) history.push(seenOf(snapshot, span));
        const clusterIds = clusterResourceMaps.map(({ cluster }) => cluster?.clusterId ?? '').sort();
        history.push({ kind: 'map seen', clusterIds, clockIds: Object.keys(vectorClock).sort(), ...span });
        for (const snapshot of clusterResourceMaps)
          if (vectorClock[snapshot.cluster?.clusterId ?? ''] !== snapshot.logicalCounter)
            history.push(fault(world, `Map and clock differ for ${snapshot.cluster?.clusterId}.`));
        return;
      }
      case 'clock': {
        const { span, result } = await timed(deps, by, () => client.clock());
        for (const [id, counter] of result) history.push({ kind: 'seen', clusterId: id, counter, ...span });
        return;
      }
      case 'cluster': {
        const { span, result } = await timed(deps, by, () => client.cluster(clusterId));
        history.push({ kind: 'seen', clusterId, counter: result.highWaterMark, ...span });
        return;
      }
      case 'snapshot': {
        const { span, result } = await timed(deps, by, () => client.snapshot(clusterId));
        history.push(seenOf(result, span));
        return;
      }
    }
  } catch (error) {
    if (error instanceof ApiError && ['cluster_not_found', 'cluster_omitted'].includes(error.code)) return;
    expectUnavailable(deps, error);
  }
}

function seenOf(snapshot: ClusterResourceMap, span: Span): Seen {
  const { collectedAt } = snapshot;
  return {
    kind: 'seen',
    clusterId: snapshot.cluster?.clusterId ?? '',
    counter: snapshot.logicalCounter,
    variant: variantOf(snapshot),
    ...(collectedAt === undefined ? {} : { collectedAtMs: timestampMs(collectedAt) }),
    ...span,
  };
}

/** Takes clusters out of the map by hand. */
export async function omit(deps: ClientDeps, by: Process, client: Client, clusterId: string): Promise<void> {
  try {
    const { span, result } = await timed(deps, by, () => client.omit(clusterId, { reason: 'maintenance' }));
    deps.world.note(`${by.name}: ${clusterId} is omitted at ${result.highWaterMark}`);
    deps.history.push({ kind: 'omit acknowledged', clusterId, highWaterMark: result.highWaterMark, ...span });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'cluster_not_found') return;
    expectUnavailable(deps, error);
  }
}

/** Brings a replica up to date and writes down what it became. */
export async function pull(deps: ClientDeps, by: Process, replica: MapReplica): Promise<boolean> {
  const { world, history } = deps;
  const fromMs = world.nowMs;
  try {
    for (const event of await replica.pull()) {
      if (event.kind === 'mismatch')
        history.push(fault(world, `${by.name} differs from the map after a response that completes it.`));
      if (event.kind === 'changed' && event.regressed)
        history.push(fault(world, `${by.name} was sent an older counter of ${event.clusterId}.`));
    }
    const span = { fromMs, toMs: world.nowMs, by: by.name };
    for (const snapshot of replica.clusters.values()) {
      // A cluster that is unchanged was read some responses ago; its counter is still the map's.
      history.push(seenOf(snapshot, span));
    }
    return true;
  } catch (error) {
    expectUnavailable(deps, error);
    return false;
  }
}

export function fault(world: World, message: string): Entry {
  return { kind: 'fault', atMs: world.nowMs, message };
}

function expectUnavailable({ world, history }: ClientDeps, error: unknown): void {
  if (error instanceof ConnectionError) return;
  if (error instanceof ApiError && UNAVAILABLE.has(error.code)) return;
  history.push(fault(world, `A client was told what it must not be: ${String(error)}`));
}
