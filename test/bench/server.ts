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
import {
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/map/routes.ts';
import { timestampOf } from '../../functions/snapshot/timestamp.ts';
import { dynamoClient, storeOn } from '../../functions/store/client.ts';
import type { Store } from '../../functions/store/commit.ts';
import { type BenchCluster, benchFleet } from './fleet.ts';
import { BENCH_TABLES } from './tables.ts';

/**
 * `spliced`: our routes, heads and bodies answered from memory. `dynamodb`: our routes over a real
 * engine. `decode-merge-encode`: what a service without splicing does with the same bodies.
 * `same-bytes`: the finished answers from memory, by the same HTTP server.
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
  if (kind === 'spliced') {
    mapRoutes(app, { ...mapDeps, store: storeInMemory(fleet) });
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
  const plain = decodeMergeEncode(fleet);
  const gzipped = new Uint8Array(gzipSync(plain));
  app.get('/v1/map', (c) => {
    const zipped = c.req.header('accept-encoding') === 'gzip';
    return c.body(zipped ? gzipped : plain, 200, headersOf(zipped));
  });
  return app;
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
function storeInMemory(fleet: readonly BenchCluster[]): Store {
  const heads = fleet.map(({ head }) => head);
  const bodies = new Map(fleet.map(({ body }) => [body.bodyId, body.deflated]));
  return {
    heads: { readAll: async () => ({ heads, unreadable: [] }) },
    bodies: { read: async () => bodies },
  } as unknown as Store;
}

const server = serve({
  fetch: (await appOf()).fetch,
  port: 0,
  hostname: '127.0.0.1',
  overrideGlobalObjects: false,
});
if (!server.listening) await once(server, 'listening');
console.log((server.address() as AddressInfo).port);
