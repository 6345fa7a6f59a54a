import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sweep } from '../../../functions/lambdas/expire/sweep.ts';
import { storeOn } from '../../../functions/storage/client.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { type AllHeads, HeadStore } from '../../../functions/storage/heads.ts';
import { localClient } from '../../engines/dynamodb-local.ts';
import { engines, freshStore } from '../../engines/store.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';
import { type Acknowledged, lowered, type Omission, omittedThoughHeard } from './history.ts';
import { push } from './pushing.ts';

const CLUSTERS = ['a', 'b', 'c'];
const LONGEST_RACE_MS = 15_000;

/** Enough of both to call it a race. */
const OMISSIONS = 20;
const LOST_OMISSIONS = 10;

/** Heads that note each omission that the table took. */
class WatchedHeads extends HeadStore {
  readonly omissions: Omission[] = [];

  /** Slow at times, so that a push may come and be answered between the read and the write. */
  override async readShard(shard: number): Promise<AllHeads> {
    const read = await super.readShard(shard);
    await sleep(Math.random() * 60);
    return read;
  }

  override async omit(seen: Head, reason: string, nowMs: number): Promise<Head> {
    const writtenAt = performance.now();
    const omitted = await super.omit(seen, reason, nowMs);
    this.omissions.push({ clusterId: seen.clusterId, highWater: seen.highWater, writtenAt });
    return omitted;
  }
}

/** Sweeps and pushes until each has often come before the other; every cluster is silent at once. */
async function race(engine: (typeof engines)[number], conditions: 'kept' | 'dropped') {
  const store = await freshStore(engine, 2);
  const sweeping = localClient(engine.endpoint);
  if (conditions === 'dropped') {
    sweeping.middlewareStack.add(
      (next) => (args) => {
        const {
          ConditionExpression: _,
          ExpressionAttributeValues: __,
          ...input
        } = args.input as Record<string, unknown>;
        const put = 'Item' in input;
        return next(put ? { ...args, input: input as typeof args.input } : args);
      },
      { step: 'initialize', name: 'dropsConditions' },
    );
  }
  const heads = new WatchedHeads(sweeping, store.tables);
  const pushes: Acknowledged[] = [];
  const until = performance.now() + LONGEST_RACE_MS;
  let movedMeanwhile = 0;
  const goesOn = (): boolean =>
    performance.now() < until &&
    (conditions === 'kept'
      ? heads.omissions.length < OMISSIONS || movedMeanwhile < LOST_OMISSIONS
      : omittedThoughHeard(pushes, heads.omissions).length === 0);

  const pushing = CLUSTERS.map(async (clusterId) => {
    for (let counter = 1n; goesOn(); counter++) {
      await sleep(Math.random() * 60);
      const startedAt = performance.now();
      const content = String(counter / 3n);
      // With the conditions dropped, an omission undoes a push, and counters may be refused.
      const done = await push(store, clusterId, { counter, content, nowMs: Date.now() }).then(
        () => true,
        () => false,
      );
      if (done) pushes.push({ clusterId, counter, startedAt, endedAt: performance.now() });
    }
  });
  const deps = { heads, shards: 2, telemetry: new RecordedTelemetry() };
  const sweeps = (async () => {
    while (goesOn()) {
      movedMeanwhile += (await sweep(deps, { omitAfterMs: -1, retireAfterMs: 1e12 }, Date.now()))
        .movedMeanwhile;
    }
  })();
  await Promise.all([...pushing, sweeps]);
  sweeping.destroy();
  return { store, pushes, omissions: heads.omissions, movedMeanwhile };
}

describe.each(engines)('A sweeper on $name that races pushers', { timeout: 60_000 }, (engine) => {
  it('never omits a cluster whose push was acknowledged after its read', async () => {
    const { store, pushes, omissions, movedMeanwhile } = await race(engine, 'kept');
    expect(omissions.length).toBeGreaterThanOrEqual(OMISSIONS);
    expect(movedMeanwhile).toBeGreaterThanOrEqual(LOST_OMISSIONS);
    expect(omittedThoughHeard(pushes, omissions)).toEqual([]);
    expect(lowered(pushes)).toEqual([]);
    // Whoever pushes last is in the map.
    for (const clusterId of CLUSTERS) {
      const counter = 1_000_000n;
      await push(storeOn(store.client, store.tables), clusterId, { counter, nowMs: Date.now() });
      expect((await store.heads.read(clusterId))?.omission).toBeUndefined();
    }
  });

  it('would be caught if it did', async () => {
    const { pushes, omissions } = await race(engine, 'dropped');
    expect(omittedThoughHeard(pushes, omissions).length).toBeGreaterThan(0);
  });
});
