/** An agent that is refused, as the one who looks for it sees it. */
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../../functions/client/errors.ts';
import { DEFAULT_MEMBERSHIP } from '../../../functions/core/membership.ts';
import type { ClusterResourceMap } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ClusterState } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { createApp } from '../../../functions/http/app.ts';
import { sweep } from '../../../functions/lambdas/expire/sweep.ts';
import { mapRoutes } from '../../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';
import { HEAD_ATTRIBUTES } from '../../../functions/storage/head-item.ts';
import { retireHead } from '../../../functions/storage/retire.ts';
import { FLOOR_KEY } from '../../../functions/storage/tables.ts';
import { refusalLines } from '../../../functions/terminal/cluster-table.ts';
import { countCapacity } from '../../conformance/consumed-capacity.ts';
import { snapshotOf } from '../../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from '../map/service.ts';

const T0 = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const silent = jsonLinesTelemetry(() => undefined);

describe.each(engines)('An agent on $name that is refused', (engine) => {
  let store: TestStore;
  let service: TestService;
  let nowMs: number;

  beforeEach(async () => {
    store = await freshStore(engine);
    nowMs = T0;
    service = await serveStore(store, { now: () => nowMs }, (_app, deps) => {
      Object.assign(deps, { now: () => nowMs });
    });
  });
  afterEach(async () => {
    await service.close();
    store.client.destroy();
  });

  const snapshot = (counter: bigint, skewMs = 0): ClusterResourceMap =>
    snapshotOf({
      cluster: { clusterId: 'c1' },
      collectedAt: timestampFromMs(nowMs + skewMs),
      logicalCounter: counter,
    });
  /** The code of the problem, or nothing if the push was accepted. */
  const push = async (counter: bigint, skewMs = 0): Promise<string | undefined> => {
    try {
      await service.client.push(snapshot(counter, skewMs));
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return error.code;
      throw error;
    }
  };

  it('for a clock that is ahead shows in the status, and is omitted as refused', async () => {
    await push(1n);
    for (let n = 2n; n <= 30n; n++) {
      nowMs += 5_000;
      expect(await push(n, 6 * MINUTE_MS)).toBe('invalid_snapshot');
    }
    const { lastRefusal } = await service.client.cluster('c1');
    // Recorded at its first refusal, and then once a minute.
    expect(lastRefusal).toMatchObject({
      at: timestampFromMs(T0 + 5_000 + 2 * MINUTE_MS),
      code: 'collected_in_future',
      count: 25,
    });
    expect(lastRefusal?.message).toMatch(/^collected_at is .* ahead of/);
    expect(Buffer.byteLength(lastRefusal?.message ?? '')).toBeLessThanOrEqual(200);
    const [listed] = await service.client.clusters();
    expect(listed?.lastRefusal).toEqual(lastRefusal);

    nowMs = T0 + DEFAULT_MEMBERSHIP.omitAfterMs + 1;
    await push(31n, 6 * MINUTE_MS);
    const { shards } = store.tables;
    await sweep({ heads: store.heads, shards, telemetry: silent }, DEFAULT_MEMBERSHIP, nowMs);
    expect(await service.client.cluster('c1')).toMatchObject({
      state: ClusterState.OMITTED,
      omittedReason: 'refused',
      lastRefusal: { code: 'collected_in_future', count: 30 },
    });
  });

  it('is no longer shown as refused once a push was accepted', async () => {
    await push(1n);
    nowMs += 1;
    expect(await push(1n, 1)).toBe('counter_reused');
    expect((await service.client.cluster('c1')).lastRefusal).toMatchObject({
      code: 'counter_reused',
      count: 1,
    });
    nowMs += 1;
    expect(await push(2n)).toBeUndefined();
    expect((await service.client.cluster('c1')).lastRefusal).toBeUndefined();
  });

  it('is shown with the high-water mark that its retired cluster left', async () => {
    await push(7n);
    await service.client.omit('c1');
    const head = await store.heads.read('c1');
    if (head === undefined) throw new Error('There is no head.');
    await retireHead(store.heads, head);
    expect(await push(3n)).toBe('counter_regressed');
    const status = await service.client.cluster('c1');
    expect(status).toMatchObject({ highWaterMark: 7n, lastRefusal: { code: 'counter_regressed' } });
    expect(await service.client.clusters()).toEqual([status]);
  });

  it('is shown with the floor of a restored table, below which nothing is accepted', async () => {
    const floor = { shard: { S: FLOOR_KEY.shard }, clusterId: { S: FLOOR_KEY.clusterId } };
    await store.client.send(
      new PutItemCommand({
        TableName: store.tables.heads,
        Item: { ...floor, [HEAD_ATTRIBUTES.highWater]: { N: '9' } },
      }),
    );
    expect(await push(3n)).toBe('counter_regressed');
    expect(await service.client.cluster('c1')).toMatchObject({
      highWaterMark: 9n,
      lastRefusal: { code: 'counter_regressed' },
    });
  });

  it('shows though no push of it was ever accepted', async () => {
    expect(await push(0n)).toBe('invalid_snapshot');
    const status = await service.client.cluster('c1');
    expect(status).toMatchObject({
      cluster: { clusterId: 'c1' },
      state: ClusterState.UNSPECIFIED,
      lastRefusal: { at: timestampFromMs(T0), code: 'missing_counter', count: 1 },
    });
    expect(await service.client.clusters()).toEqual([status]);
    expect(refusalLines(status)).toEqual([
      `The push at 2027-01-15T08:00:00Z was refused: [missing_counter] ${status.lastRefusal?.message}`,
    ]);
    expect(await service.client.map()).toMatchObject({ map: { clusterResourceMaps: [] } });
  });

  it('shows by the problem’s code if its body cannot be read', async () => {
    const response = await fetch(`${service.url}/v1/clusters/c1/snapshot`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    expect(response.status).toBe(400);
    expect((await service.client.cluster('c1')).lastRefusal?.code).toBe('malformed_json');
  });

  it('counts 1 if a push of another process was accepted between the first refusal and the last', async () => {
    await push(1n);
    const put = { clusterId: 'c1', code: 'c', message: 'm', count: 13 };
    await store.heads.refusals.put({ ...put, sinceMs: T0 - 1, atMs: T0 + 1 });
    expect((await service.client.cluster('c1')).lastRefusal?.count).toBe(1);
  });

  it.each(['silent', 'refused'])('cannot be omitted by anybody as %s', async (reason) => {
    await push(1n);
    await expect(service.client.omit('c1', { reason })).rejects.toMatchObject({
      code: 'invalid_query',
      message: `[invalid_query] The reason "${reason}" is reserved: the service itself gives it to a cluster whose agent it has not heard. Give another one.`,
    });
  });

  it('costs one write unit a minute beside its reads, and an accepted push none', async () => {
    const consumed = countCapacity(store.client, {
      [store.tables.heads]: 'heads',
      [store.tables.contents]: 'bodies',
    });
    await push(1n);
    nowMs += 10_000;
    consumed();
    await push(1n, -1);
    expect(consumed().units).toEqual({ 'GetItem heads': 1, 'PutItem heads': 1 });
    nowMs += 10_000;
    expect(await push(2n, 6 * MINUTE_MS)).toBe('invalid_snapshot');
    expect(consumed().units).toEqual({ 'GetItem heads': 1 });
    nowMs += 10_000;
    expect(await push(2n)).toBeUndefined();
    expect(consumed().units).toEqual({ 'GetItem heads': 1, 'PutItem heads': 1 });
  });
});

describe('The log of a service', () => {
  it('has one line for each refusal, with the request id of the response', async () => {
    const [engine] = engines;
    if (engine === undefined) throw new Error('No engine runs.');
    const store = await freshStore(engine);
    const lines: string[] = [];
    const telemetry = jsonLinesTelemetry((line) => lines.push(line));
    const app = createApp(telemetry, { kind: 'open' });
    const deps = { store, telemetry, now: () => T0, cacheBytes: 0 };
    pushRoutes(app, deps);
    mapRoutes(app, deps);
    const put = (counter: number, displayName: string) =>
      app.request('/v1/clusters/c1/snapshot', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          cluster: { clusterId: 'c1', displayName },
          collectedAt: new Date(T0).toISOString(),
          logicalCounter: counter,
        }),
      });
    await put(2, 'a');
    for (const [counter, status, code] of [
      [1, 409, 'counter_regressed'],
      [2, 409, 'counter_reused'],
      [0, 422, 'invalid_snapshot'],
    ] as const) {
      lines.length = 0;
      const response = await put(counter, 'b');
      expect(response.status).toBe(status);
      const { requestId } = (await response.json()) as { requestId: string };
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'warn', message: 'request refused', code, method: 'PUT', requestId },
      ]);
    }
    store.client.destroy();
  });
});
