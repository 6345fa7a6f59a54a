/**
 * What a push costs a process, against what cannot be left out of it.
 *
 *     npm run bench:push
 *
 * One snapshot of 10,000 nodes and 20,000 jobs, gzip, in Protobuf as our own client sends it,
 * through the service's routes; DynamoDB is a model in memory, which takes microseconds. A push of
 * unchanged content is measured against inflating it and a SHA-256 of it, a push of changed content
 * against decoding it, each in the same round. Figures are medians of the process's own CPU time.
 */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { storeOn } from '../../functions/storage/client.ts';
import { CONTENTS_KEY, HEADS_KEY } from '../../functions/storage/tables.ts';
import { type Command, DynamoDbModel } from '../simulation/dynamodb-model.ts';
import { cpuMs, median } from './cpu.ts';
import { FULL_CLUSTER_MS, fullCluster } from './full-cluster.ts';
import { printTable } from './print-table.ts';
import { SHORT } from './short.ts';

const ROUNDS = SHORT ? 2 : 31;
/** Until the code is compiled; a decode is code that the compiler works on for long. */
const WARM_UP = SHORT ? 0 : 30;

const TABLES = { heads: 'heads', contents: 'contents', shards: 4 };
const model = new DynamoDbModel({
  heads: HEADS_KEY,
  contents: CONTENTS_KEY,
});
const client = { send: async (command: Command) => model.execute(command) } as unknown as DynamoDBClient;
const telemetry = jsonLinesTelemetry(() => undefined);
const app = createApp(telemetry, { kind: 'open' });
pushRoutes(app, { store: storeOn(client, TABLES), telemetry, now: () => FULL_CLUSTER_MS + 60_000 });

/** All but cluster, time and counter; the objects themselves would cost the collector time that no service spends. */
const rest = toBinary(ClusterResourceMapSchema, {
  ...fullCluster(10_000, 20_000),
  cluster: undefined,
  collectedAt: undefined,
  logicalCounter: 0n,
} as ClusterResourceMap);
let counter = 0n;
let name = '';

/** The next push as it comes in: gzip, in canonical form, always of the same length. */
function nextBody(changes: boolean): Buffer {
  counter++;
  if (changes) name = String(counter).padStart(8, '0');
  const begin = create(ClusterResourceMapSchema, {
    cluster: { clusterId: 'bench', displayName: name, provider: 'aws', region: 'eu-west-1' },
    collectedAt: timestampFromMs(FULL_CLUSTER_MS + Number(counter)),
  });
  const end = create(ClusterResourceMapSchema, { logicalCounter: counter });
  return gzipSync(
    Buffer.concat([toBinary(ClusterResourceMapSchema, begin), rest, toBinary(ClusterResourceMapSchema, end)]),
  );
}

async function push(body: Buffer, outcome: string): Promise<number> {
  const startedMs = cpuMs();
  const response = await app.request('/v1/clusters/bench/snapshot', {
    method: 'PUT',
    headers: {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
      accept: 'application/json',
    },
    body,
  });
  const text = await response.text();
  if (!text.includes(outcome)) throw new Error(`Not ${outcome}: ${response.status} ${text.slice(0, 500)}`);
  return cpuMs() - startedMs;
}

function timed(work: () => unknown): number {
  const startedMs = cpuMs();
  work();
  return cpuMs() - startedMs;
}

const samples = {
  unchanged: [] as number[],
  bytes: [] as number[],
  changed: [] as number[],
  decode: [] as number[],
};
// Made beforehand: what making them leaves behind would be collected during the pushes.
const rounds = Array.from({ length: WARM_UP + ROUNDS }, (_, i) => i - WARM_UP);
await push(nextBody(true), 'PUBLISHED');
const unchanged = rounds.map(() => nextBody(false));
const changed = rounds.map(() => nextBody(true));
for (const [i, round] of rounds.entries()) {
  const body = unchanged[i] ?? Buffer.alloc(0);
  const ofPush = await push(body, 'REFRESHED');
  const ofBytes = timed(() => createHash('sha256').update(gunzipSync(body)).digest());
  if (round < 0) continue;
  samples.unchanged.push(ofPush);
  samples.bytes.push(ofBytes);
}
for (const [i, round] of rounds.entries()) {
  const body = changed[i] ?? Buffer.alloc(0);
  const ofPush = await push(body, 'PUBLISHED');
  const raw = gunzipSync(body);
  const ofDecode = timed(() => fromBinary(ClusterResourceMapSchema, raw));
  if (round < 0) continue;
  samples.changed.push(ofPush);
  samples.decode.push(ofDecode);
}
const row = (what: string, of: readonly number[], against: string, alternative: readonly number[]) => ({
  push: what,
  'CPU ms': median(of).toFixed(1),
  'at least': Math.min(...of).toFixed(1),
  against,
  'its CPU ms': median(alternative).toFixed(1),
  'its least': Math.min(...alternative).toFixed(1),
  ratio: (median(of) / median(alternative)).toFixed(2),
  'of the least': (Math.min(...of) / Math.min(...alternative)).toFixed(2),
});
console.log(`${(rest.length / 1e6).toFixed(1)} MB`);
printTable([
  row('unchanged content', samples.unchanged, 'inflate and SHA-256', samples.bytes),
  row('changed content', samples.changed, 'decode', samples.decode),
]);
