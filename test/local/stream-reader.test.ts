import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamHandler } from '../../functions/lambdas/notify/announce.ts';
import { headMoveOf } from '../../functions/lambdas/notify/head-move.ts';
import { type StreamReader, startStreamReader } from '../../functions/local/stream-reader.ts';
import { omitCluster } from '../../functions/storage/commit.ts';
import { engines, freshStore } from '../engines/store.ts';
import { push } from '../lambdas/expire/pushing.ts';
import { T0 } from '../lambdas/notify/builders.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';
import { type ScriptedStreams, startScriptedStreams } from './scripted-streams.ts';

const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

describe('The stream reader', () => {
  let streams: ScriptedStreams;
  let clients: { dynamo: DynamoDBClient; streams: DynamoDBStreamsClient };
  let telemetry: RecordedTelemetry;
  let taken: number[];
  let reader: StreamReader | undefined;

  beforeEach(async () => {
    streams = await startScriptedStreams();
    const config = { endpoint: streams.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 };
    clients = { dynamo: new DynamoDBClient(config), streams: new DynamoDBStreamsClient(config) };
    telemetry = new RecordedTelemetry();
    taken = [];
  });
  afterEach(async () => {
    await reader?.stop();
    clients.dynamo.destroy();
    clients.streams.destroy();
    await streams.close();
  });

  const take: StreamHandler = async ({ Records }) => {
    taken.push(...Records.map((record) => Number(record.dynamodb?.SequenceNumber)));
    return { batchItemFailures: [] };
  };
  const start = (positions = new Map<string, string>(), handler = take): Map<string, string> => {
    reader = startStreamReader({ ...clients, table: 'heads', handler, telemetry, positions });
    return positions;
  };
  const tookInOrder = (...numbers: readonly number[]) =>
    expect.poll(() => taken, { timeout: 10_000, interval: 20 }).toEqual(numbers);

  it('begins at the oldest record and goes on as more come', async () => {
    streams.shards = [{ id: 'a', records: [1, 2, 3] }];
    start();
    await tookInOrder(1, 2, 3);
    streams.shards = [{ id: 'a', records: [1, 2, 3, 4] }];
    await tookInOrder(1, 2, 3, 4);
  });

  it('begins after the position that it is given, and says how far it came', async () => {
    streams.shards = [{ id: 'a', records: [1, 2, 3] }];
    const positions = start(new Map([['a', '1']]));
    await tookInOrder(2, 3);
    await expect.poll(() => positions.get('a')).toBe('3');
  });

  it('reads a shard only after its parent, however they are listed', async () => {
    streams.shards = [
      { id: 'child', parent: 'parent', records: [4, 5] },
      { id: 'grandchild', parent: 'child2', records: [8] },
      { id: 'child2', parent: 'parent', records: [6, 7], closed: true },
      { id: 'parent', parent: 'trimmed', records: [1, 2, 3], closed: true },
    ];
    start();
    await expect.poll(() => taken.length, { timeout: 10_000 }).toBe(8);
    expect(taken.slice(0, 3)).toEqual([1, 2, 3]);
    expect(taken.indexOf(8)).toBeGreaterThan(taken.indexOf(7));
    expect([...taken].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('ends a shard without records, and goes on with its child', async () => {
    streams.shards = [
      { id: 'a', records: [], closed: true },
      { id: 'b', parent: 'a', records: [1] },
    ];
    start();
    await tookInOrder(1);
  });

  it.each([
    'ExpiredIteratorException',
    'ResourceNotFoundException',
    'InternalServerError',
    'LimitExceededException',
  ])('goes on where it was after %s', async (type) => {
    streams.shards = [{ id: 'a', records: [1, 2, 3, 4] }];
    streams.errors.push({ operation: 'GetRecords', type }, { operation: 'GetShardIterator', type });
    start();
    await tookInOrder(1, 2, 3, 4);
    streams.errors.push({ operation: 'GetRecords', type }, { operation: 'DescribeStream', type });
    streams.shards = [{ id: 'a', records: [1, 2, 3, 4, 5] }];
    await tookInOrder(1, 2, 3, 4, 5);
  });

  it('goes on where an open shard gives no next iterator', async () => {
    streams.forgetsIterators = true;
    streams.shards = [{ id: 'a', records: [1, 2, 3] }];
    start();
    await tookInOrder(1, 2, 3);
  });

  it('says that records were lost where its position was trimmed, and goes on with what is left', async () => {
    streams.shards = [{ id: 'a', records: [1, 2, 3, 4], trimmedBelow: 3 }];
    start(new Map([['a', '1']]));
    await tookInOrder(3, 4);
    expect(telemetry.errors).toEqual([
      'records were lost: the stream keeps a day, and the position is older',
    ]);
  });

  it('hands a record over again that was given back, and no later one of its shard before it', async () => {
    streams.shards = [{ id: 'a', records: [1, 2, 3, 4] }];
    let refusals = 3;
    const positions = start(new Map(), async ({ Records }) => {
      const numbers = Records.map((record) => Number(record.dynamodb?.SequenceNumber));
      if (!numbers.includes(2) || refusals-- <= 0) return take({ Records });
      await take({ Records: Records.slice(0, numbers.indexOf(2)) });
      return { batchItemFailures: [{ itemIdentifier: '2' }] };
    });
    await tookInOrder(1, 2, 3, 4);
    expect(positions.get('a')).toBe('4');
  });

  it('stops within a batch’s time', async () => {
    streams.shards = [{ id: 'a', records: [1] }];
    start(new Map(), async ({ Records }) => ({
      batchItemFailures: Records.map(() => ({ itemIdentifier: '1' })),
    }));
    await expect.poll(() => streams.operations.includes('GetRecords')).toBe(true);
    await reader?.stop();
  });
});

describe.skipIf(engines.every((engine) => engine.name !== 'DynamoDB Local'))(
  'DynamoDB Local’s stream',
  () => {
    it('gives the reader every write of a head as Lambda would get it', async () => {
      const engine = engines.find(({ name }) => name === 'DynamoDB Local');
      if (engine === undefined) throw new Error('DynamoDB Local does not run.');
      const store = await freshStore(engine);
      const config = { endpoint: engine.endpoint, region: 'us-east-1', credentials };
      const streams = new DynamoDBStreamsClient(config);
      const records: DynamoDBRecord[] = [];
      const reader = startStreamReader({
        dynamo: store.client,
        streams,
        table: store.tables.heads,
        telemetry: new RecordedTelemetry(),
        handler: async ({ Records }) => {
          records.push(...Records);
          return { batchItemFailures: [] };
        },
      });
      await push(store, 'c/ü', { counter: 1n, nowMs: T0 });
      await push(store, 'c/ü', { counter: 2n, content: 'x', nowMs: T0 });
      await omitCluster(store.heads, 'c/ü', 'deleted', T0);
      await expect.poll(() => records.length, { timeout: 10_000 }).toBe(3);
      await reader.stop();
      // As it goes through JSON on its way to a function.
      const moves = (JSON.parse(JSON.stringify(records)) as DynamoDBRecord[]).map(headMoveOf);
      expect(
        moves.map((m) => [m?.clusterId, m?.before?.highWater, m?.after?.highWater, m?.after?.omission]),
      ).toEqual([
        ['c/ü', undefined, 1n, undefined],
        ['c/ü', 1n, 2n, undefined],
        ['c/ü', 2n, 2n, { reason: 'deleted', atMs: T0 }],
      ]);
      expect(moves[2]?.after).toEqual(await store.heads.read('c/ü'));
      streams.destroy();
    });
  },
);
