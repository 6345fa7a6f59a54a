import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../functions/client/client.ts';
import { nanosOfMs, timestampOf } from '../../functions/core/timestamp.ts';
import { ClusterIdentitySchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type Engine, type LocalService, startService } from '../../functions/local/service.ts';
import type { Tables } from '../../functions/storage/tables.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';
import { engines } from '../engines/store.ts';
import { eventFaults } from '../lambdas/notify/event-schemas.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';
import { type Listener, listen } from './sse.ts';

/** No setting that a deployment may have, but one that a test can wait for. */
const SHORT = { omitAfterMs: 300, retireAfterMs: 3_600_000 };

/** The engine that the service brings along, and one that it is pointed at. */
const cases: readonly (readonly [string, Engine])[] = [
  ['its own engine', { kind: 'memory' }],
  ...engines
    .filter(({ name }) => name === 'DynamoDB Local')
    .map(({ name, endpoint }) => [name, { kind: 'endpoint', endpoint }] as const),
];
const freshTables = (): Tables => ({
  heads: `heads-${randomUUID()}`,
  contents: `bodies-${randomUUID()}`,
  shards: 2,
});

describe.each(cases)('The local service on %s', (_, engine) => {
  let service: LocalService;
  let client: Client;
  let listener: Listener;

  const start = async (options: Partial<Parameters<typeof startService>[0]> = {}): Promise<void> => {
    service = await startService({
      engine,
      tables: freshTables(),
      port: 0,
      host: '127.0.0.1',
      telemetry: new RecordedTelemetry(),
      ...options,
    });
    client = createClient({ baseUrl: service.url });
    listener = await listen(service.url);
  };
  const push = (clusterId: string, counter: bigint, displayName = 'same') =>
    client.push(
      snapshotOf({
        cluster: create(ClusterIdentitySchema, { clusterId, displayName }),
        collectedAt: timestampOf(nanosOfMs(Date.now())),
        logicalCounter: counter,
      }),
    );
  const reported = () =>
    listener.events.map((e) => `${e['detail-type']}: ${e.detail.clusterId} at ${e.detail.logicalCounter}`);

  afterEach(async () => {
    listener.stop();
    await service.close();
  });

  it('tells of pushes, omissions and returns as they happen, and of refreshes not', async () => {
    await start();
    const id = 'arn:aws:eks:eu-west-1:1:cluster/a';
    await push(id, 1n);
    await listener.waitFor(1);
    await push(id, 2n);
    await client.omit(id);
    await listener.waitFor(2);
    await push(id, 3n, 'other');
    await listener.waitFor(3);
    expect(reported()).toEqual([
      `Cluster Published: ${id} at 1`,
      `Cluster Omitted: ${id} at 2`,
      `Cluster Returned: ${id} at 3`,
    ]);
    expect(listener.events.map(({ sseId: _, ...event }) => event).flatMap(eventFaults)).toEqual([]);
  });

  it('tells of refreshes where it is asked to', async () => {
    await start({ announceRefreshes: true });
    await push('a', 1n);
    await listener.waitFor(1);
    await push('a', 2n);
    await listener.waitFor(2);
    expect(reported()).toEqual(['Cluster Published: a at 1', 'Cluster Refreshed: a at 2']);
  });

  it('omits a silent cluster by itself', async () => {
    await start({ membership: SHORT, sweepEveryMs: 100 });
    await push('a', 1n);
    // A stream may bring both changes at once, which then are one event.
    await listener.until(() => listener.events.at(-1)?.['detail-type'] === 'Cluster Omitted');
    expect(listener.events.flatMap((e) => e.detail.changes)).toEqual([
      'CLUSTER_CHANGE_KIND_PUBLISHED',
      'CLUSTER_CHANGE_KIND_OMITTED',
    ]);
    expect(listener.events.at(-1)?.detail.reason).toBe('silent');
    expect((await client.cluster('a')).omittedReason).toBe('silent');
  });

  it('ends at once though somebody listens', async () => {
    await start();
    await push('a', 1n);
    await listener.waitFor(1);
    const startedAt = Date.now();
    await service.close();
    await listener.ended;
    expect(Date.now() - startedAt).toBeLessThan(3_000);
    await start();
  });
});

describe.each(cases.slice(1))('Two local services on one %s', (_, engine) => {
  it('each tell of what came through the other, and of what came while they were down', async () => {
    const options = {
      engine,
      tables: freshTables(),
      port: 0,
      host: '127.0.0.1',
      telemetry: new RecordedTelemetry(),
    };
    const one = await startService(options);
    const two = await startService(options);
    const listener = await listen(two.url);
    await createClient({ baseUrl: one.url }).push(
      snapshotOf({ collectedAt: timestampOf(nanosOfMs(Date.now())), logicalCounter: 5n }),
    );
    await listener.waitFor(1);
    await two.close();

    const again = await startService(options);
    const late = await listen(again.url, listener.events[0]?.sseId);
    await late.waitFor(1);
    expect(late.events[0]?.detail).toMatchObject({ clusterId: 'c1', logicalCounter: '5' });
    late.stop();
    await Promise.all([one.close(), again.close()]);
  });
});
