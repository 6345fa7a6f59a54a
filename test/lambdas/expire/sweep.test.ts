import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_MEMBERSHIP } from '../../../functions/core/membership.ts';
import { type SweepReport, sweep } from '../../../functions/lambdas/expire/sweep.ts';
import { omitCluster } from '../../../functions/storage/commit.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { type AllHeads, HeadStore } from '../../../functions/storage/heads.ts';
import { headPartition, shardOf } from '../../../functions/storage/tables.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { headOf, T0 } from '../notify/builders.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';
import { push, pushFree } from './pushing.ts';

const { omitAfterMs, retireAfterMs } = DEFAULT_MEMBERSHIP;
const HOUR_MS = 3_600_000;

/** Heads of which a test says what goes wrong, or happens, at one step. */
class StagedHeads extends HeadStore {
  afterRead: (shard: number) => Promise<void> = async () => undefined;
  beforeOmit: (head: Head) => Promise<void> = async () => undefined;
  beforeRemove: (head: Head) => Promise<void> = async () => undefined;

  override async readShard(shard: number): Promise<AllHeads> {
    const read = await super.readShard(shard);
    await this.afterRead(shard);
    return read;
  }

  override async omit(seen: Head, reason: string, nowMs: number): Promise<Head> {
    await this.beforeOmit(seen);
    return super.omit(seen, reason, nowMs);
  }

  override async remove(seen: Parameters<HeadStore['remove']>[0]): Promise<void> {
    await this.beforeRemove(seen);
    return super.remove(seen);
  }
}

