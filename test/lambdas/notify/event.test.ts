import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ClaimChangeKind, ClaimState } from '../../../functions/gen/resourcemap/v1/claims_pb.ts';
import { HoldSchema } from '../../../functions/gen/resourcemap/v1/ledger_pb.ts';
import { claimEvent } from '../../../functions/lambdas/notify/claim-events.ts';
import { eventOf, type OutgoingEvent, unreadableEvent } from '../../../functions/lambdas/notify/event.ts';
import { headMoveOf, UndeliverableRecordError } from '../../../functions/lambdas/notify/head-move.ts';
import { spansOf } from '../../../functions/lambdas/notify/span.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { headOf, omitted, pushed, recordOf, recordsOf, T0 } from './builders.ts';
import { documentedTypes, eventFaults } from './event-schemas.ts';

/** The event of the last write of a head that took these states. */
function lastEvent(...states: readonly (Head | undefined)[]): OutgoingEvent | undefined {
  return spanning(states, states.length - 1);
}

/** The event of all writes from the given one on. */
function spanning(states: readonly (Head | undefined)[], from: number): OutgoingEvent | undefined {
  const moves = recordsOf(states)
    .slice(from)
    .map(headMoveOf)
    .filter((move) => move !== undefined);
  const [span] = spansOf(moves);
  return span && eventOf(span, true);
}

/** As EventBridge delivers it. */
function delivered(event: OutgoingEvent | undefined) {
  return {
    version: '0',
    id: '1',
    'detail-type': event?.detailType,
    source: 'resource-map',
    account: '123456789012',
    time: event?.time.toISOString(),
    region: 'eu-west-1',
    resources: [],
    detail: JSON.parse(event?.detail ?? 'null'),
  };
}

const head = headOf();

describe('An event', () => {
  it('tells of new content with the counters and accelerators before and after', () => {
    const freed = [{ model: 'H100', total: 16n, free: 8n, unavailable: 0n }];
    const event = lastEvent(head, {
      ...pushed(head, 2n ** 64n - 1n, 'b'),
      receivedAtMs: T0 + 5,
      accelerators: freed,
    });
    expect(event?.detailType).toBe('Cluster Published');
    expect(event?.time).toEqual(new Date(T0 + 5));
    expect(JSON.parse(event?.detail ?? '')).toMatchObject({
      clusterId: 'c1',
      cluster: { clusterId: 'c1', displayName: 'One', provider: 'aws', region: 'eu-west-1', site: '' },
      changes: ['CLUSTER_CHANGE_KIND_PUBLISHED'],
      state: 'CLUSTER_STATE_INCLUDED',
      previousState: 'CLUSTER_STATE_INCLUDED',
      logicalCounter: '18446744073709551615',
      previousCounter: '1',
      contentSinceCounter: '18446744073709551615',
      receivedAt: '2026-01-01T00:00:00.005Z',
      accelerators: [
        {
          model: 'H100',
          before: { total: '16', free: '6', unavailable: '1' },
          after: { total: '16', free: '8', unavailable: '0' },
        },
      ],
      acceleratorsFreed: ['H100'],
      sequenceNumber: '000000000000000000002',
    });
  });

  it('tells of a cluster that was not known without a previous counter', () => {
    const { detail } = delivered(lastEvent(head));
    expect(detail).toMatchObject({ previousState: 'CLUSTER_STATE_UNSPECIFIED', logicalCounter: '1' });
    expect(detail).not.toHaveProperty('previousCounter');
    expect(detail).not.toHaveProperty('reason');
  });

  it('tells of an omission with its reason, its time and what was there', () => {
    const event = lastEvent(head, omitted(head, 'maintenance', T0 + 60_000));
    expect(event?.detailType).toBe('Cluster Omitted');
    expect(event?.time).toEqual(new Date(T0 + 60_000));
    expect(JSON.parse(event?.detail ?? '')).toMatchObject({
      state: 'CLUSTER_STATE_OMITTED',
      reason: 'maintenance',
      logicalCounter: '1',
      previousCounter: '1',
      accelerators: [{ model: 'H100', before: { total: '16', free: '6', unavailable: '1' } }],
      acceleratorsFreed: [],
    });
  });

  it('tells of a return with the reason for which the cluster had been out', () => {
    const event = lastEvent(omitted(head, 'silent'), pushed(head, 2n));
    expect(event?.detailType).toBe('Cluster Returned');
    expect(JSON.parse(event?.detail ?? '')).toMatchObject({
      previousState: 'CLUSTER_STATE_OMITTED',
      reason: 'silent',
      contentSinceCounter: '1',
      acceleratorsFreed: ['H100'],
    });
  });

  it('says in its changes what was over before its last state', () => {
    const event = spanning(
      [head, pushed(head, 2n, 'b'), omitted(pushed(head, 2n, 'b')), pushed(head, 3n, 'c')],
      1,
    );
    expect(event?.detailType).toBe('Cluster Returned');
    expect(JSON.parse(event?.detail ?? '')).toMatchObject({
      changes: ['PUBLISHED', 'OMITTED', 'RETURNED'].map((kind) => `CLUSTER_CHANGE_KIND_${kind}`),
      previousState: 'CLUSTER_STATE_INCLUDED',
      previousCounter: '1',
      logicalCounter: '3',
    });
  });

  it('of a refresh is there only where it is asked for', () => {
    const [, move] = recordsOf([head, pushed(head, 2n)]).map(headMoveOf);
    if (move === undefined) throw new Error('There is no move.');
    const [span] = spansOf([move]);
    if (span === undefined) throw new Error('There is no span.');
    expect(eventOf(span, true)?.detailType).toBe('Cluster Refreshed');
    expect(eventOf(span, false)).toBeUndefined();
  });

  it('of a head that was deleted by hand says that the cluster is gone', () => {
    const event = lastEvent(head, undefined);
    expect(event?.detailType).toBe('Cluster Omitted');
    expect(JSON.parse(event?.detail ?? '')).toMatchObject({
      state: 'CLUSTER_STATE_UNSPECIFIED',
      reason: 'removed',
    });
  });

  it('is not there for retirement', () => {
    expect(lastEvent(omitted(head), undefined)).toBeUndefined();
  });
});

