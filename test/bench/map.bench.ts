/**
 * What it costs to serve the map, against four alternatives in the same run.
 *
 *     npm run bench:map
 *
 * 200 clusters of real size, warm, Protobuf, with gzip and plain. Every server has a process of
 * its own, whose CPU time is counted; four requests are under way at any time. Ratios are to the
 * finished bytes served from memory by the same HTTP server, which is as fast as that server gets.
 */
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { create, toBinary } from '@bufbuild/protobuf';
import Table from 'cli-table3';
import { SyncRequestSchema } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { storeOn } from '../../functions/storage/client.ts';
import { createTables } from '../../functions/storage/create-tables.ts';
import { headToItem } from '../../functions/storage/head-item.ts';
import { headPartition, shardOf } from '../../functions/storage/tables.ts';
import { localClient, startDynamoDbLocal } from '../engines/dynamodb-local.ts';
import { javaIsMissing } from '../engines/java.ts';
import { type BenchCluster, benchFleet } from './fleet.ts';
import { httpAsker, type Measured, measure } from './load.ts';
import { isInstalled, type Peer, startEtcd, startRedis } from './peers.ts';
import { type ServerProcess, startServer } from './processes.ts';
import { SHORT } from './short.ts';
import { BENCH_TABLES } from './tables.ts';

// The lock file pins the SDK, so what its future versions will ask of Node says nothing here.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const CLUSTERS = 200;
const GROWTH = [10, 100, 1_000, 5_000];
const DURATION_MS = Number(process.env.BENCH_MS ?? (SHORT ? 200 : 4_000));

const PROTOBUF = { accept: 'application/x-protobuf' };
const ENCODINGS = { gzip: { ...PROTOBUF, 'accept-encoding': 'gzip' }, plain: PROTOBUF } as const;
type Encoding = keyof typeof ENCODINGS;

interface Row extends Measured {
  readonly name: string;
}

async function measureServer(name: string, encoding: Encoding, ...args: string[]): Promise<Row> {
  const server = await startServer(...args);
  try {
    const ask = httpAsker(`${server.url}/v1/map`, { headers: ENCODINGS[encoding] });
    return { name, ...(await measure(ask, server.pid, DURATION_MS)) };
  } finally {
    await server.close();
  }
}

async function measurePeer(name: string, peer: Peer): Promise<Row> {
  try {
    return { name, ...(await measure(peer.ask, peer.pid, DURATION_MS)) };
  } finally {
    await peer.close();
  }
}

async function compare(
  encoding: Encoding,
  fleet: readonly BenchCluster[],
  dynamoDb: string | undefined,
): Promise<void> {
  const n = String(CLUSTERS);
  const values = fleet.map(({ body, raw }) => (encoding === 'gzip' ? body.deflated : raw));
  const base = await measureServer('(b) the same bytes from memory', encoding, 'same-bytes', n);
  const rows = [
    await measureServer('ours, nothing changed', encoding, 'unchanged', n),
    await measureServer('ours, one refreshed each time', encoding, 'refreshed', n),
    base,
    await measureServer('(a) decode, merge, encode', encoding, 'decode-merge-encode', n),
  ];
  if (isInstalled('etcd')) rows.push(await measurePeer('(c) etcd, range', await startEtcd(values)));
  else console.log('etcd: skipped, it is not installed (Debian: etcd-server)');
  if (isInstalled('redis-server')) rows.push(await measurePeer('(d) redis, MGET', await startRedis(values)));
  else console.log('redis: skipped, it is not installed (Debian: redis-server)');
  if (dynamoDb !== undefined) {
    rows.push(await measureServer('ours, over DynamoDB Local', encoding, 'dynamodb', n, dynamoDb));
  }

  console.log(`\nGET /v1/map, ${CLUSTERS} clusters, Protobuf, ${encoding}`);
  const table = new Table({
    style: PLAIN,
    head: ['', 'KB', 'req/s', 'to (b)', 'p50 ms', 'p99 ms', 'CPU ms/req', 'to (b)', 'MB'],
  });
  for (const row of rows) {
    table.push([
      row.name,
      (row.bytes / 1_000).toFixed(0),
      row.perSecond.toFixed(0),
      (row.perSecond / base.perSecond).toFixed(2),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      row.cpuMs.toFixed(2),
      (row.cpuMs / base.cpuMs).toFixed(2),
      row.rssMb.toFixed(0),
    ]);
  }
  console.log(table.toString());
}