describe.each(engines)('The sweeper on $name', (engine) => {
  let store: TestStore;
  let heads: StagedHeads;
  let telemetry: RecordedTelemetry;

  beforeEach(async () => {
    store = await freshStore(engine);
    heads = new StagedHeads(store.client, store.tables);
    telemetry = new RecordedTelemetry();
  });

  const sweepAt = (nowMs: number): Promise<SweepReport> =>
    sweep({ heads, shards: store.tables.shards, telemetry }, DEFAULT_MEMBERSHIP, nowMs);
  const omission = async (clusterId: string) => (await store.heads.read(clusterId))?.omission;
  /** A cluster of each shard, so that every one has something to sweep. */
  const oneOfEachShard = (): readonly string[] => {
    const found = new Map<number, string>();
    for (let n = 0; found.size < store.tables.shards; n++)
      found.set(shardOf(`c${n}`, store.tables.shards), `c${n}`);
    return [...found.values()].sort();
  };

  it('reports what the clusters in the map have, where the deployment asks for it', async () => {
    const fleetMetrics = { heads, shards: store.tables.shards, telemetry, fleetMetrics: true };
    await pushFree(store, 'quiet', { counter: 1n, free: 8, nowMs: T0 });
    await pushFree(store, 'a', { counter: 1n, free: 3, nowMs: T0 + 1 });
    await pushFree(store, 'b', { counter: 1n, free: 5, nowMs: T0 + 1 });
    await sweep(fleetMetrics, DEFAULT_MEMBERSHIP, T0 + omitAfterMs + 1);
    expect([...telemetry.gauges].filter(([name]) => /^(Accel|Fleet)/.test(name))).toEqual([
      ['Accelerators H100 unspecified', [16, 'Count']],
      ['AcceleratorsFree H100 unspecified', [8, 'Count']],
      ['AcceleratorsUnavailable H100 unspecified', [0, 'Count']],
      ['FleetMetricsLeftOut', [0, 'Count']],
    ]);
    telemetry.gauges.clear();
    heads.afterRead = () => Promise.reject(new Error('of a part'));
    await sweep(fleetMetrics, DEFAULT_MEMBERSHIP, T0 + omitAfterMs + 1);
    expect([...telemetry.gauges]).toEqual([]);
  });

  describe('omits', () => {
    it('a cluster that was silent for longer than omitAfter, and says so', async () => {
      await push(store, 'quiet', { counter: 7n, nowMs: T0 });
      await push(store, 'loud', { counter: 1n, nowMs: T0 + 1 });
      const report = await sweepAt(T0 + omitAfterMs + 1);
      expect(report).toMatchObject({
        included: 1,
        omitted: 1,
        newlyOmitted: ['quiet'],
        oldestMs: omitAfterMs,
      });
      expect(await omission('quiet')).toEqual({ reason: 'silent', atMs: T0 + omitAfterMs + 1 });
      expect(await omission('loud')).toBeUndefined();
      expect(telemetry.gauges).toEqual(
        new Map([
          ['ClustersIncluded', [1, 'Count']],
          ['ClustersOmitted', [1, 'Count']],
          ['OldestSnapshotAge', [900, 'Seconds']],
        ]),
      );
      expect(telemetry.fields).toEqual([{ clusterId: 'quiet', reason: 'silent' }]);
    });

    it('a cluster whose pushes were refused until just now, for another reason', async () => {
      const at = (clusterId: string, atMs: number) =>
        store.heads.refusals.put({
          clusterId,
          atMs,
          sinceMs: atMs,
          code: 'collected_in_future',
          message: 'm',
          count: 1,
        });
      for (const clusterId of ['refused', 'long-ago', 'accepted-later'])
        await push(store, clusterId, { counter: 1n, nowMs: T0 });
      await at('refused', T0 + omitAfterMs);
      await at('long-ago', T0 + 1);
      await at('accepted-later', T0 - 1);
      const report = await sweepAt(T0 + omitAfterMs + 2);
      expect([...report.newlyOmitted].sort()).toEqual(['accepted-later', 'long-ago', 'refused']);
      expect((await omission('refused'))?.reason).toBe('refused');
      expect((await omission('long-ago'))?.reason).toBe('silent');
      expect((await omission('accepted-later'))?.reason).toBe('silent');
      expect(telemetry.fields).toContainEqual({ clusterId: 'refused', reason: 'refused' });
    });

    it('no refusal that is younger than retireAfter, and forgets the others', async () => {
      for (const [clusterId, atMs] of [
        ['old', T0],
        ['young', T0 + 1],
      ] as const)
        await store.heads.refusals.put({ clusterId, atMs, sinceMs: atMs, code: 'c', message: 'm', count: 1 });
      await sweepAt(T0 + retireAfterMs + 1);
      expect((await store.heads.refusals.readAll()).map((refusal) => refusal.clusterId)).toEqual(['young']);
    });

    it('no cluster for its clock: an hour ahead or behind, silence is counted from when we heard it', async () => {
      for (const [clusterId, skewMs] of [
        ['behind', -HOUR_MS],
        ['ahead', HOUR_MS],
      ] as const) {
        const collectedAtNanos = BigInt(T0 + skewMs) * 1_000_000n;
        await store.heads.replace(undefined, headOf({ clusterId, collectedAtNanos }));
      }
      expect((await sweepAt(T0 + omitAfterMs)).newlyOmitted).toEqual([]);
      expect([...(await sweepAt(T0 + omitAfterMs + 1)).newlyOmitted].sort()).toEqual(['ahead', 'behind']);
    });

    it('no cluster that pushed after the sweep had read its head', async () => {
      await push(store, 'c', { counter: 1n, nowMs: T0 });
      heads.beforeOmit = async () => void (await push(store, 'c', { counter: 2n, nowMs: T0 + omitAfterMs }));
      const report = await sweepAt(T0 + omitAfterMs + 1);
      expect(report).toMatchObject({ newlyOmitted: [], movedMeanwhile: 1, included: 1 });
      expect(await omission('c')).toBeUndefined();
    });

    it('no cluster whose agent repeated its last push after the sweep had read its head', async () => {
      const same = { counter: 1n, collectedAtMs: T0 };
      await push(store, 'c', { ...same, nowMs: T0 });
      heads.beforeOmit = async () => {
        const { decision } = await push(store, 'c', { ...same, nowMs: T0 + omitAfterMs });
        expect(decision).toBe('repeat');
      };
      expect(await sweepAt(T0 + omitAfterMs + 1)).toMatchObject({ newlyOmitted: [], movedMeanwhile: 1 });
    });

    it('no cluster twice, so that the time since which it is out stands', async () => {
      await push(store, 'c', { counter: 1n, nowMs: T0 });
      await sweepAt(T0 + omitAfterMs + 1);
      expect(await sweepAt(T0 + omitAfterMs + 60_000)).toMatchObject({ newlyOmitted: [], omitted: 1 });
      expect((await omission('c'))?.atMs).toBe(T0 + omitAfterMs + 1);
    });
  });

  describe('goes on', () => {
    it('past a shard that cannot be read, and keeps numbers of a part to itself', async () => {
      const ids = oneOfEachShard();
      for (const id of ids) await push(store, id, { counter: 1n, nowMs: T0 });
      heads.afterRead = async (shard) => {
        if (shard === 1) throw new Error('the shard is away');
      };
      const report = await sweepAt(T0 + omitAfterMs + 1);
      expect(report.failedShards).toEqual([1]);
      expect([...report.newlyOmitted].sort()).toEqual(
        ids.filter((id) => shardOf(id, store.tables.shards) !== 1),
      );
      expect(telemetry.errors).toEqual(['shard not swept']);
      expect(telemetry.gauges.size).toBe(0);
      expect(telemetry.counts.get('SweepFailures')).toBe(1);
    });

    it('past a cluster whose write fails, and takes it the next time', async () => {
      await push(store, 'a', { counter: 1n, nowMs: T0 });
      await push(store, 'b', { counter: 1n, nowMs: T0 });
      heads.beforeOmit = async ({ clusterId }) => {
        if (clusterId === 'a') throw new Error('throttled');
      };
      const report = await sweepAt(T0 + omitAfterMs + 1);
      expect(report).toMatchObject({ newlyOmitted: ['b'], failedClusters: ['a'], included: 1 });
      heads.beforeOmit = async () => undefined;
      expect((await sweepAt(T0 + omitAfterMs + 2)).newlyOmitted).toEqual(['a']);
    });

    it('past a head that cannot be read', async () => {
      const shard = { S: headPartition(shardOf('broken', store.tables.shards)) };
      await store.client.send(
        new PutItemCommand({ TableName: store.tables.heads, Item: { shard, clusterId: { S: 'broken' } } }),
      );
      await push(store, 'c', { counter: 1n, nowMs: T0 });
      expect(await sweepAt(T0 + omitAfterMs + 1)).toMatchObject({ unreadable: 1, newlyOmitted: ['c'] });
      expect(telemetry.counts.get('HeadsUnreadable')).toBe(1);
    });

    it('beside another sweeper', async () => {
      for (let n = 0; n < 20; n++) await push(store, `c${n}`, { counter: 1n, nowMs: T0 });
      const reports = await Promise.all([sweepAt(T0 + omitAfterMs + 1), sweepAt(T0 + omitAfterMs + 1)]);
      expect(reports.flatMap((r) => r.newlyOmitted)).toHaveLength(20);
      expect((await store.heads.readAll()).heads.every((head) => head.omission !== undefined)).toBe(true);
    });
  });

  describe('retires', () => {
    const OMITTED_AT = T0 + 1_000;
    const DUE = OMITTED_AT + retireAfterMs + 1;

    beforeEach(async () => {
      await push(store, 'c', { counter: 7n, content: 'x', nowMs: T0 });
      await omitCluster(store.heads, 'c', 'deleted', OMITTED_AT);
    });

    const retry = { counter: 7n, content: 'x', collectedAtMs: T0 } as const;

    it('a head that has been out of the map for retireAfter, and keeps its mark', async () => {
      expect((await sweepAt(DUE - 1)).retired).toEqual([]);
      expect(await sweepAt(DUE)).toMatchObject({ retired: ['c'], included: 0, omitted: 0 });
      expect(await store.heads.read('c')).toBeUndefined();
      expect(await store.heads.readTombstone('c')).toMatchObject({ highWater: 7n });
      expect((await store.heads.readAll()).heads).toEqual([]);
    });

    it('so that a push below the mark is refused as before, and names the mark', async () => {
      await sweepAt(DUE);
      await expect(push(store, 'c', { counter: 6n, nowMs: DUE })).rejects.toMatchObject({
        code: 'counter_regressed',
        details: { highWaterMark: 7n },
      });
      await expect(push(store, 'c', { ...retry, content: 'other', nowMs: DUE })).rejects.toMatchObject({
        code: 'counter_reused',
        details: { highWaterMark: 7n },
      });
    });

    it.each([
      ['the very push that set the mark', retry],
      ['a push above the mark', { counter: 8n, content: 'y' }],
    ])('so that %s brings the cluster back', async (_, init) => {
      await sweepAt(DUE);
      expect((await push(store, 'c', { ...init, nowMs: DUE })).decision).toBe('publish');
      const head = await store.heads.read('c');
      expect(head).toMatchObject({ highWater: init.counter });
      expect(head?.omission).toBeUndefined();
      const contents = await store.contents.read(head === undefined ? [] : [head.body]);
      expect(contents.size).toBe(1);
    });

    it('no head that a push brought back between the mark and the deletion', async () => {
      heads.beforeRemove = async () => void (await push(store, 'c', { counter: 8n, nowMs: DUE }));
      expect(await sweepAt(DUE)).toMatchObject({ retired: [], movedMeanwhile: 1 });
      expect(await store.heads.read('c')).toMatchObject({ highWater: 8n });
    });

    it('no head that came back by the same push and was omitted again between the two', async () => {
      heads.beforeRemove = async () => {
        await push(store, 'c', { ...retry, nowMs: T0 });
        await omitCluster(store.heads, 'c', 'deleted', DUE);
      };
      expect(await sweepAt(DUE)).toMatchObject({ retired: [], movedMeanwhile: 1 });
      expect(await omission('c')).toEqual({ reason: 'deleted', atMs: DUE });
    });

    it('the same cluster again and again, and raises its mark each time', async () => {
      let nowMs = DUE;
      await sweepAt(nowMs);
      for (const counter of [8n, 9n, 9_007_199_254_740_993n, 18_000_000_000_000_000n]) {
        await push(store, 'c', { counter, nowMs });
        await omitCluster(store.heads, 'c', 'deleted', nowMs);
        nowMs += retireAfterMs + 1;
        expect((await sweepAt(nowMs)).retired).toEqual(['c']);
        expect(await store.heads.readTombstone('c')).toMatchObject({ highWater: counter });
      }
    });

    it('no head whose mark is below the retired one, which only an edited table has, and says so', async () => {
      await store.heads.putTombstone({
        clusterId: 'c',
        highWater: 9n,
        collectedAtNanos: 0n,
        contentId: '00',
      });
      expect(await sweepAt(DUE)).toMatchObject({ retired: [], failedClusters: ['c'], omitted: 1 });
      expect(await store.heads.readTombstone('c')).toMatchObject({ highWater: 9n });
      expect(await store.heads.read('c')).toMatchObject({ highWater: 7n });
      expect(telemetry.fields.map((f) => String(f.cause))).toEqual([
        'RetiredMarkError: A retired mark of cluster "c" is above 7, the mark of its head; the head stays. ' +
          'Raise its mark to the retired one.',
      ]);
    });
  });

  it('leaves the mark as it is through a hundred omissions and returns', async () => {
    store = await freshStore(engine, 1);
    heads = new StagedHeads(store.client, store.tables);
    let nowMs = T0;
    for (let n = 0; n < 100; n++) {
      await push(store, 'c', { counter: 5n, collectedAtMs: T0, nowMs });
      nowMs += omitAfterMs + 1;
      expect((await sweepAt(nowMs)).newlyOmitted).toEqual(['c']);
    }
    const restarted = new HeadStore(store.client, store.tables);
    expect(await restarted.read('c')).toMatchObject({ highWater: 5n });
    await expect(push(store, 'c', { counter: 4n, nowMs })).rejects.toMatchObject({
      code: 'counter_regressed',
    });
  });
});
