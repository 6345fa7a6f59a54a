/**
 * What e34a89b wrote, and so what a deployment or a data folder of that time holds, is read by the code of today:
 * `test/data/written-by-e34a89b/write.mjs` says how it was written.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttributeValue, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenDigest } from '../../functions/auth/static-token.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { readPrior } from '../../functions/storage/commit.ts';
import { createTable } from '../../functions/storage/create-tables.ts';
import { PoolStore, poolsTableDefinition } from '../../functions/storage/pools.ts';
import { RegistrationStore, registrationsTableDefinition } from '../../functions/storage/registrations.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';

const FIXTURES = new URL('../data/written-by-e34a89b/', import.meta.url);
const SHARDS = 8;
const LONGEST_ID = 'ärn:aws:eks/ü';
const INCLUDED = ['published', 'refreshed', 'returned', LONGEST_ID];

interface Fixture {
  readonly tokens: { readonly admin: string; readonly published: string };
  readonly tables: Readonly<
    Record<'ClusterHeads' | 'SnapshotBodies' | 'Trust' | 'Pools', readonly Record<string, AttributeValue>[]>
  >;
}
const fixture = JSON.parse(readFileSync(new URL('items.json', FIXTURES), 'utf8'), (_key, value) =>
  typeof value?.base64 === 'string' ? Buffer.from(value.base64, 'base64') : value,
) as Fixture;

/** What the tests look at of the responses. */
interface Body {
  readonly vectorClock?: unknown;
  readonly clusterResourceMaps?: readonly {
    readonly collectedAt: string;
    readonly capacityPools: readonly unknown[];
  }[];
  readonly clusters?: readonly { readonly cluster: { readonly clusterId: string } }[];
  readonly tokens?: readonly unknown[];
  readonly registrations?: readonly unknown[];
  readonly pools?: readonly unknown[];
}

describe('The data folder', () => {
  let folder: string;
  let service: LocalService;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'written-before-'));
    cpSync(new URL('folder', FIXTURES), folder, { recursive: true });
    service = await startService({
      engine: { kind: 'folder', folder },
      port: 0,
      host: '127.0.0.1',
      telemetry: jsonLinesTelemetry(() => undefined),
      // The clusters have been silent since they were written.
      sweepEveryMs: 3_600_000,
      access: { kind: 'tokens', adminTokenSha256: tokenDigest(fixture.tokens.admin) },
    });
  });
  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  async function call(request: string, body?: unknown, token = fixture.tokens.admin) {
    const [method = '', path = ''] = request.split(' ');
    const response = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Body };
  }

  it('has its map, every snapshot whole', async () => {
    const { body } = await call('GET /v1/map');
    expect(body.vectorClock).toEqual({
      published: '1',
      refreshed: '6',
      returned: '4',
      [LONGEST_ID]: '18446744073709551614',
    });
    for (const map of body.clusterResourceMaps ?? []) {
      expect(map.collectedAt).toBe('2026-11-30T12:00:00.123456789Z');
      expect(map.capacityPools.length).toBeGreaterThan(0);
    }
    expect(body.clusterResourceMaps).toHaveLength(INCLUDED.length);
  });

  it('has its status of every cluster that was not retired', async () => {
    const { body } = await call('GET /v1/clusters');
    expect(body.clusters?.map(({ cluster }) => cluster.clusterId).sort()).toEqual(
      [...INCLUDED, 'omitted'].sort(),
    );
    expect((await call('GET /v1/clusters/omitted')).body).toMatchObject({
      cluster: { clusterId: 'omitted' },
      highWaterMark: '7',
      omittedReason: expect.any(String),
    });
    expect((await call('GET /v1/clusters/retired')).status).toBe(404);
  });

  it('has its tokens, registrations and pools', async () => {
    expect((await call('GET /v1/tokens')).body.tokens).toHaveLength(8);
    expect((await call('GET /v1/registrations')).body.registrations).toMatchObject([
      { role: 'ROLE_AGENT', issuer: 'https://issuer.example', clusterId: 'published' },
    ]);
    expect((await call('GET /v1/pools')).body.pools).toMatchObject([
      { pool: { poolName: 'serving', tiers: [{ tierName: 'own' }, { tierName: 'bought' }] } },
    ]);
  });

  it('takes the next push of an agent with its token of that time, and none below its mark', async () => {
    const path = '/v1/clusters/published/snapshot';
    const { status, body } = await call(`GET ${path}`, undefined, fixture.tokens.published);
    expect(status).toBe(200);
    const next = await call(`PUT ${path}`, { ...body, logicalCounter: '2' }, fixture.tokens.published);
    expect(next).toMatchObject({ status: 200, body: { outcome: 'PUSH_OUTCOME_REFRESHED' } });
    const below = await call(`PUT ${path}`, body, fixture.tokens.published);
    expect(below).toMatchObject({ status: 409, body: { code: 'counter_regressed' } });
  });
});

describe.each(engines)('The items, on $name', (engine) => {
  let store: TestStore;
  beforeAll(async () => {
    store = await freshStore(engine, SHARDS);
    const { heads, contents } = store.tables;
    await createTable(store.client, registrationsTableDefinition(`Trust-${heads}`));
    await createTable(store.client, poolsTableDefinition(`Pools-${heads}`));
    for (const [table, items] of [
      [heads, fixture.tables.ClusterHeads],
      [contents, fixture.tables.SnapshotBodies],
      [`Trust-${heads}`, fixture.tables.Trust],
      [`Pools-${heads}`, fixture.tables.Pools],
    ] as const) {
      for (const Item of items) await store.client.send(new PutItemCommand({ TableName: table, Item }));
    }
  });

  it('are heads with their contents', async () => {
    for (const id of [...INCLUDED, 'omitted']) {
      const head = await store.heads.read(id);
      if (head === undefined) throw new Error(`No head of ${id}.`);
      expect([id, head.omission !== undefined]).toEqual([id, id === 'omitted']);
      expect((await store.contents.read([head.body])).size).toBe(1);
    }
  });

  it('are the tombstone of what was retired, which refuses what it had accepted', async () => {
    expect(await readPrior(store.heads, 'retired')).toMatchObject({
      kind: 'retired',
      mark: { clusterId: 'retired', highWater: 9n },
    });
  });

  it('are registrations, tokens and pools', async () => {
    const registrations = new RegistrationStore(store.client, `Trust-${store.tables.heads}`);
    expect(
      await registrations.registration(
        'https://issuer.example',
        'resource-map',
        'system:serviceaccount:agents:published',
      ),
    ).toMatchObject({ rights: { role: 'agent', clusterId: 'published' } });
    expect(await registrations.token(tokenDigest(fixture.tokens.published))).toMatchObject({
      rights: { role: 'agent', clusterId: 'published' },
    });
    const pools = new PoolStore(store.client, `Pools-${store.tables.heads}`);
    expect(await pools.list()).toMatchObject([{ pool: { poolName: 'serving' } }]);
  });
});