/** Benchmarks are read in files, where escape sequences hide the figures. */
const PLAIN = { head: [], border: [] };

/** A read of all heads alone, which is the part of DynamoDB Local in its row. */
async function headsAlone(endpoint: string): Promise<void> {
  const { heads } = storeOn(localClient(endpoint), BENCH_TABLES);
  const times: number[] = [];
  for (let round = 0; round < 50; round++) {
    const startedMs = performance.now();
    await heads.readAll();
    times.push(performance.now() - startedMs);
  }
  times.sort((a, b) => a - b);
  console.log(
    `\nReading the heads of ${CLUSTERS} clusters from DynamoDB Local alone: ${times[25]?.toFixed(1)} ms in the median.`,
  );
}

/** At other sizes: the map with one cluster refreshed each time, a conditional GET and a sync that find nothing. */
async function growth(): Promise<void> {
  const table = new Table({
    style: PLAIN,
    head: [
      'clusters',
      'map KB',
      'map p50 ms',
      'map CPU ms',
      '304 p50 ms',
      '304 CPU ms',
      'sync p50 ms',
      'sync CPU ms',
      'MB',
    ],
  });
  for (const clusters of GROWTH) {
    const map = await withServer('refreshed', clusters, ({ url, pid }) =>
      measure(httpAsker(`${url}/v1/map`, { headers: ENCODINGS.gzip }), pid, DURATION_MS / 2),
    );
    const [idle, sync] = await withServer('unchanged', clusters, async ({ url, pid }) => {
      const { headers } = await fetch(`${url}/v1/map`, { method: 'HEAD', headers: ENCODINGS.gzip });
      const conditional = { ...ENCODINGS.gzip, 'if-none-match': headers.get('etag') ?? '' };
      const asked = httpAsker(`${url}/v1/map`, { headers: conditional, status: 304 });
      return [
        await measure(asked, pid, DURATION_MS / 2),
        await measure(syncAsker(url, clusters), pid, DURATION_MS / 2),
      ] as const;
    });
    table.push([
      clusters,
      (map.bytes / 1_000).toFixed(0),
      ...[map, idle, sync].flatMap(({ p50Ms, cpuMs }) => [p50Ms.toFixed(2), cpuMs.toFixed(2)]),
      map.rssMb.toFixed(0),
    ]);
  }
  console.log('\nGrowth: gzip, heads from memory, four requests under way');
  console.log(table.toString());
}

async function withServer<T>(
  kind: string,
  clusters: number,
  use: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const server = await startServer(kind, String(clusters));
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Syncs with the clock of a fleet of which nothing changed. */
function syncAsker(url: string, clusters: number): (lane: number) => Promise<number> {
  const vectorClock = Object.fromEntries(
    Array.from({ length: clusters }, (_, index) => [
      `prod-eu-west-1-cluster-${String(index).padStart(4, '0')}`,
      1_000_000n + BigInt(index),
    ]),
  );
  return httpAsker(`${url}/v1/map/sync`, {
    method: 'POST',
    headers: { ...PROTOBUF, 'content-type': 'application/x-protobuf' },
    body: toBinary(SyncRequestSchema, create(SyncRequestSchema, { vectorClock })),
  });
}

async function fill(endpoint: string, fleet: readonly BenchCluster[]): Promise<void> {
  const client = localClient(endpoint);
  await createTables(client, BENCH_TABLES);
  const { contents } = storeOn(client, BENCH_TABLES);
  for (const { body } of fleet) await contents.write(body, Date.now());
  for (let at = 0; at < fleet.length; at += 25) {
    const puts = fleet.slice(at, at + 25).map(({ head }) => ({
      PutRequest: { Item: headToItem(head, headPartition(shardOf(head.clusterId, BENCH_TABLES.shards))) },
    }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [BENCH_TABLES.heads]: puts } }));
  }
  client.destroy();
}

const fleet = await benchFleet(CLUSTERS);
const missing = javaIsMissing();
const dynamoDb = missing === undefined ? await startDynamoDbLocal() : undefined;
if (missing !== undefined) console.log(`DynamoDB Local: skipped (${missing})`);
try {
  if (dynamoDb !== undefined) await fill(dynamoDb.endpoint, fleet);
  await compare('gzip', fleet, dynamoDb?.endpoint);
  await compare('plain', fleet, dynamoDb?.endpoint);
  if (dynamoDb !== undefined) await headsAlone(dynamoDb.endpoint);
} finally {
  await dynamoDb?.close();
}
await growth();
