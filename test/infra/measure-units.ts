/** What pushes and polls of a real cluster use, as DynamoDB Local counts it and as it goes over the wire. */
import { gzipSync } from 'node:zlib';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { headToItem, itemBytes } from '../../functions/storage/head-item.ts';
import { headPartition } from '../../functions/storage/tables.ts';
import type { Units } from '../../infra/cost/model.ts';
import { countCapacity } from '../conformance/consumed-capacity.ts';
import { headOf } from '../conformance/pushes.ts';
import type { TestStore } from '../engines/store.ts';
import { encode, snapshotOf } from './snapshots.ts';

const ID = 'prod-eu-west-1-cluster-0001';
const NOW_MS = 1_773_471_683_000;

/** The largest of the samples that the service ships. */
export const SAMPLE = 'openb-instant-t2';

/** All but the CPU times, which no two runs agree on. */
export async function measureUnits(store: TestStore): Promise<Omit<Units, 'cpuMs'>> {
  const { heads, contents } = store.tables;
  const consumed = countCapacity(store.client, { [heads]: 'heads', [contents]: 'bodies' });
  const telemetry = jsonLinesTelemetry(() => undefined);
  let nowMs = NOW_MS;
  const deps = { store, telemetry, now: () => nowMs, cacheBytes: 0 };
  const app = createApp(telemetry, { kind: 'open' });
  pushRoutes(app, deps);
  mapRoutes(app, deps);

  const push = async (counter: bigint, content: string): Promise<{ read: number; write: number }> => {
    nowMs += 10_000;
    const snapshot = await snapshotOf(SAMPLE, { clusterId: ID, counter, atMs: nowMs });
    if (snapshot.cluster !== undefined) snapshot.cluster.displayName = content;
    consumed();
    const response = await app.request(`/v1/clusters/${ID}/snapshot`, {
      method: 'PUT',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
      body: gzipSync(encode(snapshot)),
    });
    if (!response.ok) throw new Error(await response.text());
    const { units } = consumed();
    const sum = (commands: RegExp): number =>
      Object.entries(units).reduce((total, [name, each]) => total + (commands.test(name) ? each : 0), 0);
    return { read: sum(/^(Get|BatchGet|Query)/), write: sum(/^(Put|Update|Delete)/) };
  };
  const sync = async (counter: bigint): Promise<number> => {
    const response = await app.request('/v1/map/sync', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/x-protobuf' },
      body: JSON.stringify({ vectorClock: { [ID]: String(counter) } }),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.arrayBuffer()).byteLength;
  };

  await push(1n, 'a');
  const changed = await push(2n, 'b');
  const changedSyncBytes = await sync(1n);
  const refreshed = await push(3n, 'b');
  const head = await headOf(store, ID);
  return {
    pushBytes: gzipSync(encode(await snapshotOf(SAMPLE, { clusterId: ID, counter: 1n, atMs: NOW_MS })))
      .length,
    rawBytes: head.body.rawBytes,
    storedBytes: head.body.storedBytes,
    headBytes: itemBytes(headToItem(head, headPartition(0))),
    changed,
    refreshed,
    changedSyncBytes,
    refreshedSyncBytes: await sync(2n),
  };
}