describe('The schemas in docs/events', () => {
  const record = recordOf({ after: head });
  const hold = (state: ClaimState) =>
    create(HoldSchema, { id: Buffer.from('018f0000000070008000000000000000', 'hex'), fence: 7n, state });
  const claimSamples = (
    [
      ['Claim Accepted', ClaimChangeKind.ACCEPTED, ClaimState.HELD],
      ['Claim Confirmed', ClaimChangeKind.CONFIRMED, ClaimState.CONFIRMED],
      ['Claim Fulfilled', ClaimChangeKind.FULFILLED, ClaimState.FULFILLED],
      ['Claim Released', ClaimChangeKind.RELEASED, ClaimState.RELEASED],
      ['Claim Expired', ClaimChangeKind.EXPIRED, ClaimState.EXPIRED],
      ['Claim Broken', ClaimChangeKind.BROKEN, ClaimState.BROKEN],
    ] as const
  ).map(([type, change, state]) => {
    const before = change === ClaimChangeKind.ACCEPTED ? undefined : hold(ClaimState.HELD);
    const move = { clusterId: 'c1', change, before, after: hold(state), sequenceNumber: '1', atMs: T0 };
    return [type, claimEvent(move)] as const;
  });
  const samples: readonly (readonly [string, OutgoingEvent | undefined])[] = [
    ['Cluster Published', lastEvent(head)],
    ['Cluster Published', lastEvent(head, pushed(head, 2n, 'b'))],
    [
      'Cluster Published',
      lastEvent(
        headOf({ accelerators: [], identity: { displayName: '', provider: '', region: '', site: '' } }),
      ),
    ],
    ['Cluster Refreshed', lastEvent(head, pushed(head, 2n))],
    ['Cluster Omitted', lastEvent(head, omitted(head, ''))],
    ['Cluster Omitted', lastEvent(head, undefined)],
    ['Cluster Returned', lastEvent(omitted(head), pushed(head, 2n, 'b'))],
    ['Cluster Returned', spanning([head, omitted(head), pushed(head, 2n)], 1)],
    [
      'Cluster Change Unreadable',
      unreadableEvent(new UndeliverableRecordError(record, 'because'), new Date(T0)),
    ],
    [
      'Cluster Change Unreadable',
      unreadableEvent(new UndeliverableRecordError({}, 'x'.repeat(600)), new Date(T0)),
    ],
  ];

  it.each(claimSamples)('describe what is sent of claims: %s', (type, event) => {
    expect(event.detailType).toBe(type);
    expect(eventFaults(delivered(event))).toEqual([]);
  });

  it.each(samples)('describe what is sent: %s (%#)', (type, event) => {
    expect(event?.detailType).toBe(type);
    expect(eventFaults(delivered(event))).toEqual([]);
  });

  it('are one for each type that is sent', () => {
    expect([...documentedTypes].sort()).toEqual(
      [...new Set([...samples, ...claimSamples].map(([type]) => type))].sort(),
    );
  });

  it('refuse a field that they do not name, and one of another form', () => {
    const event = delivered(lastEvent(head));
    expect(eventFaults({ ...event, detail: { ...event.detail, extra: 1 } })).toEqual([
      '/detail must NOT have additional properties {"additionalProperty":"extra"}',
    ]);
    expect(eventFaults({ ...event, detail: { ...event.detail, logicalCounter: 1 } })).toEqual([
      '/detail/logicalCounter must be string {"type":"string"}',
    ]);
  });
});
