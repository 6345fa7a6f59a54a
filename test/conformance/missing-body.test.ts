import { DeleteItemCommand, type GetItemCommandInput } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import type { LogFields, Telemetry } from '../../functions/runtime/telemetry.ts';
import { omitCluster } from '../../functions/storage/commit.ts';
import { contentKey } from '../../functions/storage/contents.ts';
import type { Head } from '../../functions/storage/head.ts';
import { NOW_MS } from '../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { commit, pushOf } from './pushes.ts';

const push = (clusterId: string, counter: bigint, content = `${clusterId}-${counter}`) =>
  pushOf({ clusterId, counter, content });

async function removeContent({ client, tables }: TestStore, head: Head): Promise<void> {
  for (let part = 0; part < head.body.parts; part++) {
    const key = { bodyId: { B: contentKey(head.body) }, part: { N: String(part) } };
    await client.send(new DeleteItemCommand({ TableName: tables.contents, Key: key }));
  }
}

/** The map's routes on a store, with what they log and count, and the ids of the heads that they read one by one. */
function serve(store: TestStore) {
  const logged: string[] = [];
  const counted: string[] = [];
  const headsRead: (string | undefined)[] = [];
  const telemetry: Telemetry = {
    warn: () => undefined,
    error: (message: string, fields: LogFields) => void logged.push(`${message}: ${fields.clusterId}`),
    count: (metric, value) => void counted.push(`${metric} ${value}`),
    gauge: () => undefined,
  };
  store.client.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName === 'GetItemCommand') {
        headsRead.push((args.input as GetItemCommandInput).Key?.clusterId?.S);
      }
      return next(args);
    },
    { step: 'initialize' },
  );
  const app = createApp(telemetry, { kind: 'open' });
  mapRoutes(app, { store, telemetry, now: () => NOW_MS, cacheBytes: 1_000_000 });
  const get = async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  return { get, logged, counted, headsRead };
}

interface MapJson {
  readonly clusterResourceMaps: readonly { readonly cluster: { readonly clusterId: string } }[];
  readonly vectorClock: Readonly<Record<string, string>>;
}

/** Ids of the snapshots, and the clock, which must agree. */
async function mapOf(get: ReturnType<typeof serve>['get']): Promise<MapJson['vectorClock']> {
  const map = (await get('/v1/map')).json as unknown as MapJson;
  expect(map.clusterResourceMaps.map((m) => m.cluster.clusterId)).toEqual(Object.keys(map.vectorClock));
  return map.vectorClock;
}

/** Does `work` once, after the next batch read of bodies has been answered and before its caller sees the response. */
function afterNextContentRead(store: TestStore, work: () => Promise<void>): void {
  let done = false;
  store.client.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next(args);
      if (context.commandName === 'BatchGetItemCommand' && !done) {
        done = true;
        await work();
      }
      return result;
    },
    { step: 'initialize' },
  );
}

describe.each(engines)('a body that is missing, on $name', (engine) => {
  it('has its head read again, once, and leaves its cluster out of map and clock, loudly', async () => {
    const store = await freshStore(engine);
    for (const id of ['a', 'b', 'c']) await commit(store, push(id, 1n));
    const { head } = await commit(store, push('b', 2n));
    await removeContent(store, head);
    const { get, logged, counted, headsRead } = serve(store);
    expect(await mapOf(get)).toEqual({ a: '1', c: '1' });
    expect(headsRead).toEqual(['b']);
    expect(logged).toEqual(['cluster left out of the map: b']);
    expect(counted).toEqual(['BodiesMissing 1']);
  });

  it('is told to whoever asks for that snapshot, and the status stands', async () => {
    const store = await freshStore(engine);
    await removeContent(store, (await commit(store, push('b', 1n))).head);
    const { get } = serve(store);
    const { status, json } = await get('/v1/clusters/b/snapshot');
    expect([status, json.code]).toEqual([503, 'snapshot_unavailable']);
    expect(json.detail).toBe(
      'The snapshot of cluster "b" cannot be read at the moment. A push of other content fixes that, ' +
        'and so does DELETE of the cluster before its next push.',
    );
    expect((await get('/v1/clusters/b')).json).toMatchObject({ highWaterMark: '1' });
  });

  it('of a head that moved on meanwhile gives the newer snapshot', async () => {
    const store = await freshStore(engine);
    for (const id of ['a', 'b']) await commit(store, push(id, 1n));
    const { head } = await commit(store, push('b', 2n));
    await removeContent(store, head);
    const { get, logged } = serve(store);
    afterNextContentRead(store, async () => void (await commit(store, push('b', 3n))));
    expect(await mapOf(get)).toEqual({ a: '1', b: '3' });
    expect(logged).toEqual([]);
  });

  it('of a cluster that was omitted meanwhile is nothing to tell of', async () => {
    const store = await freshStore(engine);
    for (const id of ['a', 'b']) await commit(store, push(id, 1n));
    const { head } = await commit(store, push('b', 2n));
    await removeContent(store, head);
    const { get, logged } = serve(store);
    afterNextContentRead(store, async () => void (await omitCluster(store.heads, 'b', 'gone', NOW_MS)));
    expect(await mapOf(get)).toEqual({ a: '1' });
    expect(logged).toEqual([]);
  });

  it.each([
    ['the next push of other content', async (store: TestStore) => void (await commit(store, push('b', 3n)))],
    [
      'DELETE and the same push again',
      async (store: TestStore) => {
        await omitCluster(store.heads, 'b', 'lost', NOW_MS);
        await commit(store, push('b', 2n));
      },
    ],
  ])('is fixed by %s', async (_, fix) => {
    const store = await freshStore(engine);
    await removeContent(store, (await commit(store, push('b', 2n))).head);
    const { get } = serve(store);
    expect(await mapOf(get)).toEqual({});
    await fix(store);
    expect(Object.keys(await mapOf(get))).toEqual(['b']);
  });
});
