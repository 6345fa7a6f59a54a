import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { sweep } from '../../functions/expire/sweep.ts';
import { storeOn } from '../../functions/store/client.ts';
import type { Head } from '../../functions/store/head.ts';
import { HeadStore } from '../../functions/store/heads.ts';
import { localClient } from '../engines/dynamodb-local.ts';
import { engines, freshStore } from '../engines/store.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';
import { type Acknowledged, lowered, type Omission, omittedThoughHeard } from './history.ts';
import { push } from './pushing.ts';

const RACE_MS = 2_500;
const CLUSTERS = ['a', 'b', 'c'];

/** Heads that note each omission that the table took. */
class WatchedHeads extends HeadStore {
  readonly omissions: Omission[] = [];

  override async omit(seen: Head, reason: string, nowMs: number): Promise<Head> {
    const writtenAt = performance.now();
    const omitted = await super.omit(seen, reason, nowMs);
    this.omissions.push({ clusterId: seen.clusterId, highWater: seen.highWater, writtenAt });
    return omitted;
  }
}

/** Sweeps and pushes as fast as the engine takes them; every cluster is silent at once. */
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
  const until = performance.now() + RACE_MS;

  const pushing = CLUSTERS.map(async (clusterId) => {
    for (let counter = 1n; performance.now() < until; counter++) {
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
    let movedMeanwhile = 0;
    while (performance.now() < until) {
      movedMeanwhile += (await sweep(deps, { omitAfterMs: -1, retireAfterMs: 1e12 }, Date.now()))
        .movedMeanwhile;
    }
    return movedMeanwhile;
  })();
  await Promise.all(pushing);
  const movedMeanwhile = await sweeps;
  sweeping.destroy();
  return { store, pushes, omissions: heads.omissions, movedMeanwhile };
}

describe.each(engines)('A sweeper on $name that races pushers', (engine) => {
  it('never omits a cluster whose push was acknowledged after its read', async () => {
    const { store, pushes, omissions, movedMeanwhile } = await race(engine, 'kept');
    // It was a race: both won, many times.
    expect(omissions.length).toBeGreaterThan(20);
    expect(movedMeanwhile).toBeGreaterThan(5);
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
