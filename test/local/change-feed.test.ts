import { DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamHandler } from '../../functions/lambdas/notify/announce.ts';
import { headMoveOf } from '../../functions/lambdas/notify/head-move.ts';
import { ChangeFeed } from '../../functions/local/change-feed.ts';
import { omitCluster } from '../../functions/storage/commit.ts';
import { retireHead } from '../../functions/storage/retire.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { push } from '../lambdas/expire/pushing.ts';
import { T0 } from '../lambdas/notify/builders.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';

const [dynalite] = engines;
if (dynalite === undefined) throw new Error('No engine runs.');

describe('The change feed', () => {
  let store: TestStore;
  let feed: ChangeFeed;
  let records: DynamoDBRecord[];
  const collect: StreamHandler = async ({ Records }) => {
    records.push(...Records);
    return { batchItemFailures: [] };
  };

  beforeEach(async () => {
    store = await freshStore(dynalite);
    feed = new ChangeFeed(store.client, store.tables.heads);
    records = [];
  });
  afterEach(async () => {
    await feed.stop();
  });

  const delivered = async (count: number): Promise<readonly string[]> => {
    await expect.poll(() => records.length).toBe(count);
    return records.map((record) => {
      const move = headMoveOf(record);
      const side = (head: typeof move extends undefined ? never : NonNullable<typeof move>['before']) =>
        head === undefined ? 'nothing' : `${head.highWater}${head.omission === undefined ? '' : ' omitted'}`;
      return move === undefined
        ? `${record.eventName}: other`
        : `${record.eventName}: ${side(move.before)} -> ${side(move.after)}`;
    });
  };

  it('has a record of each write of a head, with what was there before', async () => {
    feed.start(collect, new RecordedTelemetry());
    await push(store, 'c', { counter: 1n, nowMs: T0 });
    await push(store, 'c', { counter: 2n, content: 'x', nowMs: T0 });
    const head = await omitCluster(store.heads, 'c', 'deleted', T0);
    await retireHead(store.heads, head);
    expect(await delivered(5)).toEqual([
      'INSERT: nothing -> 1',
      'MODIFY: 1 -> 2',
      'MODIFY: 2 -> 2 omitted',
      'INSERT: other',
      'REMOVE: 2 omitted -> nothing',
    ]);
    const numbers = records.map((record) => BigInt(record.dynamodb?.SequenceNumber ?? ''));
    expect(numbers).toEqual([...numbers].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(numbers).size).toBe(5);
  });

  it('keeps what was written before anybody took it', async () => {
    await push(store, 'c', { counter: 1n, nowMs: T0 });
    feed.start(collect, new RecordedTelemetry());
    expect(await delivered(1)).toEqual(['INSERT: nothing -> 1']);
  });

  it('has no record of a write that was refused, nor of bodies and reads', async () => {
    feed.start(collect, new RecordedTelemetry());
    await push(store, 'c', { counter: 2n, nowMs: T0 });
    await expect(push(store, 'c', { counter: 1n, nowMs: T0 })).rejects.toThrow('counter_regressed');
    await push(store, 'c', { counter: 3n, nowMs: T0 });
    expect(await delivered(2)).toEqual(['INSERT: nothing -> 2', 'MODIFY: 2 -> 3']);
  });

  it('has the records of one head in the order of its writes, however many write at once', async () => {
    feed.start(collect, new RecordedTelemetry());
    await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) =>
        push(store, 'c', { counter: BigInt(n + 1), content: `${n}`, nowMs: T0 }),
      ),
    );
    await expect
      .poll(async () => {
        const head = await store.heads.read('c');
        return headMoveOf(records.at(-1) ?? {})?.after?.highWater === head?.highWater;
      })
      .toBe(true);
    const moves = records.map(headMoveOf);
    for (const [i, move] of moves.entries()) expect(move?.before).toEqual(moves[i - 1]?.after);
  });

  it('hands records over again until the handler takes them, and later ones after them', async () => {
    const failures = new Map([
      ['INSERT', 2],
      ['MODIFY', 1],
    ]);
    const seen: string[] = [];
    feed.start(async ({ Records }) => {
      for (const { eventName = 'INSERT', dynamodb } of Records) {
        seen.push(eventName);
        const left = failures.get(eventName) ?? 0;
        failures.set(eventName, left - 1);
        if (left > 1) throw new Error('the handler broke');
        if (left > 0) return { batchItemFailures: [{ itemIdentifier: dynamodb?.SequenceNumber ?? '' }] };
      }
      return collect({ Records });
    }, new RecordedTelemetry());
    await push(store, 'c', { counter: 1n, nowMs: T0 });
    await push(store, 'c', { counter: 2n, nowMs: T0 });
    expect(await delivered(2)).toEqual(['INSERT: nothing -> 1', 'MODIFY: 1 -> 2']);
    expect(seen.filter((name) => name === 'INSERT').length).toBeGreaterThanOrEqual(3);
  });

  it('refuses a write that it could have no record of', async () => {
    const Key = { shard: { S: '0' }, clusterId: { S: 'c' } };
    await expect(
      store.client.send(new UpdateItemCommand({ TableName: store.tables.heads, Key })),
    ).rejects.toThrow(
      `UpdateItemCommand on ${store.tables.heads} would change heads without a record of it.`,
    );
  });

  it('has no record of a deletion of nothing', async () => {
    feed.start(collect, new RecordedTelemetry());
    const Key = { shard: { S: '0' }, clusterId: { S: 'c' } };
    await store.client.send(new DeleteItemCommand({ TableName: store.tables.heads, Key }));
    await push(store, 'c', { counter: 1n, nowMs: T0 });
    expect(await delivered(1)).toEqual(['INSERT: nothing -> 1']);
  });
});
