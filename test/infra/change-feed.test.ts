import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord, AttributeValue as StreamValue } from 'aws-lambda';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClusterChangeKind } from '../../functions/gen/resourcemap/v1/events_pb.ts';
import { headMoveOf } from '../../functions/lambdas/notify/head-move.ts';
import { changesOf } from '../../functions/lambdas/notify/span.ts';
import type { Head } from '../../functions/storage/head.ts';
import { headToItem, type Item, tombstoneToItem } from '../../functions/storage/head-item.ts';
import { filters } from '../../infra/change-feed.ts';
import { passes } from './event-pattern.ts';

const FIRST: Head = {
  clusterId: 'a',
  highWater: 7n,
  collectedAtNanos: 1_773_471_683_000_000_000n,
  receivedAtMs: 1_773_471_683_100,
  contentSince: { counter: 7n, atMs: 1_773_471_683_100 },
  body: {
    contentId: '0a'.repeat(32),
    parts: 1,
    rawBytes: 10,
    storedBytes: 12,
    crc32: 1,
    storedCrc32: 2,
    expiresAtS: 1_773_558_083,
  },
  identity: { displayName: '', provider: 'aws', region: '', site: '' },
  accelerators: [{ model: 'H100', total: 8n, free: 3n, unavailable: 0n }],
  omittedModels: 0,
  warnings: 0,
};

const PARTITION = '3';

/** What the service does to a head, one write each. */
const WRITES = {
  publish: (head: Head): Head => {
    const { omission: _back, ...rest } = head;
    const counter = head.highWater + 2n;
    return {
      ...rest,
      highWater: counter,
      contentSince: { counter, atMs: 1 },
      body: { ...head.body, contentId: '0b'.repeat(32) },
    };
  },
  refresh: ({ omission: _back, ...head }: Head): Head => ({ ...head, highWater: head.highWater + 1n }),
  // The push that set the mark, sent again: it is written where the cluster is out of the map alone.
  'send again': (head: Head): Head => {
    const { omission, ...back } = head;
    return omission === undefined ? head : { ...back, receivedAtMs: head.receivedAtMs + 1 };
  },
  omit: (head: Head): Head => ({ ...head, omission: { reason: 'silent', atMs: 2 } }),
} as const;

function record(before: Item | undefined, after: Item | undefined): DynamoDBRecord {
  const keys = after ?? before ?? {};
  const image = (item: Item): Record<string, StreamValue> =>
    Object.fromEntries(Object.entries(item).map(([name, value]) => [name, asDelivered(value)]));
  return {
    eventID: '1',
    eventName: before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
    eventSource: 'aws:dynamodb',
    dynamodb: {
      Keys: image({ shard: keys.shard ?? { S: '' }, clusterId: keys.clusterId ?? { S: '' } }),
      ...(before === undefined ? {} : { OldImage: image(before) }),
      ...(after === undefined ? {} : { NewImage: image(after) }),
      SequenceNumber: '111',
      StreamViewType: 'NEW_AND_OLD_IMAGES',
    },
  };
}

/** In a record binary is Base64 text. */
function asDelivered(value: AttributeValue): StreamValue {
  if (value.B !== undefined) return { B: Buffer.from(value.B).toString('base64') };
  return value.N === undefined ? { S: value.S ?? '' } : { N: value.N };
}

const item = (head: Head): Item => headToItem(head, PARTITION);
const TELLING = filters(false);

describe("the stream's filter", () => {
  test.each<readonly [string, boolean, DynamoDBRecord]>([
    ['a cluster that is new', true, record(undefined, item(FIRST))],
    ['new content', true, record(item(FIRST), item(WRITES.publish(FIRST)))],
    ['a refresh', false, record(item(FIRST), item(WRITES.refresh(FIRST)))],
    ['an omission', true, record(item(FIRST), item(WRITES.omit(FIRST)))],
    ['a return with what it had', true, record(item(WRITES.omit(FIRST)), item(WRITES.refresh(FIRST)))],
    ['a head that was removed by hand', true, record(item(FIRST), undefined)],
    ['a head that was retired', false, record(item(WRITES.omit(FIRST)), undefined)],
    [
      'the mark of a retired cluster',
      false,
      record(
        undefined,
        tombstoneToItem(
          { clusterId: 'a', highWater: 7n, collectedAtNanos: 1n, contentId: '0a' },
          'retired#3',
        ),
      ),
    ],
    [
      'a refused push',
      false,
      record(undefined, {
        shard: { S: 'refused#3' },
        clusterId: { S: 'a' },
        at: { N: '1' },
        code: { S: 'collected_in_future' },
      }),
    ],
    [
      'an item that no code of ours wrote',
      true,
      record(undefined, { shard: { S: '3' }, clusterId: { S: 'a' } }),
    ],
  ])('%s: %s', (_what, reported, change) => {
    expect(passes(TELLING, change)).toBe(reported);
  });

  test('lets a change through if and only if it is one that is told', () => {
    const step = fc.constantFrom(...(Object.keys(WRITES) as (keyof typeof WRITES)[]));
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        let head = FIRST;
        for (const name of steps) {
          const next = WRITES[name](head);
          if (next === head) continue;
          const change = record(item(head), item(next));
          const move = headMoveOf(change);
          const kinds = move === undefined ? [] : changesOf(move);
          const isReported = kinds.some((kind) => kind !== ClusterChangeKind.REFRESHED);
          // An omitted cluster that is omitted again is no change, and costs no more than the look at it.
          const isNoise = head.omission !== undefined && next.omission !== undefined;
          if (!isNoise) expect([steps, passes(TELLING, change)]).toEqual([steps, isReported]);
          head = next;
        }
      }),
    );
  });

  test('lets refreshes through where they are to be told', () => {
    expect(passes(filters(true), record(item(FIRST), item(WRITES.refresh(FIRST))))).toBe(true);
    expect(
      passes(
        filters(true),
        record(
          undefined,
          tombstoneToItem(
            { clusterId: 'a', highWater: 7n, collectedAtNanos: 1n, contentId: '0a' },
            'retired#3',
          ),
        ),
      ),
    ).toBe(false);
  });

  test('is within what Lambda takes: five filters of 4,096 characters', () => {
    expect(TELLING.length).toBeLessThanOrEqual(5);
    for (const filter of TELLING) expect(JSON.stringify(filter).length).toBeLessThan(4_096);
  });
});
