/** What a poll of a thousand clusters costs, counted by Amazon's own engine and on the wire. */
import { readFileSync } from 'node:fs';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { create, fromJsonString, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../functions/client/client.ts';
import {
  ClusterIdentitySchema,
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { SyncRequestSchema } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { headToItem } from '../../../functions/storage/head-item.ts';
import { headPartition, shardOf } from '../../../functions/storage/tables.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';

const CLUSTERS = 1_000;
const SHARDS = 8;
const SAMPLE = new URL('../../../functions/local/samples/openb-instant-t2.json', import.meta.url);

/** 27 bytes, as ids of real fleets are. */
const ids = Array.from(
  { length: CLUSTERS },
  (_, index) => `prod-eu-west-1-cluster-${String(index).padStart(4, '0')}`,
);

/** A head as real ones are: two accelerator models, a region, a name; no body is behind it. */
function headOf(clusterId: string): Head {
  return {
    clusterId,
    highWater: 1_000_000n,
    collectedAtNanos: 1_767_225_600_123_456_809n,
    receivedAtMs: 1_767_225_600_500,
    contentSince: { counter: 999_000n, atMs: 1_767_220_000_500 },
    body: {
      contentId: 'ab'.repeat(32),
      parts: 1,
      rawBytes: 41_083,
      storedBytes: 5_646,
      crc32: 0xdead_beef,
      storedCrc32: 0xfeed_beef,
      expiresAtS: 1_767_312_000,
    },
    identity: { displayName: 'Production 1', provider: 'aws', region: 'eu-west-1', site: '' },
    accelerators: [
      { model: 'NVIDIA-H100-80GB-HBM3', total: 1_024n, free: 96n, unavailable: 8n },
      { model: 'NVIDIA-L40S', total: 256n, free: 12n, unavailable: 0n },
    ],
    omittedModels: 0,
    warnings: 0,
  };
}

/** Writes all heads, 25 a request, which is all that a batch may have. */
async function writeHeads({ client, tables }: TestStore): Promise<void> {
  for (let at = 0; at < ids.length; at += 25) {
    const puts = ids.slice(at, at + 25).map((id) => ({
      PutRequest: { Item: headToItem(headOf(id), headPartition(shardOf(id, tables.shards))) },
    }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tables.heads]: puts } }));
  }
}

/** Counts the read units of every request that the store makes. */
function countReadUnits(store: TestStore): { units: number; requests: number } {
  const count = { units: 0, requests: 0 };
  store.client.middlewareStack.add(
    (next) => async (args) => {
      Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
      const result = await next(args);
      const { ConsumedCapacity } = result.output as { ConsumedCapacity?: Consumed | readonly Consumed[] };
      count.requests++;
      for (const consumed of [ConsumedCapacity ?? []].flat()) count.units += consumed.CapacityUnits ?? 0;
      return result;
    },
    { step: 'initialize' },
  );
  return count;
}

interface Consumed {
  readonly CapacityUnits?: number;
}

const local = engines.find((engine) => engine.name === 'DynamoDB Local');

describe.skipIf(local === undefined)('for 1,000 clusters on DynamoDB Local', () => {
  let store: TestStore;
  let service: TestService;
  let sentBytes = 0;
  beforeAll(async () => {
    if (local === undefined) return;
    store = await freshStore(local, SHARDS);
    service = await serveStore(store);
    await writeHeads(store);
  }, 120_000);
  afterAll(() => service.close());

  /** A client that counts the bytes of its answers, which are not compressed for it. */
  function countingClient() {
    return createClient({
      baseUrl: service.url,
      fetch: async (url, init) => {
        const response = await fetch(url, {
          ...init,
          headers: { ...init?.headers, 'accept-encoding': 'identity' },
        });
        expect(response.headers.get('content-encoding')).toBeNull();
        sentBytes = Number(response.headers.get('content-length'));
        return response;
      },
    });
  }

  const clockAt = (counter: bigint): Map<string, bigint> => new Map(ids.map((id) => [id, counter]));

  it('a poll that finds nothing new reads the heads alone: 80 units in 8 requests, 54 bytes of response', async () => {
    const count = countReadUnits(store);
    const answer = await countingClient().sync({ clock: clockAt(1_000_000n) });
    expect(answer).toMatchObject({ changed: [], refreshed: [], omitted: [], complete: true });
    expect(count).toStrictEqual({ units: 80, requests: SHARDS });
    expect(sentBytes).toBe(54);
  });

  it('its question is 35 bytes a cluster', () => {
    const vectorClock = Object.fromEntries(clockAt(1_000_000n));
    expect(toBinary(SyncRequestSchema, create(SyncRequestSchema, { vectorClock })).length).toBe(
      35 * CLUSTERS,
    );
  });

  it('a sync where every cluster was refreshed and none changed takes 48 bytes a cluster', async () => {
    const answer = await countingClient().sync({ clock: clockAt(999_999n) });
    expect(answer.refreshed).toHaveLength(CLUSTERS);
    expect((sentBytes - 54) / CLUSTERS).toBe(48);
  });

  it('a sync where three changed takes those three and half a unit for each, and a second one reads no body', async () => {
    const changed = ids.slice(0, 3);
    for (const id of changed) await service.client.push(alibaba(id, 1_000_001n));
    const client = countingClient();
    const count = countReadUnits(store);

    const answer = await client.sync({ clock: clockAt(1_000_000n) });
    expect(answer.changed.map((each) => each.cluster?.clusterId).sort()).toStrictEqual(changed);
    expect(answer.refreshed).toHaveLength(0);
    const snapshots = answer.changed.reduce(
      (sum, each) => sum + toBinary(ClusterResourceMapSchema, each).length,
      0,
    );
    expect(snapshots).toBe(3 * 4_666);
    expect(sentBytes).toBe(54 + snapshots + 3 * 3);
    expect(count).toStrictEqual({ units: 80 + 3 * 0.5, requests: SHARDS + 1 });

    await client.sync({ clock: clockAt(1_000_000n) });
    expect(count).toStrictEqual({ units: 2 * 80 + 3 * 0.5, requests: 2 * SHARDS + 1 });
  });
});

/** 1,523 nodes with 6,212 GPUs, as a snapshot of another cluster. */
function alibaba(clusterId: string, counter: bigint): ClusterResourceMap {
  const snapshot = fromJsonString(ClusterResourceMapSchema, readFileSync(SAMPLE, 'utf8'));
  snapshot.cluster = create(ClusterIdentitySchema, { clusterId, region: 'eu-west-1' });
  snapshot.logicalCounter = counter;
  return snapshot;
}
