/** The consumer of the ledgers' stream: from a batch of records to events on the bus, as that of the heads does it. */
import type { DynamoDBBatchResponse, DynamoDBRecord } from 'aws-lambda';
import { ClaimChangeKind, ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import { type AnnounceDeps, type Announcement, deliver, type StreamHandler, settle } from './announce.ts';
import { type ClaimMove, claimEvent, claimMovesOf } from './claim-events.ts';
import { UndeliverableRecordError } from './head-move.ts';

export function claimAnnouncer(deps: Omit<AnnounceDeps, 'announceRefreshes' | 'contents'>): StreamHandler {
  const { publisher, telemetry, now } = deps;
  return async ({ Records }): Promise<DynamoDBBatchResponse> => {
    const { moves, announcements, unreadable } = announcementsOf(Records);
    const reported = await deliver(publisher, announcements);
    const response = await settle(deps, announcements.length, reported, unreadable);
    const failed = new Set(response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    // A record that comes again counts when it gets through.
    countEnds(
      telemetry,
      moves.filter(({ sequenceNumber }) => !failed.has(sequenceNumber)),
    );
    const oldestMs = Math.min(...moves.map(({ atMs }) => atMs));
    if (moves.length > 0) telemetry.gauge('ClaimNotifyLag', Math.max(0, now() - oldestMs), 'Milliseconds');
    return response;
  };
}

function announcementsOf(records: readonly DynamoDBRecord[]) {
  const moves: ClaimMove[] = [];
  const announcements: Announcement[] = [];
  const unreadable: UndeliverableRecordError[] = [];
  for (const record of records) {
    try {
      const ofRecord = claimMovesOf(record);
      const events = ofRecord.map(claimEvent);
      moves.push(...ofRecord);
      announcements.push(...events.map((event) => ({ event, record })));
    } catch (error) {
      unreadable.push(UndeliverableRecordError.from(record, error));
    }
  }
  return { moves, announcements, unreadable };
}

function countEnds(telemetry: Telemetry, moves: readonly ClaimMove[]): void {
  const count = (kind: ClaimChangeKind, of: (move: ClaimMove) => boolean = () => true): number =>
    moves.filter((move) => move.change === kind && of(move)).length;
  telemetry.count('ClaimsBroken', count(ClaimChangeKind.BROKEN));
  telemetry.count(
    'ClaimsExpiredConfirmed',
    count(ClaimChangeKind.EXPIRED, ({ before }) => before?.state === ClaimState.CONFIRMED),
  );
  for (const { change, before, atMs } of moves) {
    if (change === ClaimChangeKind.FULFILLED && before !== undefined)
      telemetry.gauge('ClaimToFulfilled', Math.max(0, atMs - before.acceptedAtMs), 'Milliseconds');
  }
}
