/** Heads and stream records that mean something, for tests to change one thing of. */
import { createHash } from 'node:crypto';
import type { DynamoDBRecord } from 'aws-lambda';
import { imageOf } from '../../../functions/local/change-feed.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { headToItem, type Item } from '../../../functions/storage/head-item.ts';

/** 2026-01-01T00:00:00Z */
export const T0 = 1_767_225_600_000;

/** A head in the map: 16 H100s of which 6 are free, content "a" since counter 1. */
export function headOf(init: Partial<Head> & { readonly content?: string } = {}): Head {
  const { content = 'a', ...rest } = init;
  return {
    clusterId: 'c1',
    highWater: 1n,
    collectedAtNanos: BigInt(T0) * 1_000_000n,
    receivedAtMs: T0,
    contentSince: { counter: 1n, atMs: T0 },
    body: {
      contentId: createHash('sha256').update(content).digest('hex'),
      parts: 1,
      rawBytes: 100,
      storedBytes: 80,
      crc32: 7,
      storedCrc32: 8,
      expiresAtS: T0 / 1_000 + 86_400,
    },
    identity: { displayName: 'One', provider: 'aws', region: 'eu-west-1', site: '' },
    accelerators: [{ model: 'H100', total: 16n, free: 6n, unavailable: 1n }],
    omittedModels: 0,
    warnings: 0,
    ...rest,
  };
}

export function omitted(head: Head, reason = 'silent', atMs = head.receivedAtMs + 900_000): Head {
  return { ...head, omission: { reason, atMs } };
}

/** The head after a push of the given content at a counter; the received time moves by 10 s a counter. */
export function pushed(head: Head, counter: bigint, content?: string): Head {
  const { omission: _, ...included } = head;
  const receivedAtMs = T0 + Number(counter % 1_000n) * 10_000;
  const next = {
    ...included,
    highWater: counter,
    receivedAtMs,
    collectedAtNanos: BigInt(receivedAtMs) * 1_000_000n,
  };
  if (content === undefined) return next;
  return {
    ...next,
    contentSince: { counter, atMs: receivedAtMs },
    body: { ...head.body, contentId: createHash('sha256').update(content).digest('hex') },
  };
}

interface RecordInit {
  readonly before?: Head;
  readonly after?: Head;
  readonly sequenceNumber?: number;
  readonly partition?: string;
}

/** A record of the stream, as Lambda delivers it. */
export function recordOf({ before, after, sequenceNumber = 1, partition = '3' }: RecordInit): DynamoDBRecord {
  return itemRecordOf({
    clusterId: (after ?? before)?.clusterId ?? '',
    ...(before === undefined ? {} : { before: headToItem(before, partition) }),
    ...(after === undefined ? {} : { after: headToItem(after, partition) }),
    sequenceNumber,
    partition,
  });
}

export function itemRecordOf(init: {
  readonly clusterId: string;
  readonly before?: Item;
  readonly after?: Item;
  readonly sequenceNumber?: number;
  readonly partition?: string;
}): DynamoDBRecord {
  const { clusterId, before, after, sequenceNumber = 1, partition = '3' } = init;
  return {
    eventID: `event-${sequenceNumber}`,
    eventName: before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
    dynamodb: {
      ApproximateCreationDateTime: T0 / 1_000,
      Keys: { shard: { S: partition }, clusterId: { S: clusterId } },
      ...(before === undefined ? {} : { OldImage: imageOf(before) }),
      ...(after === undefined ? {} : { NewImage: imageOf(after) }),
      SequenceNumber: String(sequenceNumber).padStart(21, '0'),
    },
  };
}

/** The records of a head that takes these states one after the other, the first from nothing. */
export function recordsOf(states: readonly (Head | undefined)[], firstSequenceNumber = 1): DynamoDBRecord[] {
  const records: DynamoDBRecord[] = [];
  let before: Head | undefined;
  for (const after of states) {
    records.push(
      recordOf({
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
        sequenceNumber: firstSequenceNumber + records.length,
      }),
    );
    before = after;
  }
  return records;
}
