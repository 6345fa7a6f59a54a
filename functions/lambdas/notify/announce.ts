/**
 * The stream's consumer: from a batch of records to events on the bus. A change is told at
 * least once: a record whose event did not get through is given back to the stream, which
 * sends it, and what follows it, again. A record that cannot be read is reported as such, which
 * brings it to the dead-letter queue, and holds nobody up.
 */
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { ContentStore } from '../../storage/contents.ts';
import { withAllModels } from './all-models.ts';
import { eventOf, type OutgoingEvent, unreadableEvent } from './event.ts';
import { type HeadMove, headMoveOf, UndeliverableRecordError } from './head-move.ts';
import type { EventPublisher } from './publisher.ts';
import { type Span, spansOf } from './span.ts';

export interface AnnounceDeps {
  readonly publisher: Pick<EventPublisher, 'publish'>;
  readonly telemetry: Telemetry;
  /** Whether to tell of pushes that changed nothing but counter and time. */
  readonly announceRefreshes: boolean;
  /** Where the models are that heads have no room for. */
  readonly contents: Pick<ContentStore, 'read'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Lambda's event source mapping calls it, or what stands for that locally. */
export type StreamHandler = (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse>;

export function announcer({
  publisher,
  telemetry,
  announceRefreshes,
  contents,
  now,
}: AnnounceDeps): StreamHandler {
  return async ({ Records }) => {
    const { moves, unreadable } = readRecords(Records);
    const spans = await withAllModels(spansOf(moves), contents);
    const changes = announcementsOf(spans, Records, announceRefreshes);
    const reported = await deliver(publisher, changes.announcements);

    const poison = [...unreadable, ...changes.unreadable];
    const response = await settle(
      { publisher, telemetry, now },
      changes.announcements.length,
      reported,
      poison,
    );
    // The time from a change to its event, of the change that waited longest.
    const oldestMs = Math.min(...moves.map((move) => move.atMs));
    if (moves.length > 0) telemetry.gauge('NotifyLag', Math.max(0, now() - oldestMs), 'Milliseconds');
    return response;
  };
}

/**
 * Reports what cannot be told, counts, and gives back to the stream what did not get through.
 *
 * @param sent events that were to be sent
 */
export async function settle(
  { publisher, telemetry, now }: Omit<AnnounceDeps, 'announceRefreshes' | 'contents'>,
  sent: number,
  reported: Undelivered,
  unreadable: readonly UndeliverableRecordError[],
): Promise<DynamoDBBatchResponse> {
  const poison = [...unreadable, ...reported.refused];
  for (const { clusterId, message, cause } of poison) {
    telemetry.error('change unreadable', { clusterId, reason: message, cause });
  }
  const poisonReported = await deliver(
    publisher,
    poison.map((error) => ({ event: unreadableEvent(error, new Date(now())), record: error.record })),
  );

  const failed = [...reported.failed, ...poisonReported.failed, ...poisonReported.refused];
  for (const { clusterId, message } of failed) {
    telemetry.warn('event not sent, trying again', { clusterId, reason: message });
  }
  telemetry.count('EventsSent', sent - reported.failed.length - reported.refused.length);
  telemetry.count('EventsFailed', failed.length);
  telemetry.count('ChangesUnreadable', poison.length);
  return { batchItemFailures: sequenceNumbers(failed).map((itemIdentifier) => ({ itemIdentifier })) };
}

/** An event, and the record from which the stream must start again where it does not get through. */
export interface Announcement {
  readonly event: OutgoingEvent;
  readonly record: DynamoDBRecord;
}

export interface Undelivered {
  readonly failed: readonly UndeliverableRecordError[];
  readonly refused: readonly UndeliverableRecordError[];
}

function readRecords(records: readonly DynamoDBRecord[]): {
  readonly moves: readonly HeadMove[];
  readonly unreadable: readonly UndeliverableRecordError[];
} {
  const moves: HeadMove[] = [];
  const unreadable: UndeliverableRecordError[] = [];
  for (const record of records) {
    try {
      const move = headMoveOf(record);
      if (move !== undefined) moves.push(move);
    } catch (error) {
      unreadable.push(UndeliverableRecordError.from(record, error));
    }
  }
  return { moves, unreadable };
}

function announcementsOf(
  spans: readonly Span[],
  records: readonly DynamoDBRecord[],
  announceRefreshes: boolean,
): {
  readonly announcements: readonly Announcement[];
  readonly unreadable: readonly UndeliverableRecordError[];
} {
  const bySequenceNumber = new Map(records.map((record) => [record.dynamodb?.SequenceNumber, record]));
  const announcements: Announcement[] = [];
  const unreadable: UndeliverableRecordError[] = [];
  for (const span of spans) {
    const record = bySequenceNumber.get(span.firstSequenceNumber) ?? {};
    try {
      const event = eventOf(span, announceRefreshes);
      if (event !== undefined) announcements.push({ event, record });
    } catch (error) {
      unreadable.push(UndeliverableRecordError.from(record, error));
    }
  }
  return { announcements, unreadable };
}

export async function deliver(
  publisher: Pick<EventPublisher, 'publish'>,
  announcements: readonly Announcement[],
): Promise<Undelivered> {
  const deliveries = await publisher.publish(announcements.map(({ event }) => event));
  const undelivered = (kind: 'failed' | 'refused'): readonly UndeliverableRecordError[] =>
    announcements.flatMap(({ record }, i) => {
      const delivery = deliveries[i];
      return delivery?.kind === kind ? [new UndeliverableRecordError(record, delivery.cause)] : [];
    });
  return { failed: undelivered('failed'), refused: undelivered('refused') };
}

/** Each once; Lambda starts again at the lowest. */
function sequenceNumbers(errors: readonly UndeliverableRecordError[]): readonly string[] {
  return [...new Set(errors.map(({ record }) => record.dynamodb?.SequenceNumber ?? ''))];
}
