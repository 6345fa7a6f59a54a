/** Stored bundles on the store: puts what owners say, and keeps bundles placed, one after the other. */

import { reconcile } from '../../core/bundle/live/reconcile.ts';
import { bandOf, readOneBundle } from '../../core/bundle/live/spec.ts';
import { type BundleItems, type OperationOutcome, stepBundle } from '../../core/bundle/live/step.ts';
import type { ClaimOperation } from '../../core/bundle/live/world.ts';
import type { InstanceCatalogue } from '../../core/bundle/model/catalogue.ts';
import type { Pool } from '../../core/bundle/model/model.ts';
import { readOnePool } from '../../core/bundle/wire/read-pool.ts';
import { confirmClaim, releaseClaim } from '../../core/claims/change.ts';
import type { ClaimSettings } from '../../core/claims/evaluate.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import { compareUtf8 } from '../../core/utf8-order.ts';
import type { StoredBundle } from '../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { BundleWorldReader, type ReadMap, worldOf } from '../../reading/bundle-world.ts';
import { ClaimReader } from '../../reading/claim-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { BundleStore, KeptBundle } from '../../storage/bundles.ts';
import type { Store } from '../../storage/commit.ts';
import type { LedgerStore } from '../../storage/ledgers.ts';
import type { PoolStore } from '../../storage/pools.ts';
import { backOff } from '../../storage/retry.ts';
import { ClaimService } from './claim-service.ts';
import { inTurns } from './turns.ts';

/** As for claims: so many lost races are no bad luck. */
const MAX_ATTEMPTS = 16;
const CONFLICT_BACKOFF = { baseMs: 5, capMs: 200 } as const;

/** Milliseconds for which one read of the map serves a round while no ledger was changed. */
const MAP_AGE_MS = 5_000;

/** Refusals that say nothing of the place: the next round tries again. */
const TRANSIENT: ReadonlySet<string> = new Set(['contention', 'snapshot_unavailable', 'store_unavailable']);

export interface BundleKeeperDeps {
  readonly store: Store;
  readonly ledgers: LedgerStore;
  readonly pools: PoolStore;
  readonly bundles: BundleStore;
  readonly catalogue: InstanceCatalogue;
  readonly telemetry: Telemetry;
  readonly settings: ClaimSettings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What one round saw. */
export interface RoundReport {
  readonly bundles: number;
  /** Of these, those that it did not come to in time. */
  readonly left: number;
}

export class BundleKeeper {
  readonly #worlds: BundleWorldReader;
  readonly #claims: ClaimService;

  constructor(private readonly deps: BundleKeeperDeps) {
    const { store, ledgers, telemetry, settings, now } = deps;
    this.#worlds = new BundleWorldReader(store, ledgers, telemetry, settings);
    const reader = new ClaimReader(store, ledgers, telemetry, settings);
    this.#claims = new ClaimService({ ledgers, reader, telemetry, settings, now });
  }

