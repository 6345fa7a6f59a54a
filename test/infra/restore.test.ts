import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  DeleteItemCommand,
  DescribeTableCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { describe, expect, test } from 'vitest';
import { CounterConflictError } from '../../functions/core/errors.ts';
import type { Head } from '../../functions/storage/head.ts';
import type { Item } from '../../functions/storage/head-item.ts';
import { retireHead } from '../../functions/storage/retire.ts';
import { headPartition, shardOf } from '../../functions/storage/tables.ts';
import { ROOT } from '../../infra/bundling.ts';
import { restoreHeads, type Since, UnsafeRestoreError } from '../../infra/restore/restore-heads.ts';
import { scanTable } from '../../infra/restore/sources.ts';
import { commit, contentOf, headOf, type PushInit, pushOf } from '../conformance/pushes.ts';
import { NOW_MS } from '../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';

const local = engines.find((engine) => engine.name === 'DynamoDB Local');
const SHARDS = 4;

/** A stage, with what every response of it ever gave. */
class Stage {
  readonly served = new Map<string, bigint>();
  readonly pushed: PushInit[] = [];

  private constructor(readonly store: TestStore) {}

  static async start(): Promise<Stage> {
    if (local === undefined) throw new Error('There is no DynamoDB Local.');
    return new Stage(await freshStore(local, SHARDS));
  }

  async push(clusterId: string, counter: bigint, content: string): Promise<void> {
    const push = { clusterId, counter, content };
    await commit(this.store, pushOf(push), NOW_MS);
    this.pushed.push(push);
    await this.read();
  }

  /** @returns whether it was taken */
  async retry(push: PushInit): Promise<boolean> {
    try {
      await commit(this.store, pushOf(push), NOW_MS + 60_000);
      return true;
    } catch (error) {
      if (error instanceof CounterConflictError) return false;
      throw error;
    }
  }

  async omit(clusterId: string): Promise<void> {
    await this.store.heads.omit(await headOf(this.store, clusterId), 'silent', NOW_MS);
  }

  async retire(clusterId: string): Promise<void> {
    await retireHead(this.store.heads, await headOf(this.store, clusterId));
  }

  /** A reader's poll. */
  async read(): Promise<ReadonlyMap<string, bigint>> {
    const { heads } = await this.store.heads.readAll();
    const clock = new Map(heads.filter(isIncluded).map((head) => [head.clusterId, head.highWater]));
    for (const [id, counter] of clock)
      if (counter > (this.served.get(id) ?? 0n)) this.served.set(id, counter);
    return clock;
  }

  /** What DynamoDB does with a point in time: the items of now, in a table of its own. */
  async pointInTime(): Promise<string> {
    const copy = await Stage.start();
    for await (const item of scanTable(this.store.client, this.store.tables.heads)) {
      await copy.write(item);
    }
    return copy.store.tables.heads;
  }

  async write(item: Item): Promise<void> {
    await this.store.client.send(new PutItemCommand({ TableName: this.store.tables.heads, Item: item }));
  }

  async lose(clusterId: string): Promise<void> {
    for (const shard of [keyOf(clusterId).shard.S, `retired#${shardOf(clusterId, SHARDS)}`]) {
      const Key = { shard: { S: shard }, clusterId: { S: clusterId } };
      await this.store.client.send(new DeleteItemCommand({ TableName: this.store.tables.heads, Key }));
    }
  }

  async streamArn(): Promise<string> {
    const { Table } = await this.store.client.send(
      new DescribeTableCommand({ TableName: this.store.tables.heads }),
    );
    return Table?.LatestStreamArn ?? '';
  }

  async restore(from: string, since: Since, dryRun = false) {
    return restoreHeads({
      dynamo: this.store.client,
      streams: new DynamoDBStreamsClient({
        endpoint: this.store.endpoint,
        region: 'us-east-1',
        credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      }),
      from,
      into: this.store.tables.heads,
      shards: SHARDS,
      since,
      dryRun,
      now: () => NOW_MS,
      pauseMs: 0,
    });
  }
}

function isIncluded({ omission }: Head): boolean {
  return omission === undefined;
}

