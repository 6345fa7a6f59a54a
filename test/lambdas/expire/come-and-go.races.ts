/** Clusters under ever new ids: what they leave behind must not make a poll dearer. */
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { DEFAULT_MEMBERSHIP } from '../../../functions/core/membership.ts';
import { sweep } from '../../../functions/lambdas/expire/sweep.ts';
import { headToItem } from '../../../functions/storage/head-item.ts';
import { HeadStore } from '../../../functions/storage/heads.ts';
import { forEachConcurrently } from '../../../functions/storage/retry.ts';
import { headPartition, shardOf } from '../../../functions/storage/tables.ts';
import { localClient } from '../../engines/dynamodb-local.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { headOf, omitted, T0 } from '../notify/builders.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';
import { push } from './pushing.ts';

const LIVE = 50;
const GONE = 10_000;

/** Read units of one poll, as the engine counts them. */
async function pollCost(store: TestStore): Promise<number> {
  const client = localClient(store.endpoint);
  let units = 0;
  client.middlewareStack.add(
    (next) => async (args) => {
      const response = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'TOTAL' } });
      units +=
        (response.output as { ConsumedCapacity?: { CapacityUnits?: number } }).ConsumedCapacity
          ?.CapacityUnits ?? 0;
      return response;
    },
    { step: 'initialize', name: 'countsUnits' },
  );
  const { heads } = await new HeadStore(client, store.tables).readAll();
  client.destroy();
  expect(heads.filter((head) => head.omission === undefined)).toHaveLength(LIVE);
  return units;
}

// One engine will do, and Amazon's own where it runs: what is counted is read units.
describe.each(engines.slice(-1))('After 10,000 clusters have come and gone on $name', (engine) => {
  it('a poll costs what it cost before them, and each of their marks stands', async () => {
    const store = await freshStore(engine, 8);
    const nowMs = T0 + DEFAULT_MEMBERSHIP.retireAfterMs + 3_600_000;
    for (let n = 0; n < LIVE; n++) await push(store, `live-${n}`, { counter: 1n, nowMs });
    const before = await pollCost(store);

    const gone = Array.from({ length: GONE }, (_, n) =>
      omitted(headOf({ clusterId: `gone-${n}`, highWater: BigInt(n + 1) }), 'silent', T0),
    );
    const batches = Array.from({ length: GONE / 25 }, (_, n) => gone.slice(n * 25, (n + 1) * 25));
    await forEachConcurrently(batches, 4, async (batch) => {
      const puts = batch.map((head) => ({
        PutRequest: { Item: headToItem(head, headPartition(shardOf(head.clusterId, store.tables.shards))) },
      }));
      await store.client.send(new BatchWriteItemCommand({ RequestItems: { [store.tables.heads]: puts } }));
    });
    const during = await pollCost(store);

    const startedAt = Date.now();
    const deps = { heads: store.heads, shards: store.tables.shards, telemetry: new RecordedTelemetry() };
    const report = await sweep(deps, DEFAULT_MEMBERSHIP, nowMs);
    const sweptMs = Date.now() - startedAt;
    const after = await pollCost(store);
    console.log(
      `${engine.name}: ${before} units, ${during} with them, ${after} after a sweep of ${sweptMs} ms`,
    );

    expect(report.retired).toHaveLength(GONE);
    expect(during).toBeGreaterThan(20 * before);
    expect(after).toBe(before);
    for (let n = 0; n < GONE; n += 997) {
      expect(await store.heads.readTombstone(`gone-${n}`)).toMatchObject({ highWater: BigInt(n + 1) });
    }
  });
});