  /**
   * Writes what `decide` makes of the bundle, on what it saw.
   *
   * @returns what was written, and whether there was none before
   * @throws ResourceMapError whatever `decide` throws, and `contention`
   */
  async change(
    bundleId: string,
    decide: (seen: KeptBundle | undefined) => StoredBundle | undefined,
  ): Promise<{ readonly kept: KeptBundle | undefined; readonly created: boolean }> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const seen = await this.deps.bundles.read(bundleId);
      const next = decide(seen);
      if (next === undefined) {
        if (seen === undefined || (await this.deps.bundles.remove(seen)))
          return { kept: undefined, created: false };
      } else if (next === seen?.item) {
        return { kept: seen, created: false };
      } else {
        const kept = await this.deps.bundles.replace(bundleId, seen, next, this.deps.now());
        if (kept !== undefined) return { kept, created: seen === undefined };
      }
      await backOff(CONFLICT_BACKOFF, attempt);
    }
    throw new ResourceMapError(
      'contention',
      `Bundle ${quote(bundleId)} was changed by others during all ${MAX_ATTEMPTS} attempts; send the request again.`,
      { retryAfterSeconds: 1 },
    );
  }

  /** What the first step would make of an item, without writing anything. */
  async preview(item: StoredBundle, signal: AbortSignal): Promise<StoredBundle | 'abandoned'> {
    const { catalogue, now } = this.deps;
    const [map, pools] = await Promise.all([this.#worlds.read(catalogue, now()), this.#pools()]);
    const done = await inTurns(reconcile(item, worldOf(map, pools, catalogue, new Map())), signal);
    return done === 'abandoned' ? done : (done.next ?? item);
  }

  /** Does for one bundle what there is to do. */
  async keep(bundleId: string, signal: AbortSignal): Promise<KeptBundle | undefined> {
    return this.#keep(bundleId, signal, new MapInUse(this.#worlds, this.deps), await this.#pools());
  }

  /** Does it for all, gold before silver before bronze, as far as the time goes. */
  async round(signal: AbortSignal): Promise<RoundReport> {
    const { bundles, telemetry } = this.deps;
    const listed = inOrder(await bundles.list());
    const map = new MapInUse(this.#worlds, this.deps);
    const pools = listed.length === 0 ? [] : await this.#pools();
    let done = 0;
    for (const { bundleId } of listed) {
      if (signal.aborted) break;
      try {
        await this.#keep(bundleId, signal, map, pools);
      } catch (cause) {
        // One that cannot be kept keeps no other from its turn.
        telemetry.error('bundle not reconciled', { bundleId, cause });
      }
      done++;
    }
    this.#count(await bundles.list());
    return { bundles: listed.length, left: listed.length - done };
  }

  #count(kept: readonly KeptBundle[]): void {
    const { telemetry, now } = this.deps;
    const waiting = kept.filter(
      ({ item }) => item.state === 'live' && !item.paused && item.copies.some(isUnplaced),
    );
    const gold = waiting.filter(
      ({ item }) => item.spec !== undefined && bandOf(readOneBundle(item.spec)) === 0,
    );
    const deleting = kept.filter(({ item }) => item.state === 'deleting');
    const oldestMs = Math.max(
      0,
      ...deleting.map(({ item }) => now() - Math.min(...item.copies.map((c) => c.sinceMs))),
    );
    telemetry.gauge('BundlesStored', kept.length, 'Count');
    telemetry.gauge('BundlesUnplaced', waiting.length, 'Count');
    telemetry.gauge('GoldBundlesUnplaced', gold.length, 'Count');
    telemetry.gauge('BundleDeletingAge', oldestMs, 'Milliseconds');
  }

  async #pools() {
    return (await this.deps.pools.list()).map(({ pool }) => readOnePool(pool));
  }

  #keep(
    bundleId: string,
    signal: AbortSignal,
    map: MapInUse,
    pools: readonly Pool[],
  ): Promise<KeptBundle | undefined> {
    const { bundles, catalogue, now } = this.deps;
    const items: BundleItems<KeptBundle> = {
      read: (id) => bundles.read(id),
      replace: (id, seen, next) => bundles.replace(id, seen, next, now()),
      remove: (seen) => bundles.remove(seen),
    };
    return stepBundle(bundleId, {
      items,
      world: async (refused, changed) => worldOf(await map.read(changed), pools, catalogue, refused),
      perform: (id, operation) => this.#perform(id, operation, signal),
      run: (work) => inTurns(work, signal),
    });
  }

  async #perform(
    bundleId: string,
    operation: ClaimOperation,
    signal: AbortSignal,
  ): Promise<OperationOutcome> {
    const { clusterId, id } = operation;
    const owner = `bundle:${bundleId}`;
    try {
      switch (operation.kind) {
        case 'accept': {
          const { request } = operation;
          const accepted = await this.#claims.accept({
            clusterId,
            id,
            owner,
            request,
            dryRun: false,
            signal,
          });
          return accepted === 'abandoned' ? { kind: 'later' } : { kind: 'done' };
        }
        case 'confirm':
          await this.#claims.change(clusterId, id, true, (situation) =>
            confirmClaim(situation, id, owner, operation.ttlMs),
          );
          return { kind: 'done' };
        case 'release': {
          const { neverStarted, reason } = operation;
          const release = { owner, mayReleaseAny: false, neverStarted, reason };
          await this.#claims.change(clusterId, id, false, (situation, fence) =>
            releaseClaim(situation, id, release, fence),
          );
          return { kind: 'done' };
        }
      }
    } catch (error) {
      if (!(error instanceof ResourceMapError)) throw error;
      if (TRANSIENT.has(error.code)) return { kind: 'later' };
      return { kind: 'refused', reason: `claim in cluster ${quote(clusterId)}: ${error.detail}` };
    }
  }
}

function isUnplaced({ phase }: { readonly phase: string }): boolean {
  return phase === 'pending' || phase === 'acquiring';
}

/** By their bands, and within one by their age. */
function inOrder(bundles: readonly KeptBundle[]): readonly KeptBundle[] {
  const band = ({ item }: KeptBundle): number =>
    item.spec === undefined ? 0 : bandOf(readOneBundle(item.spec));
  return bundles
    .map((kept) => ({ kept, band: band(kept) }))
    .sort(
      (a, b) =>
        a.band - b.band ||
        a.kept.item.createdAtMs - b.kept.item.createdAtMs ||
        compareUtf8(a.kept.bundleId, b.kept.bundleId),
    )
    .map(({ kept }) => kept);
}

/** One read of the map and of the ledgers, until one of them was changed or it is old. */
class MapInUse {
  #map: ReadMap | undefined;

  constructor(
    private readonly worlds: BundleWorldReader,
    private readonly deps: Pick<BundleKeeperDeps, 'catalogue' | 'now'>,
  ) {}

  async read(changed: boolean): Promise<ReadMap> {
    const nowMs = this.deps.now();
    if (changed || this.#map === undefined || nowMs - this.#map.nowMs > MAP_AGE_MS) {
      this.#map = await this.worlds.read(this.deps.catalogue, nowMs);
    }
    return this.#map;
  }
}
