import { once } from 'node:events';
import { createServer } from 'node:http';
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../functions/client/client.ts';
import { ApiError, ConnectionError, UnexpectedResponseError } from '../../functions/client/errors.ts';
import { clusterChangeOf, type DeliveredEvent, eventStream } from '../../functions/client/event-stream.ts';
import { nanosOfMs, timestampOf } from '../../functions/core/timestamp.ts';
import { ClusterChangeKind } from '../../functions/gen/resourcemap/v1/events_pb.ts';
import { ClusterIdentitySchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ClusterState } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';

const start = (port = 0): Promise<LocalService> =>
  startService({ engine: { kind: 'memory' }, port, host: '127.0.0.1', telemetry: new RecordedTelemetry() });

describe('The event stream', () => {
  let service: LocalService;
  let ending: AbortController;
  let gaps: number;

  beforeEach(async () => {
    service = await start();
    ending = new AbortController();
    gaps = 0;
  });
  afterEach(async () => {
    ending.abort();
    await service.close();
  });

  const push = (clusterId: string, counter: bigint, displayName = 'x') =>
    createClient({ baseUrl: service.url }).push(
      snapshotOf({
        cluster: create(ClusterIdentitySchema, { clusterId, displayName }),
        collectedAt: timestampOf(nanosOfMs(Date.now())),
        logicalCounter: counter,
      }),
      { allowJump: true },
    );
  /** Listens, and gives what came so far. */
  const listen = async (onInterruption = (): void => undefined): Promise<readonly DeliveredEvent[]> => {
    const events: DeliveredEvent[] = [];
    let listens = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      listens = resolve;
    });
    const telling: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      listens();
      return response;
    };
    const { signal } = ending;
    void (async () => {
      for await (const event of eventStream({
        baseUrl: service.url,
        signal,
        fetch: telling,
        reconnectDelayMs: 20,
        onGap: () => {
          gaps++;
        },
        onInterruption,
      })) {
        events.push(event);
      }
    })();
    await begun;
    return events;
  };

  it('gives events whose detail is read as a message', async () => {
    const events = await listen();
    await push('a', 2n ** 63n);
    await expect.poll(() => events.length, { timeout: 10_000 }).toBe(1);
    const [event] = events;
    expect(event).toMatchObject({ source: 'resource-map', 'detail-type': 'Cluster Published' });
    expect(event && clusterChangeOf(event)).toMatchObject({
      clusterId: 'a',
      logicalCounter: 2n ** 63n,
      state: ClusterState.INCLUDED,
      previousState: ClusterState.UNSPECIFIED,
      changes: [ClusterChangeKind.PUBLISHED],
    });
  });

  it('is taken up again when the service comes back', async () => {
    let interruptions = 0;
    const events = await listen(() => {
      interruptions++;
    });
    expect(gaps).toBe(0);
    await push('a', 1n);
    await expect.poll(() => events.length, { timeout: 10_000 }).toBe(1);
    const port = Number(new URL(service.url).port);
    await service.close();
    await expect.poll(() => interruptions, { timeout: 10_000 }).toBeGreaterThan(0);
    service = await start(port);
    await push('b', 1n);
    await expect
      .poll(() => events.map((e) => clusterChangeOf(e)?.clusterId), { timeout: 15_000 })
      .toEqual(['a', 'b']);
    // The new process does not know the event that the stream goes on after.
    expect(gaps).toBe(1);
  });

  it('is taken up again when the service has room again', async () => {
    let interruptions = 0;
    const events = await listen(() => {
      interruptions++;
    });
    const port = Number(new URL(service.url).port);
    await service.close();
    // What the service says while it still takes the connection before for one that listens.
    let refusals = 0;
    const full = createServer((_, response) => {
      refusals++;
      response
        .writeHead(429, { 'content-type': 'application/problem+json', connection: 'close' })
        .end('{"code": "too_many_listeners", "detail": "No room."}');
    });
    full.listen(port, '127.0.0.1');
    await expect.poll(() => refusals, { timeout: 10_000 }).toBeGreaterThan(0);
    full.close();
    await once(full, 'close');
    service = await start(port);
    const seen = interruptions;
    await expect
      .poll(
        async () => {
          await push(`c${Date.now()}`, 1n);
          return events.length;
        },
        { timeout: 15_000, interval: 50 },
      )
      .toBeGreaterThan(0);
    expect(seen).toBeGreaterThan(0);
  });

  it('ends with the signal', async () => {
    const events = eventStream({ baseUrl: service.url, signal: AbortSignal.timeout(200) });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('fails where nobody answers, where somebody else does, and where the service refuses', async () => {
    await expect(eventStream({ baseUrl: 'http://127.0.0.1:1' }).next()).rejects.toBeInstanceOf(
      ConnectionError,
    );
    await expect(eventStream({ baseUrl: `${service.url}/elsewhere` }).next()).rejects.toBeInstanceOf(
      ApiError,
    );
    const html: typeof fetch = async () =>
      new Response('<html>', { headers: { 'content-type': 'text/html' } });
    await expect(eventStream({ baseUrl: service.url, fetch: html }).next()).rejects.toThrow(
      new UnexpectedResponseError(
        'GET',
        `${service.url}/local/events`,
        'the response is 200 of type text/html, not text/event-stream',
      ),
    );
  });

  it('takes no event without end', async () => {
    const megabyte = new TextEncoder().encode('x'.repeat(1024 * 1024));
    let sent = 0;
    const endless = new ReadableStream({
      start: (c) => c.enqueue(new TextEncoder().encode('data: ')),
      pull: (c) => {
        sent++;
        c.enqueue(megabyte);
      },
    });
    const other: typeof fetch = async () =>
      new Response(endless, { headers: { 'content-type': 'text/event-stream' } });
    await expect(eventStream({ baseUrl: service.url, fetch: other }).next()).rejects.toThrow(
      new UnexpectedResponseError(
        'GET',
        `${service.url}/local/events`,
        'an event of more than 1048576 characters comes in',
      ),
    );
    expect(sent).toBeLessThan(4);
  });

  it('leaves an event of another kind to the caller', () => {
    const event = { id: '1', source: 's', time: 't', detail: { a: 1 } };
    expect(clusterChangeOf({ ...event, 'detail-type': 'Cluster Change Unreadable' })).toBeUndefined();
    expect(
      clusterChangeOf({
        ...event,
        'detail-type': 'Cluster Omitted',
        detail: { clusterId: 'c', addedLater: 1 },
      }),
    ).toMatchObject({ clusterId: 'c' });
  });
});
