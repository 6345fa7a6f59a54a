import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventBridgeClient } from '../../../functions/lambdas/notify/client.ts';
import type { OutgoingEvent } from '../../../functions/lambdas/notify/event.ts';
import {
  EventPublisher,
  entryBytes,
  MAX_ENTRIES,
  MAX_REQUEST_BYTES,
} from '../../../functions/lambdas/notify/publisher.ts';
import { withoutRandomWaits } from '../../no-jitter.ts';
import { T0 } from './builders.ts';
import { type Fault, type FaultyBus, startFaultyBus } from './faulty-bus.ts';

withoutRandomWaits();

const event = (n: number, padding = ''): OutgoingEvent => ({
  detailType: 'Cluster Published',
  detail: JSON.stringify({ n, padding }),
  time: new Date(T0),
});
const events = (count: number): readonly OutgoingEvent[] => Array.from({ length: count }, (_, n) => event(n));

describe('The publisher', () => {
  let bus: FaultyBus;
  let client: EventBridgeClient;
  let publisher: EventPublisher;

  beforeEach(async () => {
    bus = await startFaultyBus();
    client = eventBridgeClient(bus.endpoint, { connectMs: 1_000, requestMs: 500 });
    publisher = new EventPublisher(client, 'a-bus');
  });
  afterEach(async () => {
    client.destroy();
    await bus.close();
  });

  const taken = (): readonly number[] => bus.events.map((e) => Number(e.detail.n)).sort((a, b) => a - b);
  const kinds = async (sent: readonly OutgoingEvent[]): Promise<readonly string[]> =>
    (await publisher.publish(sent)).map((d) => d.kind);

  it('sends what EventBridge delivers whole', async () => {
    expect(await publisher.publish(events(1))).toEqual([{ kind: 'sent' }]);
    expect(bus.events).toEqual([
      {
        version: '0',
        id: expect.any(String),
        source: 'resource-map',
        'detail-type': 'Cluster Published',
        account: '000000000000',
        region: 'local',
        resources: [],
        time: '2026-01-01T00:00:00Z',
        detail: { n: 0, padding: '' },
      },
    ]);
  });

  it(`sends ${MAX_ENTRIES} events a call`, async () => {
    await publisher.publish(events(25));
    expect(bus.calls).toBe(3);
    expect(taken()).toEqual([...Array(25).keys()]);
  });

  it('sends fewer a call where they are large, and none together that are too large together', async () => {
    const large = 'x'.repeat(100 * 1024);
    expect(await kinds(Array.from({ length: 5 }, (_, n) => event(n, large)))).toEqual(Array(5).fill('sent'));
    expect(bus.calls).toBe(3);
  });

  it('fills a call to its last byte, and sends what is one byte larger in two', async () => {
    // `resource-map`, `Cluster Published` and 14 bytes of time, beside the detail.
    const half = MAX_REQUEST_BYTES / 2 - 12 - 17 - 14;
    const detailOf = (n: number, bytes: number) => event(n, 'x'.repeat(bytes - event(n).detail.length));
    // The bus of the tests counts the whole request, JSON and all: the calls are what counts here.
    bus.fault = () => 'malformed-detail';
    await publisher.publish([detailOf(0, half), detailOf(1, half)]);
    expect(bus.calls).toBe(1);
    await publisher.publish([detailOf(2, half), detailOf(3, half + 1)]);
    expect(bus.calls).toBe(3);
  });

  it('has an event refused alone that is too large for any call', async () => {
    const sent = [event(0), event(1, 'x'.repeat(MAX_REQUEST_BYTES)), event(2)];
    expect(await kinds(sent)).toEqual(['sent', 'refused', 'sent']);
    expect(taken()).toEqual([0, 2]);
  });

  it('sends again only what failed of a call', async () => {
    bus.fault = (call) => (call === 0 ? 'partial' : 'none');
    expect(await kinds(events(10))).toEqual(Array(10).fill('sent'));
    expect(taken()).toEqual([...Array(10).keys()]);
  });

  it.each<Fault>(['throttled', 'internal-error', 'partial'])(
    'gets through when the bus is %s for a moment',
    async (fault) => {
      bus.fault = (call) => (call < 3 ? fault : 'none');
      expect(await kinds(events(10))).toEqual(Array(10).fill('sent'));
      expect(taken()).toEqual([...Array(10).keys()]);
    },
  );

  it.each<Fault>(['internal-error-after-success', 'reset-after-success', 'hangs-after-success'])(
    'sends twice rather than not at all when the bus %s',
    async (fault) => {
      bus.fault = (call) => (call === 0 ? fault : 'none');
      expect(await kinds(events(2))).toEqual(['sent', 'sent']);
      expect(taken()).toEqual([0, 0, 1, 1]);
    },
  );

  it.each<Fault>(['throttled', 'internal-error', 'access-denied', 'no-such-bus'])(
    'says that an event failed, and not that it was refused, while the bus is %s',
    async (fault) => {
      bus.fault = () => fault;
      expect(await kinds(events(1))).toEqual(['failed']);
    },
  );

  it('says which events failed while others get through', async () => {
    bus.fault = (_, details) => (details.some((d) => d.includes('"n":3,')) ? 'throttled' : 'none');
    expect(await kinds(events(12))).toEqual([...Array(10).fill('failed'), 'sent', 'sent']);
  });

  it('finds the one event for which a whole call is refused', async () => {
    bus.fault = (_, details) => (details.some((d) => d.includes('"n":3,')) ? 'validation-error' : 'none');
    const deliveries = await publisher.publish(events(5));
    expect(deliveries[3]).toEqual({
      kind: 'refused',
      cause: 'EventBridge: ValidationException: An entry is not valid.',
    });
    expect(taken()).toEqual([0, 1, 2, 4]);
  });

  it('says the code with which an entry was refused, and does not send it again', async () => {
    bus.fault = () => 'malformed-detail';
    expect(await publisher.publish(events(1))).toEqual([
      { kind: 'refused', cause: 'EventBridge: MalformedDetail: Detail is malformed.' },
    ]);
    expect(bus.calls).toBe(1);
  });

  it('says that events failed where nobody answers', async () => {
    await bus.close();
    expect(await kinds(events(2))).toEqual(['failed', 'failed']);
    bus = await startFaultyBus();
  });
});

describe('The size of an entry', () => {
  it('is its texts in UTF-8 and 14 bytes for a time, as EventBridge counts it', () => {
    expect(entryBytes({ Source: 'ab', DetailType: 'c', Detail: 'é', Resources: ['xyz', 'é'] })).toBe(10);
    expect(entryBytes({ Source: 'ab', DetailType: 'c', Detail: 'é', Time: new Date(T0) })).toBe(19);
    expect(entryBytes({ Source: undefined, DetailType: undefined, Detail: undefined })).toBe(0);
  });
});
