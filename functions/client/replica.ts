/**
 * A replica of the map, kept by sync.
 *
 * Whatever is pushed, omitted or returned meanwhile, and whichever responses are lost, the replica
 * becomes the map: a response says what is missing between the replica's own clock and the map,
 * and is applied whole or not at all. Once the service says that a response completes the map,
 * the digest of the replica's clock must be the etag that the response carries; where it is not,
 * the replica is fetched again.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type MapFilter, WHOLE_MAP } from '../core/map/filter.ts';
import type { ClusterResourceMap } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { SyncResponse } from '../gen/resourcemap/v1/service_pb.ts';
import type { Client } from './client.ts';
import { clockEtag } from './clock-etag.ts';
import { ApiError, ConnectionError } from './errors.ts';
import { pause } from './pause.ts';

/** What happened to the replica. Snapshots in it are not changed later. */
export type ReplicaEvent =
  /** The cluster was not in the replica. */
  | { readonly kind: 'added'; readonly clusterId: string; readonly snapshot: ClusterResourceMap }
  /** The cluster has other content, or the service went back to an older counter, see `regressed`. */
  | {
      readonly kind: 'changed';
      readonly clusterId: string;
      readonly snapshot: ClusterResourceMap;
      readonly previous: ClusterResourceMap;
      /** True where the counter is below the replica's: the service's table was restored from a backup. */
      readonly regressed: boolean;
    }
  /** The cluster has the same content, at a newer counter and time. */
  | { readonly kind: 'refreshed'; readonly clusterId: string; readonly snapshot: ClusterResourceMap }
  /** The cluster left the map: it is unknown now, not empty. */
  | { readonly kind: 'omitted'; readonly clusterId: string; readonly previous: ClusterResourceMap }
  /** The replica is the whole map, and its digest has been compared with the service's. */
  | { readonly kind: 'complete'; readonly etag: string }
  /** The digests differ: the replica is fetched again, and stays as it is until that is done. */
  | { readonly kind: 'mismatch'; readonly expectedEtag: string; readonly actualEtag: string }
  /** The service does not answer; the replica is as old as its last `complete`. It is asked again after the wait. */
  | { readonly kind: 'unreachable'; readonly error: Error; readonly retryInMs: number };

export interface ReplicaOptions {
  readonly filter?: Partial<MapFilter>;
  /** Roughly how large one response may be, before gzip. */
  readonly maxBytes?: number;
  /** How long the service may hold a response that would say that nothing changed. 20,000 by default, 0 to poll. */
  readonly waitMs?: number;
  /**
   * Least time between two polls that follow a complete response, milliseconds. 1,000 by default:
   * in a large fleet some cluster is refreshed at any time, and no response would be held.
   */
  readonly pollIntervalMs?: number;
}

/** Bounds of the wait after a failure, beyond the client's own retries. */
const UNREACHABLE_BASE_MS = 1_000;
const UNREACHABLE_CAP_MS = 30_000;

/** A replica that was fetched again and differs again has met a fault of the service, which haste does not fix. */
const MISMATCH_PAUSE_MS = 5_000;

type Clusters = Map<string, ClusterResourceMap>;

/**
 * @example
 * ```ts
 * import { createClient, MapReplica } from '@resource-map/client';
 *
 * const replica = new MapReplica(createClient({ baseUrl: 'http://127.0.0.1:8080' }));
 * for await (const event of replica.changes()) {
 *   if (event.kind === 'complete') console.log(`${replica.clusters.size} clusters at ${event.etag}`);
 * }
 * ```
 */
export class MapReplica {
  readonly #client: Pick<Client, 'sync'>;
  readonly #options: ReplicaOptions;
  readonly #filter: MapFilter;
  #clusters: Clusters = new Map();
  #etag: string | undefined;
  /** Of the last response that was not complete; also after an interruption, so that no cluster loses its turn. */
  #continuation = '';

  constructor(client: Pick<Client, 'sync'>, options: ReplicaOptions = {}) {
    this.#client = client;
    this.#options = options;
    this.#filter = { ...WHOLE_MAP, ...options.filter };
  }

