import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { announcer, type StreamHandler } from '../../../functions/lambdas/notify/announce.ts';
import { eventBridgeClient } from '../../../functions/lambdas/notify/client.ts';
import { EventPublisher } from '../../../functions/lambdas/notify/publisher.ts';
import { headToItem } from '../../../functions/storage/head-item.ts';
import { withoutRandomWaits } from '../../no-jitter.ts';
import { headOf, itemRecordOf, omitted, pushed, recordOf, T0 } from './builders.ts';
import { eventFaults } from './event-schemas.ts';
import { type FaultyBus, startFaultyBus } from './faulty-bus.ts';
import { RecordedTelemetry } from './recorded-telemetry.ts';

withoutRandomWaits();

describe('The stream’s consumer', () => {
  let bus: FaultyBus;
  let client: EventBridgeClient;
  let telemetry: RecordedTelemetry;
  let handler: StreamHandler;

  beforeEach(async () => {
    bus = await startFaultyBus();
    client = eventBridgeClient(bus.endpoint);
    telemetry = new RecordedTelemetry();
    handler = announcer({
      publisher: new EventPublisher(client, 'default'),
      telemetry,
      announceRefreshes: false,
      contents: { read: async () => new Map() },
      now: () => T0 + 90_000,
    });
  });
  afterEach(async () => {
    client.destroy();
    await bus.close();
  });

  const types = (): readonly string[] => bus.events.map((e) => `${e['detail-type']}: ${e.detail.clusterId}`);
  const failures = (...numbers: readonly number[]) => ({
    batchItemFailures: numbers.map((n) => ({ itemIdentifier: String(n).padStart(21, '0') })),
  });

  const one = headOf({ clusterId: 'one' });
  const two = headOf({ clusterId: 'two' });
  const three = headOf({ clusterId: 'three' });

  it('sends one event for all that a batch says of a cluster', async () => {
    const later = pushed(one, 2n, 'b');
    const response = await handler({
      Records: [
        recordOf({ after: one, sequenceNumber: 1 }),
        recordOf({ after: two, sequenceNumber: 2 }),
        recordOf({ before: one, after: later, sequenceNumber: 3 }),
        recordOf({ before: later, after: omitted(later), sequenceNumber: 4 }),
      ],
    });
    expect(response).toEqual(failures());
    expect(types()).toEqual(['Cluster Omitted: one', 'Cluster Published: two']);
    expect(bus.events.flatMap(eventFaults)).toEqual([]);
  });

  it('sends nothing for a refresh, for retirement and for an empty batch', async () => {
    const gone = omitted(two);
    const response = await handler({
      Records: [
        recordOf({ before: one, after: pushed(one, 2n) }),
        recordOf({ after: gone, partition: 'retired#3', sequenceNumber: 2 }),
        recordOf({ before: gone, sequenceNumber: 3 }),
      ],
    });
    expect(response).toEqual(failures());
    expect(await handler({ Records: [] })).toEqual(failures());
    expect(bus.calls).toBe(0);
  });

  it('gives back the first record of each cluster whose event failed', async () => {
    const details = (id: string) => (_: number, sent: readonly string[]) =>
      sent.some((d) => d.includes(`"clusterId":"${id}"`)) ? 'throttled' : 'none';
    bus.fault = details('two');
    const many = Array.from({ length: 12 }, (_, i) => headOf({ clusterId: `many-${i}` }));
    const response = await handler({
      Records: [
        ...many.map((after, i) => recordOf({ after, sequenceNumber: i + 1 })),
        recordOf({ after: two, sequenceNumber: 13 }),
        recordOf({ before: two, after: pushed(two, 2n, 'b'), sequenceNumber: 14 }),
      ],
    });
    // The call of ten that is throttled has the last three clusters in it.
    expect(response).toEqual(failures(11, 12, 13));
    expect(telemetry.counts.get('EventsFailed')).toBe(3);
    expect(telemetry.counts.get('EventsSent')).toBe(10);
  });

  it('tells of a record that it cannot read, with cluster and cause, and goes on', async () => {
    const { highWater: _, ...broken } = headToItem(two, '3');
    const response = await handler({
      Records: [
        recordOf({ after: one, sequenceNumber: 1 }),
        itemRecordOf({ clusterId: 'two', after: broken, sequenceNumber: 2 }),
        recordOf({ after: three, sequenceNumber: 3 }),
      ],
    });
    expect(response).toEqual(failures());
    expect(types()).toEqual([
      'Cluster Published: one',
      'Cluster Published: three',
      'Cluster Change Unreadable: two',
    ]);
    expect(bus.events[2]?.detail).toEqual({
      clusterId: 'two',
      cause: 'The head of cluster "two" has no readable attribute "highWater".',
      eventName: 'INSERT',
      eventId: 'event-2',
      sequenceNumber: '000000000000000000002',
    });
    expect(telemetry.counts.get('ChangesUnreadable')).toBe(1);
    expect(telemetry.errors).toEqual(['change unreadable']);
  });

  it.each([
    [
      'no key',
      { dynamodb: { SequenceNumber: '1' } },
      'The record has no key of ClusterHeads or no sequence number.',
    ],
    ['nothing', {}, 'The record has no key of ClusterHeads or no sequence number.'],
    [
      'no image',
      { dynamodb: { SequenceNumber: '1', Keys: { shard: { S: '0' }, clusterId: { S: 'x' } } } },
      'The record has no image; the stream must be one of new and old images.',
    ],
  ])('tells of a record that has %s', async (_, record, cause) => {
    expect(await handler({ Records: [record] })).toEqual(failures());
    expect(bus.events.map((e) => e.detail.cause)).toEqual([cause]);
    expect(bus.events.flatMap(eventFaults)).toEqual([]);
  });

  it('tells of a head that JSON cannot say, and sends the others', async () => {
    const beyond = { ...two, collectedAtNanos: 10n ** 30n };
    await handler({ Records: [recordOf({ after: beyond }), recordOf({ after: one, sequenceNumber: 2 })] });
    expect(types()).toEqual(['Cluster Published: one', 'Cluster Change Unreadable: two']);
  });

  it('tells of an event that the bus refuses', async () => {
    bus.fault = (_, details) =>
      details.some((d) => d.includes('"clusterId":"two"') && d.includes('"state"'))
        ? 'malformed-detail'
        : 'none';
    expect(await handler({ Records: [recordOf({ after: two })] })).toEqual(failures());
    expect(bus.events.map((e) => [e['detail-type'], e.detail.clusterId, e.detail.cause])).toEqual([
      ['Cluster Change Unreadable', 'two', 'EventBridge: MalformedDetail: Detail is malformed.'],
    ]);
  });

  it('gives a poison record back only where even that it is one cannot be told', async () => {
    bus.fault = () => 'throttled';
    const { highWater: _, ...broken } = headToItem(two, '3');
    expect(
      await handler({ Records: [itemRecordOf({ clusterId: 'two', after: broken, sequenceNumber: 7 })] }),
    ).toEqual(failures(7));
  });

  it('measures the time from the oldest change to its event', async () => {
    await handler({
      Records: [
        recordOf({ after: one }),
        recordOf({ before: one, after: pushed(one, 3n, 'b'), sequenceNumber: 2 }),
      ],
    });
    expect(telemetry.gauges.get('NotifyLag')).toEqual([90_000, 'Milliseconds']);
  });
});
