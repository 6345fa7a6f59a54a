/** A record of the ledgers' stream as what it says of claims, and the events of that. */
import { create, fromBinary, toJsonString } from '@bufbuild/protobuf';
import type { DynamoDBRecord, AttributeValue as StreamValue } from 'aws-lambda';
import { claimIdOf } from '../../core/claims/claim-id.ts';
import { isLive } from '../../core/claims/evaluate.ts';
import { placementsOf } from '../../core/claims/message.ts';
import { nanosOfMs, timestampOf } from '../../core/timestamp.ts';
import { ClaimChangeKind, ClaimChangeSchema, ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import { type Hold, LedgerSchema } from '../../gen/resourcemap/v1/ledger_pb.ts';
import { CLAIMS_KEY, LEDGER_ATTRIBUTES } from '../../storage/ledgers.ts';
import type { ClaimDetailType, OutgoingEvent } from './event.ts';
import { UndeliverableRecordError } from './head-move.ts';

/** What one write did to one claim. */
export interface ClaimMove {
  readonly clusterId: string;
  readonly change: Exclude<ClaimChangeKind, ClaimChangeKind.UNSPECIFIED>;
  readonly before: Hold | undefined;
  readonly after: Hold;
  readonly sequenceNumber: string;
  /** When it happened, milliseconds since the epoch. */
  readonly atMs: number;
}

const DETAIL_TYPES: Readonly<Record<ClaimMove['change'], ClaimDetailType>> = {
  [ClaimChangeKind.ACCEPTED]: 'Claim Accepted',
  [ClaimChangeKind.CONFIRMED]: 'Claim Confirmed',
  [ClaimChangeKind.FULFILLED]: 'Claim Fulfilled',
  [ClaimChangeKind.RELEASED]: 'Claim Released',
  [ClaimChangeKind.EXPIRED]: 'Claim Expired',
  [ClaimChangeKind.BROKEN]: 'Claim Broken',
};

const END_OF: ReadonlyMap<ClaimState, ClaimMove['change']> = new Map([
  [ClaimState.FULFILLED, ClaimChangeKind.FULFILLED],
  [ClaimState.RELEASED, ClaimChangeKind.RELEASED],
  [ClaimState.EXPIRED, ClaimChangeKind.EXPIRED],
  [ClaimState.BROKEN, ClaimChangeKind.BROKEN],
]);

/** Bytes of a detail beyond which its placements are left out: the bus takes 256 KB, and GET has them. */
const MAX_DETAIL_BYTES = 128 * 1024;

/**
 * What a write of a ledger did, in order of fence. Renewals, and the tombstone of a claim that never was, are
 * nothing.
 *
 * @throws UndeliverableRecordError
 */
export function claimMovesOf(record: DynamoDBRecord): readonly ClaimMove[] {
  const { Keys, OldImage, NewImage, SequenceNumber: sequenceNumber } = record.dynamodb ?? {};
  const clusterId = Keys?.[CLAIMS_KEY.sort]?.S;
  if (clusterId === undefined || sequenceNumber === undefined) {
    throw new UndeliverableRecordError(record, 'The record has no key of Claims or no sequence number.');
  }
  // A ledger is removed empty.
  if (NewImage === undefined) return [];
  const known = new Map(holdsOf(record, OldImage).map((hold) => [hold.fence, hold]));
  return holdsOf(record, NewImage).flatMap((after) => {
    const before = known.get(after.fence);
    const change = changeOf(before, after);
    if (change === undefined) return [];
    return { clusterId, change, before, after, sequenceNumber, atMs: atMsOf(change, after) };
  });
}

function changeOf(before: Hold | undefined, after: Hold): ClaimMove['change'] | undefined {
  if (isLive(after)) {
    if (before === undefined) return ClaimChangeKind.ACCEPTED;
    const isConfirmed = before.state === ClaimState.HELD && after.state === ClaimState.CONFIRMED;
    return isConfirmed ? ClaimChangeKind.CONFIRMED : undefined;
  }
  return before !== undefined && isLive(before) ? END_OF.get(after.state) : undefined;
}

function atMsOf(change: ClaimMove['change'], { acceptedAtMs, confirmedAtMs, endedAtMs }: Hold): number {
  if (change === ClaimChangeKind.ACCEPTED) return acceptedAtMs;
  return change === ClaimChangeKind.CONFIRMED ? confirmedAtMs : endedAtMs;
}

function holdsOf(record: DynamoDBRecord, image: Record<string, StreamValue> | undefined): readonly Hold[] {
  const bytes = image?.[LEDGER_ATTRIBUTES.holds]?.B;
  if (bytes === undefined) return [];
  try {
    return fromBinary(LedgerSchema, Buffer.from(bytes, 'base64')).holds;
  } catch (error) {
    throw UndeliverableRecordError.from(record, error);
  }
}

export function claimEvent({
  clusterId,
  change,
  before,
  after,
  sequenceNumber,
  atMs,
}: ClaimMove): OutgoingEvent {
  // A tombstone keeps neither owner nor placements.
  const whole = isLive(after) ? after : (before ?? after);
  const message = create(ClaimChangeSchema, {
    id: claimIdOf(after.id).text,
    clusterId,
    change,
    state: after.state,
    previousState: before?.state ?? ClaimState.UNSPECIFIED,
    owner: whole.owner,
    jobId: whole.jobId,
    fence: after.fence,
    placements: placementsOf(whole),
    expiresAt: timestampOf(nanosOfMs(whole.expiresAtMs)),
    judgedCounter: whole.judgedCounter,
    fulfilledChains: after.fulfilledChains,
    reason: after.reason,
    sequenceNumber,
  });
  const json = (): string => toJsonString(ClaimChangeSchema, message, { alwaysEmitImplicit: true });
  let detail = json();
  if (Buffer.byteLength(detail) > MAX_DETAIL_BYTES) {
    message.placements = [];
    detail = json();
  }
  return { detailType: DETAIL_TYPES[change], detail, time: new Date(atMs) };
}
