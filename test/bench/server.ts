/**
 * One server of the bench, in a process of its own so that its CPU time is its own.
 * Its arguments are the kind, the number of clusters, and for `dynamodb` the endpoint. It prints
 * its port once it answers.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { constants, gzipSync, inflateRawSync } from 'node:zlib';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { serve } from '@hono/node-server';
import { timestampOf } from '../../functions/core/timestamp.ts';
import {
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import type { App } from '../../functions/http/app-env.ts';
import { type BufferedBody, sendEncoded } from '../../functions/http/send-pieces.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import type { Store } from '../../functions/storage/commit.ts';
import { type BenchCluster, benchFleet } from './fleet.ts';
import { BENCH_TABLES } from './tables.ts';

// The lock file pins the SDK, so what its future versions will ask of Node says nothing here.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/**
 * `unchanged`: our routes, heads and bodies answered from memory. `refreshed`: the same, and one
 * cluster is refreshed before every read of the heads, so that no answer is like the last.
 * `dynamodb`: our routes over a real engine. `decode-merge-encode`: what a service without
 * splicing does with the same bodies. `same-bytes`: our finished answers from memory, by the same
 * HTTP server in the way that is cheapest for it.
 */
const [kind = '', clusters = '', endpoint] = process.argv.slice(2);
const telemetry = {
  warn: () => undefined,
  error: console.error,
  count: () => undefined,
  gauge: () => undefined,
};

const PROTOBUF = 'application/x-protobuf';

async function appOf() {
  const app = createApp(telemetry, { kind: 'open' });
  const mapDeps = { telemetry, now: Date.now, cacheBytes: 2_000_000_000 };
  if (kind === 'dynamodb') {
    mapRoutes(app, { ...mapDeps, store: storeOn(dynamoClient(endpoint), BENCH_TABLES) });
    return app;
  }
  const fleet = await benchFleet(Number(clusters));
  if (kind === 'unchanged' || kind === 'refreshed') {
    mapRoutes(app, { ...mapDeps, store: storeInMemory(fleet, kind === 'refreshed') });
    return app;
  }
  if (kind === 'decode-merge-encode') {
    app.get('/v1/map', (c) => {
      const zipped = c.req.header('accept-encoding') === 'gzip';
      const map = decodeMergeEncode(fleet);
      return c.body(zipped ? new Uint8Array(gzipSync(map)) : map, 200, headersOf(zipped));
    });
    return app;
  }
  const ours = createApp(telemetry, { kind: 'open' });
  mapRoutes(ours, { ...mapDeps, store: storeInMemory(fleet, false) });
  const finished = { gzip: await wholeOf(ours, 'gzip'), plain: await wholeOf(ours, 'identity') };
  app.get('/v1/map', (c) => {
    const zipped = c.req.header('accept-encoding') === 'gzip';
    return sendEncoded(c, zipped ? finished.gzip : finished.plain, {
      zipped,
      headers: { 'content-type': PROTOBUF },
      maxBytes: undefined,
      remedy: '',
    });
  });
  return app;
}

/** Our answer, read to its end. */
async function wholeOf(app: App, encoding: string): Promise<BufferedBody> {
  const response = await app.request('/v1/map', {
    headers: { accept: PROTOBUF, 'accept-encoding': encoding },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { kind: 'finished', length: bytes.length, chunks: [bytes] };
}

function headersOf(zipped: boolean): Record<string, string> {
  return { 'content-type': PROTOBUF, ...(zipped ? { 'content-encoding': 'gzip' } : {}) };
}

function decodeMergeEncode(fleet: readonly BenchCluster[]): Uint8Array<ArrayBuffer> {
  const clusterResourceMaps = fleet.map(({ head, body }) => {
    const raw = inflateRawSync(body.deflated, { finishFlush: constants.Z_SYNC_FLUSH });
    const snapshot = fromBinary(ClusterResourceMapSchema, raw);
    snapshot.collectedAt = timestampOf(head.collectedAtNanos);
    snapshot.logicalCounter = head.highWater;
    return snapshot;
  });
  const vectorClock = Object.fromEntries(fleet.map(({ head }) => [head.clusterId, head.highWater]));
  const map = create(GlobalResourceMapSchema, { clusterResourceMaps, vectorClock });
  return toBinary(GlobalResourceMapSchema, map);
}

/** What of a store the map reads. */
function storeInMemory(fleet: readonly BenchCluster[], refreshing: boolean): Store {
  const heads = fleet.map(({ head }) => head);
  const contents = new Map(fleet.map(({ body }) => [body.contentId, body.deflated]));
  let reads = 0;
  const readAll = async () => {
    const index = reads++ % heads.length;
    const head = heads[index];
    if (refreshing && head !== undefined) heads[index] = { ...head, highWater: head.highWater + 1n };
    return { heads: [...heads], unreadable: [] };
  };
  return { heads: { readAll }, contents: { read: async () => contents } } as unknown as Store;
}

const server = serve({
  fetch: (await appOf()).fetch,
  port: 0,
  hostname: '127.0.0.1',
  overrideGlobalObjects: false,
});
if (!server.listening) await once(server, 'listening');
process.on('SIGINT', () => process.exit(0));
console.log((server.address() as AddressInfo).port);
