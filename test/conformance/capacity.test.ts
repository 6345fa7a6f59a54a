/**
 * What pushes and polls cost, in DynamoDB's own units as Amazon's own engine counts them.
 * dynalite counts too, but it is DynamoDB's bill that matters.
 */
import { randomBytes } from 'node:crypto';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import type { ClusterResourceMap } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { publishSnapshot } from '../../functions/lambdas/push/publish.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { omitCluster } from '../../functions/storage/commit.ts';
import { PART_BYTES } from '../../functions/storage/contents.ts';
import { shardOf } from '../../functions/storage/tables.ts';
import { NOW_MS, type SnapshotInit, snapshotOf } from '../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { type Consumed, countCapacity } from './consumed-capacity.ts';

const local = engines.find((engine) => engine.name === 'DynamoDB Local');

async function metered(): Promise<{ store: TestStore; consumed: () => Consumed }> {
  if (local === undefined) throw new Error('There is no DynamoDB Local.');
  const store = await freshStore(local);
  const labels = { [store.tables.heads]: 'heads', [store.tables.contents]: 'bodies' };
  return { store, consumed: countCapacity(store.client, labels) };
}

/** A snapshot that says `content`, and what `init` adds. */
function snapshotAt(counter: bigint, content: string, init: SnapshotInit = {}): ClusterResourceMap {
  return snapshotOf({
    logicalCounter: counter,
    collectedAt: timestampFromMs(NOW_MS + Number(counter % 1_000n)),
    installedComponents: [{ name: 'content', version: content }],
    ...init,
  });
}

const random = (bytes: number): string => randomBytes(bytes).toString('base64');

async function push(store: TestStore, snapshot: ClusterResourceMap, nowMs = NOW_MS) {
  const request = {
    clusterId: snapshot.cluster?.clusterId ?? '',
    snapshot,
    allowJump: false,
    strict: false,
  };
  return publishSnapshot(store, request, nowMs);
}

/**
 * Size of a part as DynamoDB counts it: names and strings in bytes, numbers one byte and one more
 * for every two digits. Source: "DynamoDB item sizes and formats", Amazon DynamoDB Developer Guide.
 */
function partItemBytes(part: number, dataBytes: number): number {
  const number = (value: string) => 1 + Math.ceil(value.replace(/0+$/, '').length / 2);
  const key = 'bodyId'.length + 36 + 'part'.length + number(String(part));
  return key + 'data'.length + dataBytes + 'expiresAt'.length + number(String(NOW_MS / 1_000 + 86_400));
}

/** ⌈item bytes / 1 KB⌉ over all parts. */
function contentWriteUnits(storedBytes: number): number {
  let units = 0;
  for (let part = 0; part * PART_BYTES < storedBytes; part++) {
    const dataBytes = Math.min(PART_BYTES, storedBytes - part * PART_BYTES);
    units += Math.ceil(partItemBytes(part, dataBytes) / 1_024);
  }
  return units;
}

const SIZES = [0, 10_000, 300_000, 2_000_000];

