/**
 * Measures the units of the cost model and writes them, and docs/cost.md. What DynamoDB counts comes
 * from DynamoDB Local; CPU times are those of this process, so let nothing else run.
 *
 *     npm run cost
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { storeOn } from '../../functions/storage/client.ts';
import { createTables } from '../../functions/storage/create-tables.ts';
import { costDocument } from '../../infra/cost/document.ts';
import type { Units } from '../../infra/cost/model.ts';
import { localClient, startDynamoDbLocal } from '../engines/dynamodb-local.ts';
import { measureUnits, SAMPLE } from '../infra/measure-units.ts';
import { encode, snapshotOf } from '../infra/snapshots.ts';

const WARM_UP = 200;
const RUNS = 400;
const CLUSTERS = 200;

const engine = await startDynamoDbLocal();
const client = localClient(engine.endpoint);
try {
  const units: Units = { ...(await measureUnits(await freshStore())), cpuMs: await measureCpu() };
  await writeFile(
    new URL('../../infra/cost/units.json', import.meta.url),
    `${JSON.stringify(units, undefined, 2)}\n`,
  );
  await writeFile(new URL('../../docs/cost.md', import.meta.url), costDocument(units, SAMPLE));
  console.log(units);
} finally {
  client.destroy();
  await engine.close();
}

async function freshStore() {
  const suffix = randomUUID();
  const tables = { heads: `heads-${suffix}`, contents: `bodies-${suffix}`, shards: 4 };
  await createTables(client, tables);
  return { ...storeOn(client, tables), client, tables, endpoint: engine.endpoint };
}

async function measureCpu(): Promise<Units['cpuMs']> {
  const store = await freshStore();
  const telemetry = jsonLinesTelemetry(() => undefined);
  const deps = { store, telemetry, now: Date.now, cacheBytes: 256 * 1024 * 1024 };
  const app = createApp(telemetry, { kind: 'open' });
  pushRoutes(app, deps);
  mapRoutes(app, deps);
  let counter = 0n;
  const push = async (clusterId: string, content: string): Promise<() => Promise<void>> => {
    counter += 1n;
    const snapshot = await snapshotOf(SAMPLE, { clusterId, counter });
    if (snapshot.cluster !== undefined) snapshot.cluster.displayName = content;
    const body = gzipSync(encode(snapshot));
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' };
    return async () => {
      const response = await app.request(`/v1/clusters/${clusterId}/snapshot`, {
        method: 'PUT',
        headers,
        body,
      });
      if (!response.ok) throw new Error(await response.text());
    };
  };
  const changed = await cpuOf((run) => push('c', String(run)));
  const refreshed = await cpuOf(() => push('c', 'same'));
  for (let i = 0; i < CLUSTERS; i++) await (await push(`cluster-${i}`, 'same'))();
  const clock: Record<string, string> = {};
  const current = await app.request('/v1/map/clock', { headers: { accept: 'application/json' } });
  Object.assign(clock, ((await current.json()) as { vectorClock: Record<string, string> }).vectorClock);
  const behind = Object.fromEntries(
    Object.entries(clock).map(([id, value]) => [id, String(BigInt(value) - 1n)]),
  );
  for (let i = 0; i < CLUSTERS; i++) await (await push(`cluster-${i}`, 'same'))();
  const sync = await cpuOf(async () => async () => {
    const response = await app.request('/v1/map/sync', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/x-protobuf',
        'accept-encoding': 'gzip',
      },
      body: JSON.stringify({ vectorClock: behind }),
    });
    if (!response.ok) throw new Error(await response.text());
    await response.arrayBuffer();
  });
  return { changed, refreshed, syncPerCluster: round(sync / CLUSTERS, 4) };
}

/** CPU milliseconds of one call, what is prepared for it left out; the mean after a warm-up. */
async function cpuOf(prepare: (run: number) => Promise<() => Promise<void>>): Promise<number> {
  let micros = 0;
  for (let run = 0; run < WARM_UP + RUNS; run++) {
    const call = await prepare(run);
    const before = process.cpuUsage();
    await call();
    const { user, system } = process.cpuUsage(before);
    if (run >= WARM_UP) micros += user + system;
  }
  return round(micros / RUNS / 1_000, 2);
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