  /** The snapshots by cluster id, as of now. */
  get clusters(): ReadonlyMap<string, ClusterResourceMap> {
    return this.#clusters;
  }

  /** Counter by cluster id. */
  get clock(): ReadonlyMap<string, bigint> {
    return clockOf(this.#clusters);
  }

  /** Of the map that the replica last was in full; nothing before the first `complete`. */
  get etag(): string | undefined {
    return this.#etag;
  }

  /**
   * Brings the replica up to date, once: asks until a response completes it.
   * @returns what changed, with `complete` at the end; with `mismatch` before it where the
   *   replica had to be fetched again
   * @throws what the client throws; responses that came before are applied
   * @throws ReplicaMismatchError where the replica differs even when fetched again
   */
  async pull(options: { readonly signal?: AbortSignal } = {}): Promise<readonly ReplicaEvent[]> {
    const events: ReplicaEvent[] = [];
    for await (const batch of this.#round(0, options.signal)) events.push(...batch);
    return events;
  }

  /**
   * Keeps the replica up to date for as long as it is iterated, and tells what happens. Each
   * event is yielded after it was applied. The service being away ends nothing, its refusing does.
   * @throws ApiError that is not retryable, such as for a token that is not accepted
   * @throws the signal's reason
   */
  async *changes(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ReplicaEvent, never> {
    const { signal } = options;
    const { waitMs = 20_000, pollIntervalMs = 1_000 } = this.#options;
    let failures = 0;
    for (;;) {
      const startedMs = Date.now();
      let pauseMs = pollIntervalMs;
      try {
        for await (const batch of this.#round(this.#etag === undefined ? 0 : waitMs, signal)) yield* batch;
        failures = 0;
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof Error) || !canPass(error)) throw error;
        failures++;
        const boundMs = Math.min(UNREACHABLE_CAP_MS, UNREACHABLE_BASE_MS * 2 ** (failures - 1));
        pauseMs = error instanceof ReplicaMismatchError ? MISMATCH_PAUSE_MS : Math.random() * boundMs;
        yield { kind: 'unreachable', error, retryInMs: pauseMs };
      }
      const elapsedMs = failures === 0 ? Date.now() - startedMs : 0;
      if (elapsedMs < pauseMs) await pause(pauseMs - elapsedMs, signal);
    }
  }

  /** Answers until one completes the map; yields what each changed, after it was applied. */
  async *#round(waitMs: number, signal: AbortSignal | undefined): AsyncGenerator<readonly ReplicaEvent[]> {
    for (let holdMs = waitMs; ; holdMs = 0) {
      const response = await this.#ask(clockOf(this.#clusters), this.#continuation, holdMs, signal);
      this.#continuation = response.continuation ?? '';
      const next = new Map(this.#clusters);
      apply(response, next);
      yield this.#become(next);
      if (!response.complete) continue;

      const actualEtag = await etagOf(next, this.#filter);
      if (actualEtag !== response.etag) {
        yield [{ kind: 'mismatch', expectedEtag: response.etag, actualEtag }];
        yield* this.#refetch(signal);
        return;
      }
      this.#etag = response.etag;
      yield [{ kind: 'complete', etag: response.etag }];
      return;
    }
  }

  /** Fetches the whole map beside the replica, so that readers keep what they have until it is there. */
  async *#refetch(signal: AbortSignal | undefined): AsyncGenerator<readonly ReplicaEvent[]> {
    const next: Clusters = new Map();
    let response: SyncResponse | undefined;
    do {
      response = await this.#ask(clockOf(next), response?.continuation ?? '', 0, signal);
      apply(response, next);
    } while (!response.complete);
    const actualEtag = await etagOf(next, this.#filter);
    if (actualEtag !== response.etag) throw new ReplicaMismatchError(response.etag, actualEtag);
    this.#etag = response.etag;
    yield this.#become(next);
    yield [{ kind: 'complete', etag: response.etag }];
  }

  #ask(
    clock: ReadonlyMap<string, bigint>,
    continuation: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<SyncResponse> {
    const { maxBytes } = this.#options;
    return this.#client.sync({
      clock,
      filter: this.#filter,
      continuation,
      ...(maxBytes === undefined ? {} : { maxBytes }),
      ...(waitMs > 0 ? { waitMs } : {}),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** Puts the clusters in place of the present ones, in one step, and yields the difference. */
  #become(next: Clusters): readonly ReplicaEvent[] {
    const before = this.#clusters;
    this.#clusters = next;
    const events: ReplicaEvent[] = [];
    for (const [clusterId, snapshot] of next) {
      const event = differenceOf(clusterId, before.get(clusterId), snapshot);
      if (event !== undefined) events.push(event);
    }
    for (const [clusterId, previous] of before) {
      if (!next.has(clusterId)) events.push({ kind: 'omitted', clusterId, previous });
    }
    return events;
  }
}

/**
 * The service's clock and the replica differ even after the whole map was fetched again.
 *
 * @example
 * ```ts
 * import { ReplicaMismatchError } from '@resource-map/client';
 *
 * const isOtherVersion = (error: unknown): boolean => error instanceof ReplicaMismatchError;
 * ```
 */
export class ReplicaMismatchError extends Error {
  override readonly name = 'ReplicaMismatchError';

  constructor(
    readonly expectedEtag: string,
    readonly actualEtag: string,
  ) {
    super(
      `[replica_mismatch] The replica's etag is ${actualEtag} and the service's ${expectedEtag}, though the whole map ` +
        'was just fetched; use a client of the same version as the service, and report it if they are.',
    );
  }
}

function canPass(error: Error): boolean {
  if (error instanceof ApiError) return error.retryable;
  return error instanceof ConnectionError || error instanceof ReplicaMismatchError;
}

/** Applies a response to clusters whose clock it answered. */
function apply(response: SyncResponse, clusters: Clusters): void {
  for (const clusterId of response.omitted) clusters.delete(clusterId);
  for (const snapshot of response.changed) {
    if (snapshot.cluster !== undefined) clusters.set(snapshot.cluster.clusterId, snapshot);
  }
  for (const { clusterId, collectedAt, logicalCounter } of response.refreshed) {
    const held = clusters.get(clusterId);
    // One that is not held would be the service's fault, which the etag brings to light.
    if (held !== undefined) clusters.set(clusterId, refreshed(held, collectedAt, logicalCounter));
  }
}

/** A copy, since the one that was handed out before must not change. */
function refreshed(
  held: ClusterResourceMap,
  collectedAt: Timestamp | undefined,
  logicalCounter: bigint,
): ClusterResourceMap {
  const { collectedAt: _before, ...rest } = held;
  return { ...rest, logicalCounter, ...(collectedAt === undefined ? {} : { collectedAt }) };
}

/** What to yield of a cluster. Lists are shared by a refreshed copy and its original, so identity distinguishes them. */
function differenceOf(
  clusterId: string,
  previous: ClusterResourceMap | undefined,
  snapshot: ClusterResourceMap,
): ReplicaEvent | undefined {
  if (previous === undefined) return { kind: 'added', clusterId, snapshot };
  if (previous === snapshot) return undefined;
  if (previous.capacityPools === snapshot.capacityPools) return { kind: 'refreshed', clusterId, snapshot };
  const regressed = snapshot.logicalCounter < previous.logicalCounter;
  return { kind: 'changed', clusterId, snapshot, previous, regressed };
}

function clockOf(clusters: ReadonlyMap<string, ClusterResourceMap>): Map<string, bigint> {
  return new Map([...clusters].map(([clusterId, { logicalCounter }]) => [clusterId, logicalCounter]));
}

function etagOf(clusters: ReadonlyMap<string, ClusterResourceMap>, filter: MapFilter): Promise<string> {
  const versions = [...clusters].map(([clusterId, { logicalCounter }]) => ({
    clusterId,
    counter: logicalCounter,
  }));
  // The client speaks Protobuf.
  return clockEtag(versions, filter, 'protobuf');
}
