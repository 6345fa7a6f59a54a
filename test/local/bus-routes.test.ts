import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { serve } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { eventRoutes, putEventsRoutes } from '../../functions/local/bus-routes.ts';
import { LocalBus } from '../../functions/local/event-bus.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';
import { listen } from './sse.ts';

describe('The local bus', () => {
  let bus: LocalBus;
  let server: Server;
  let url: string;
  let client: EventBridgeClient;

  beforeEach(async () => {
    bus = new LocalBus(() => 1_767_225_600_123);
    const app = createApp(new RecordedTelemetry(), { kind: 'open' });
    putEventsRoutes(app, bus);
    eventRoutes(app, bus);
    server = await new Promise<Server>((resolve) => {
      const starting = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () =>
        resolve(starting as Server),
      );
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = new EventBridgeClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'x', secretAccessKey: 'y' },
      maxAttempts: 1,
    });
  });
  afterEach(async () => {
    client.destroy();
    bus.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const entry = (n: number, more: object = {}) => ({
    Source: 'test',
    DetailType: 'Tested',
    Detail: JSON.stringify({ n }),
    ...more,
  });
  const put = (...entries: object[]) => client.send(new PutEventsCommand({ Entries: entries }));
  const raw = (body: string, target = 'AWSEvents.PutEvents') =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target },
      body,
    });

  it('gives a listener each event as EventBridge would', async () => {
    const listener = await listen(url);
    const response = await put(
      entry(1, { Time: new Date('2026-02-03T04:05:06Z'), Resources: ['r'] }),
      entry(2),
    );
    await listener.waitFor(2);
    expect(response).toMatchObject({
      FailedEntryCount: 0,
      Entries: [{ EventId: listener.events[0]?.id }, {}],
    });
    expect(listener.events).toEqual([
      {
        version: '0',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        sseId: listener.events[0]?.id,
        'detail-type': 'Tested',
        source: 'test',
        account: '000000000000',
        time: '2026-02-03T04:05:06Z',
        region: 'local',
        resources: ['r'],
        detail: { n: 1 },
      },
      expect.objectContaining({ time: '2026-01-01T00:00:00Z', resources: [], detail: { n: 2 } }),
    ]);
    listener.stop();
  });

  it('gives every listener every event, from when it began to listen', async () => {
    await put(entry(1));
    const early = await listen(url);
    await put(entry(2));
    const late = await listen(url);
    await put(entry(3));
    await early.waitFor(2);
    await late.waitFor(1);
    expect(early.events.map((e) => e.detail.n)).toEqual([2, 3]);
    expect(late.events.map((e) => e.detail.n)).toEqual([3]);
    early.stop();
    late.stop();
  });

  it('gives a listener that comes back what it missed', async () => {
    const listener = await listen(url);
    await put(entry(1), entry(2));
    await listener.waitFor(2);
    listener.stop();
    await put(entry(3));
    const again = await listen(url, listener.events[0]?.sseId);
    await again.waitFor(2);
    expect(again.events.map((e) => e.detail.n)).toEqual([2, 3]);
    again.stop();
  });

  it('tells a listener that comes back from before a restart of the gap, and gives it all that it has', async () => {
    await put(entry(1), entry(2));
    const listener = await listen(url, 'of-another-process');
    await listener.waitFor(2);
    expect(listener.gaps).toEqual([{ lastEventId: 'of-another-process' }]);
    const again = await listen(url, listener.events[0]?.sseId);
    await again.waitFor(1);
    expect(again.gaps).toEqual([]);
    listener.stop();
    again.stop();
  });

  it('takes no query parameter', async () => {
    const response = await fetch(`${url}/local/events?since=1`);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: 'invalid_query', detail: '/local/events takes no query parameters, but the URL has "since".' },
    ]);
  });

  it('keeps the last 4,096 events, and ends a listener that fell behind them', async () => {
    const subscription = bus.subscribe();
    const signal = new AbortController().signal;
    for (let n = 0; n < 4_096; n++) bus.put([entry(n)]);
    expect(await subscription.take(1, signal)).toHaveLength(4_096);
    for (let n = 0; n < 4_097; n++) bus.put([entry(n)]);
    expect(await subscription.take(1, signal)).toBeUndefined();
  });

  it('ends the stream when the service ends', async () => {
    const listener = await listen(url);
    bus.close();
    await listener.ended;
  });

  it.each([
    [
      'no source',
      { Source: '' },
      'InvalidArgument',
      'Parameter Source is not valid. Reason: it is a required text.',
    ],
    [
      'no type',
      { DetailType: undefined },
      'InvalidArgument',
      'Parameter DetailType is not valid. Reason: it is a required text.',
    ],
    [
      'no detail',
      { Detail: undefined },
      'InvalidArgument',
      'Parameter Detail is not valid. Reason: it is a required text.',
    ],
    [
      'a detail that is no JSON',
      { Detail: '{' },
      'MalformedDetail',
      'Detail is malformed: it is no JSON object.',
    ],
    [
      'a detail that is no object',
      { Detail: '[1]' },
      'MalformedDetail',
      'Detail is malformed: it is no JSON object.',
    ],
  ])('refuses an entry with %s, and takes the others', async (_, fault, ErrorCode, ErrorMessage) => {
    const listener = await listen(url);
    const response = await put(entry(1, fault), entry(2));
    await listener.waitFor(1);
    expect(response).toMatchObject({
      FailedEntryCount: 1,
      Entries: [{ ErrorCode, ErrorMessage }, { EventId: listener.events[0]?.id }],
    });
    listener.stop();
  });

  it('refuses a call of more than ten entries or more than 256 KB', async () => {
    await expect(put(...Array.from({ length: 11 }, (_, n) => entry(n)))).rejects.toMatchObject({
      name: 'ValidationException',
      message: 'The call has 11 entries; PutEvents takes 1 to 10 in "Entries".',
    });
    await expect(put(entry(1, { Detail: JSON.stringify({ x: 'x'.repeat(262_144) }) }))).rejects.toMatchObject(
      {
        name: 'ValidationException',
        message: expect.stringMatching(/^The entries have 262\d+ bytes; PutEvents takes 262144\.$/),
      },
    );
  });

  it.each([
    ['{', 'SerializationException', 'The body is no JSON.'],
    ['null', 'ValidationException', 'The call has no list of entries; PutEvents takes 1 to 10 in "Entries".'],
    [
      '{"Entries":{}}',
      'ValidationException',
      'The call has no list of entries; PutEvents takes 1 to 10 in "Entries".',
    ],
  ])('refuses the body %s', async (body, __type, message) => {
    const response = await raw(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ __type, message });
  });

  it('takes hostile entries for what they are', async () => {
    const response = await raw(
      '{"Entries":[null,1,{"__proto__":{"Source":"x","DetailType":"y","Detail":"{}"}}]}',
    );
    expect(await response.json()).toMatchObject({ FailedEntryCount: 3 });
  });

  it('says which operation it knows', async () => {
    expect(await (await raw('{}', 'AWSEvents.ListRules')).json()).toEqual({
      __type: 'UnknownOperationException',
      message: 'The bus knows AWSEvents.PutEvents, not "AWSEvents.ListRules".',
    });
  });
});