describe.skipIf(local === undefined)('on DynamoDB Local', () => {
  it.each(SIZES)(
    'a first push of %i random bytes writes its parts and one unit for the head',
    async (bytes) => {
      const { store, consumed } = await metered();
      const { head } = await push(store, snapshotAt(1n, random(bytes)));
      expect(head.body.storedBytes).toBeGreaterThan(bytes);
      // No head, no mark and no floor: all three are looked for.
      expect(consumed().units).toEqual({
        'GetItem heads': 3,
        'PutItem bodies': contentWriteUnits(head.body.storedBytes),
        'PutItem heads': 1,
      });
    },
  );

  it.each(SIZES)('a push of the same %i random bytes writes one unit and no body', async (bytes) => {
    const { store, consumed } = await metered();
    const content = random(bytes);
    await push(store, snapshotAt(1n, content));
    consumed();
    for (const counter of [2n, 3n, 18_446_744n]) await push(store, snapshotAt(counter, content));
    expect(consumed()).toEqual({
      units: { 'GetItem heads': 3, 'PutItem heads': 3 },
      requests: { 'GetItem heads': 3, 'PutItem heads': 3 },
    });
  });

  it('a push that changes nothing costs the same after one that lost pools of long ids, and 300 models', async () => {
    const { store, consumed } = await metered();
    const nodeTypes = Array.from({ length: 300 }, (_, i) => ({
      id: `type-${i}`,
      acceleratorModel: `model-${i}`,
      acceleratorsPerNode: 8,
      totalCount: 100,
      purchaseModel: 1,
    }));
    const cluster = { clusterId: 'ä'.repeat(126) };
    const gone = Array.from({ length: 40 }, (_, i) => ({ id: `${i}`.padStart(80, 'p') }));
    const kept = { id: 'kept', nodeTypes };
    await push(store, snapshotAt(1n, '', { cluster, capacityPools: [kept, ...gone] }));
    const { head } = await push(store, snapshotAt(2n, '', { cluster, capacityPools: [kept] }));
    expect([head.warnings, head.loss?.goneCount]).toEqual([40, 40]);
    consumed();
    const refreshed = await push(store, snapshotAt(3n, '', { cluster, capacityPools: [kept] }));
    expect(consumed().units).toEqual({ 'GetItem heads': 1, 'PutItem heads': 1 });
    expect([refreshed.head.warnings, refreshed.head.loss?.goneIds.length]).toEqual([40, 3]);
  });

  it('a push costs the same for a cluster with the longest id and 300 accelerator models', async () => {
    const { store, consumed } = await metered();
    const nodeTypes = Array.from({ length: 300 }, (_, i) => ({
      id: `type-${i}`,
      acceleratorModel: `model-${i}`,
      acceleratorsPerNode: 8,
      totalCount: 100,
      purchaseModel: 1,
    }));
    const init = { cluster: { clusterId: 'ä'.repeat(126) }, capacityPools: [{ id: 'p', nodeTypes }] };
    const snapshot = (counter: bigint) => snapshotAt(counter, '', init);
    await push(store, snapshot(1n));
    consumed();
    const { head } = await push(store, snapshot(2n));
    expect(head.accelerators.length + head.omittedModels).toBe(300);
    expect(consumed().units).toEqual({ 'GetItem heads': 1, 'PutItem heads': 1 });
  });

  it('a retry, a regressed counter and a broken rule cost one read and no write', async () => {
    const { store, consumed } = await metered();
    await push(store, snapshotAt(2n, 'X'));
    consumed();
    await push(store, snapshotAt(2n, 'X'));
    await expect(push(store, snapshotAt(1n, 'X'))).rejects.toThrow('[counter_regressed]');
    await expect(push(store, snapshotAt(2n, 'Y'))).rejects.toThrow('[counter_reused]');
    const broken = snapshotOf({ logicalCounter: 3n, capacityPools: [{ id: '' }] });
    await expect(push(store, broken)).rejects.toThrow('[invalid_snapshot]');
    expect(consumed().units).toEqual({ 'GetItem heads': 4 });
  });

  it('an omission writes one unit', async () => {
    const { store, consumed } = await metered();
    await push(store, snapshotAt(1n, random(100_000)));
    consumed();
    await omitCluster(store.heads, 'c1', 'r', NOW_MS);
    expect(consumed().units).toEqual({ 'GetItem heads': 1, 'PutItem heads': 1 });
  });

  it('a map reads its heads consistently and its bodies at half price, and a poll the heads alone', async () => {
    const { store, consumed } = await metered();
    const pushed = [];
    const ids = ['a', 'b', 'c'];
    for (const id of ids) {
      pushed.push((await push(store, snapshotAt(1n, random(50_000), { cluster: { clusterId: id } }))).head);
    }
    consumed();
    const telemetry = jsonLinesTelemetry();
    const app = createApp(telemetry, { kind: 'open' });
    mapRoutes(app, { store, telemetry, now: () => NOW_MS, cacheBytes: 0 });

    const map = await app.request('/v1/map');
    expect(map.status).toBe(200);
    const readUnits = pushed.map(({ body }) => Math.ceil(partItemBytes(0, body.storedBytes) / 4_096) / 2);
    const first = consumed();
    expect(first.units['BatchGetItem bodies']).toBe(readUnits.reduce((sum, units) => sum + units, 0));
    expect(first.requests).toEqual({ 'Query heads': store.tables.shards, 'BatchGetItem bodies': 1 });

    const etag = map.headers.get('etag') ?? '';
    const poll = await app.request('/v1/map', { headers: { 'if-none-match': etag } });
    expect(poll.status).toBe(304);
    // A unit is 4 KB of one shard, and these few heads fill none. (AWS takes one for an empty shard, too.)
    const shards = new Set(ids.map((id) => shardOf(id, store.tables.shards))).size;
    expect(first.units['Query heads']).toBe(shards);
    expect(consumed().units).toEqual({ 'Query heads': shards });
  });
});