function keyOf(clusterId: string): { shard: { S: string }; clusterId: { S: string } } {
  return { shard: { S: headPartition(shardOf(clusterId, SHARDS)) }, clusterId: { S: clusterId } };
}

/** A day's life up to the point in time, after it, and then the loss of everything. */
async function lostStage(): Promise<{ stage: Stage; from: string }> {
  const stage = await Stage.start();
  await stage.push('steady', 10n, 'X');
  await stage.push('changing', 10n, 'X');
  await stage.push('omitted', 10n, 'X');
  await stage.push('retired', 10n, 'X');
  await stage.push('returning', 10n, 'X');
  await stage.omit('returning');
  await stage.retire('returning');
  const from = await stage.pointInTime();
  await stage.push('steady', 13n, 'X');
  await stage.push('changing', 14n, 'Y');
  await stage.push('omitted', 12n, 'Y');
  await stage.omit('omitted');
  await stage.push('retired', 15n, 'Y');
  await stage.omit('retired');
  await stage.retire('retired');
  await stage.push('returning', 16n, 'Z');
  await stage.push('new', 5n, 'N');
  await stage.push('new', 7n, 'N');
  for (const id of stage.served.keys()) await stage.lose(id);
  return { stage, from };
}

describe.skipIf(local === undefined)('a restored table of heads', () => {
  test('put in place as it is would let counters go back, so the check below can fail', async () => {
    const { stage, from } = await lostStage();
    for await (const item of scanTable(stage.store.client, from)) await stage.write(item);
    expect(await counterThatWentBack(stage)).toBeDefined();
  });

  test('takes every mark from the stream of the last hours, of new clusters too', async () => {
    const { stage, from } = await lostStage();
    const report = await stage.restore(from, {
      kind: 'stream',
      streamArn: await stage.streamArn(),
      restoredToMs: NOW_MS - 3_600_000,
    });
    expect(report).toEqual({ omitted: 6, marksOnly: 0, raised: 6, floor: 0n, lost: [] });
    expect(await stage.read()).toEqual(new Map());
    const { heads } = await stage.store.heads.readAll();
    expect(new Map(heads.map((head) => [head.clusterId, head.highWater]))).toEqual(stage.served);
    expect(heads.map(({ omission }) => omission)).toEqual(
      heads.map(() => ({ reason: 'restored', atMs: NOW_MS })),
    );
    expect(await counterThatWentBack(stage)).toBeUndefined();
  });

  test('brings each cluster back whole with its next push', async () => {
    const { stage, from } = await lostStage();
    await stage.restore(from, {
      kind: 'stream',
      streamArn: await stage.streamArn(),
      restoredToMs: NOW_MS - 3_600_000,
    });
    for (const [clusterId, counter] of stage.served) await stage.push(clusterId, counter + 1n, 'X');
    const clock = await stage.read();
    expect([...clock.keys()].sort()).toEqual([
      'changing',
      'new',
      'omitted',
      'retired',
      'returning',
      'steady',
    ]);
    for (const clusterId of clock.keys()) {
      expect(await contentOf(stage.store, await headOf(stage.store, clusterId))).toBe('X');
    }
  });

  test('answers the retry of the last push before the loss, once its body is there again', async () => {
    const { stage, from } = await lostStage();
    await stage.restore(from, {
      kind: 'stream',
      streamArn: await stage.streamArn(),
      restoredToMs: NOW_MS - 1,
    });
    expect(await stage.retry({ clusterId: 'changing', counter: 14n, content: 'Y' })).toBe(true);
    const head = await headOf(stage.store, 'changing');
    expect(head).toMatchObject({ highWater: 14n, contentSince: { counter: 14n } });
    expect(await contentOf(stage.store, head)).toBe('Y');
  });

  test('holds a floor where there is no stream: for every cluster, known or not', async () => {
    const { stage, from } = await lostStage();
    const report = await stage.restore(from, { kind: 'floor', floor: 1_000n });
    expect(report).toEqual({ omitted: 4, marksOnly: 1, raised: 5, floor: 1_000n, lost: [] });
    expect(await counterThatWentBack(stage)).toBeUndefined();
    await expect(
      commit(stage.store, pushOf({ clusterId: 'new', counter: 1_000n, content: 'N' })),
    ).rejects.toThrow(
      '[counter_regressed] Counter 1000 of cluster "new" may have been accepted before this service\'s data was restored; use 1001 or above.',
    );
    await stage.push('new', 1_001n, 'N');
    await stage.push('changing', 1_001n, 'X');
    await stage.push('returning', 1_001n, 'X');
    // A reader that holds Y at 14 must be told that the content changed, though X is what the restored head had.
    expect((await headOf(stage.store, 'changing')).contentSince.counter).toBeGreaterThan(14n);
  });

  test('is the same when it is restored again, and never lowers what was pushed since', async () => {
    const { stage, from } = await lostStage();
    const since = { kind: 'stream', streamArn: await stage.streamArn(), restoredToMs: NOW_MS - 1 } as const;
    await stage.restore(from, since);
    const first = (await stage.store.heads.readAll()).heads;
    await stage.restore(from, since);
    expect((await stage.store.heads.readAll()).heads).toEqual(first);
    await stage.push('steady', 20n, 'X');
    await stage.restore(from, since);
    expect((await headOf(stage.store, 'steady')).highWater).toBe(20n);
    await stage.restore(from, { kind: 'floor', floor: 500n });
    await stage.restore(from, { kind: 'floor', floor: 400n });
    expect(await stage.store.heads.readFloor()).toBe(500n);
  });

  test('is not written in a dry run, which tells the same', async () => {
    const { stage, from } = await lostStage();
    const report = await stage.restore(from, { kind: 'floor', floor: 9n }, true);
    expect(report).toMatchObject({ omitted: 4, marksOnly: 1, floor: 9n });
    expect((await stage.store.heads.readAll()).heads).toEqual([]);
    expect(await stage.store.heads.readFloor()).toBe(0n);
  });

  test('fixes a head that was overwritten, and names one of which no mark is known', async () => {
    const stage = await Stage.start();
    await stage.push('mangled', 10n, 'X');
    const from = await stage.pointInTime();
    await stage.push('mangled', 12n, 'Y');
    await stage.write({ ...keyOf('mangled'), highWater: { S: 'twelve' } });
    await stage.write({ ...keyOf('foreign'), highWater: { S: 'none' } });
    const report = await stage.restore(from, {
      kind: 'stream',
      streamArn: await stage.streamArn(),
      restoredToMs: NOW_MS - 1,
    });
    expect(report).toMatchObject({ omitted: 1, lost: ['foreign'] });
    expect(await headOf(stage.store, 'mangled')).toMatchObject({ highWater: 12n });
    await expect(
      commit(stage.store, pushOf({ clusterId: 'foreign', counter: 1n, content: 'X' })),
    ).rejects.toThrow('has no readable attribute');
    expect(await stage.restore(from, { kind: 'floor', floor: 100n })).toMatchObject({ lost: [] });
    await stage.push('foreign', 101n, 'X');
  });

  test('keeps the mark of a head of which the rest cannot be read', async () => {
    const stage = await Stage.start();
    await stage.push('half', 10n, 'X');
    await stage.store.client.send(
      new UpdateItemCommand({
        TableName: stage.store.tables.heads,
        Key: keyOf('half'),
        UpdateExpression: 'REMOVE bodyId',
      }),
    );
    const empty = (await Stage.start()).store.tables.heads;
    // The stream still has the head as it was.
    const streamArn = await (await Stage.start()).streamArn();
    expect(await stage.restore(empty, { kind: 'stream', streamArn, restoredToMs: NOW_MS - 1 })).toMatchObject(
      {
        omitted: 0,
        marksOnly: 1,
        lost: [],
      },
    );
    expect(await stage.retry({ clusterId: 'half', counter: 9n, content: 'X' })).toBe(false);
    expect(await stage.retry({ clusterId: 'half', counter: 11n, content: 'X' })).toBe(true);
  });

  test('is refused where the stream does not reach back to the point in time', async () => {
    const { stage, from } = await lostStage();
    const streamArn = await stage.streamArn();
    await expect(
      stage.restore(from, { kind: 'stream', streamArn, restoredToMs: NOW_MS - 30 * 3_600_000 }),
    ).rejects.toThrow(
      new UnsafeRestoreError(
        'The table was restored to 2025-12-30T18:00:00.000Z, 30.0 hours ago, and its stream can be relied on for 23. ' +
          'What was published before that is not in it, so give --floor with a counter that no cluster had reached.',
      ),
    );
    await expect(
      stage.restore(from, { kind: 'stream', streamArn, restoredToMs: NOW_MS + 1 }),
    ).rejects.toThrow('which is yet to come');
  });

  test('is refused with another number of shards than the stage has', async () => {
    const stage = await Stage.start();
    for (const id of ['a', 'b', 'c', 'd', 'e']) await stage.push(id, 1n, 'X');
    const wrong = restoreHeads({
      dynamo: stage.store.client,
      streams: new DynamoDBStreamsClient({ endpoint: stage.store.endpoint }),
      from: stage.store.tables.heads,
      into: stage.store.tables.heads,
      shards: SHARDS - 1,
      since: { kind: 'floor', floor: 10n },
    });
    await expect(wrong).rejects.toThrow(
      /with 3 shards it would be in \d; give --shards as the stage was deployed with it\.$/,
    );
  });

  test('moves to a stage of other shards, where nothing was written since', async () => {
    const old = await Stage.start();
    await old.push('steady', 10n, 'X');
    await old.push('retired', 12n, 'X');
    await old.omit('retired');
    await old.retire('retired');
    if (local === undefined) return;
    const fresh = await freshStore(local, 7);
    const report = await restoreHeads({
      dynamo: fresh.client,
      streams: new DynamoDBStreamsClient({ endpoint: fresh.endpoint }),
      from: old.store.tables.heads,
      into: fresh.tables.heads,
      shards: 7,
      since: { kind: 'nothing' },
    });
    expect(report).toEqual({ omitted: 1, marksOnly: 1, raised: 0, floor: 0n, lost: [] });
    for (const [clusterId, mark] of old.served) {
      const push = (counter: bigint) => commit(fresh, pushOf({ clusterId, counter, content: 'X' }), NOW_MS);
      await expect(push(mark - 1n)).rejects.toThrow('[counter_regressed]');
      await push(mark + 1n);
      expect(await contentOf(fresh, await headOf(fresh, clusterId))).toBe('X');
    }
  });

  test('is a command, which says what it did', async () => {
    const { stage, from } = await lostStage();
    const run = (...flags: string[]) =>
      promisify(execFile)(
        process.execPath,
        [
          '--import',
          'tsx',
          'infra/restore/main.ts',
          '--endpoint',
          stage.store.endpoint,
          '--from',
          from,
          '--into',
          stage.store.tables.heads,
          ...flags,
        ],
        {
          cwd: ROOT,
          env: {
            ...process.env,
            AWS_REGION: 'us-east-1',
            AWS_ACCESS_KEY_ID: 'local',
            AWS_SECRET_ACCESS_KEY: 'local',
          },
        },
      );
    const { stdout } = await run('--shards', String(SHARDS), '--floor', '1000');
    expect(JSON.parse(stdout)).toEqual({ omitted: 4, marksOnly: 1, raised: 5, floor: '1000', lost: [] });
    await expect(run('--shards', String(SHARDS))).rejects.toThrow(
      'error: give --stream and --restored-to, or --floor, or --complete',
    );
    await expect(
      run('--shards', String(SHARDS), '--stream', 's', '--restored-to', '14 March'),
    ).rejects.toThrow('It must be a time with its zone, as in 2026-03-14T07:00:00Z.');
  });
});

/**
 * Sends every push of before the loss again, late and out of order, and then an agent's that lost
 * its counter and starts above the mark that it is told. After each, what a poll gives is compared
 * with what any response gave before.
 */
async function counterThatWentBack(stage: Stage): Promise<string | undefined> {
  const before = new Map(stage.served);
  for (const push of [...stage.pushed].reverse()) {
    await stage.retry(push);
    for (const [clusterId, counter] of await stage.read()) {
      const served = before.get(clusterId) ?? 0n;
      if (counter < served) return `${clusterId}: ${counter} after ${served}`;
    }
  }
  for (const clusterId of before.keys()) {
    if (!(await stage.retry({ clusterId, counter: 1n, content: 'restarted' }))) continue;
    return `${clusterId}: 1 was taken`;
  }
  return undefined;
}
