/** What goes on the bus: the contract is `docs/events`, the messages are `events.proto`. */
import { create, toJsonString } from '@bufbuild/protobuf';
import { nanosOfMs, timestampOf } from '../../core/timestamp.ts';
import {
  AcceleratorChangeSchema,
  AcceleratorSumsSchema,
  ClusterChangeKind,
  ClusterChangeSchema,
  ClusterChangeUnreadableSchema,
} from '../../gen/resourcemap/v1/events_pb.ts';
import { ClusterState } from '../../gen/resourcemap/v1/service_pb.ts';
import type { Head } from '../../storage/head.ts';
import { acceleratorChanges, freedModels, type Sums } from './accelerator-changes.ts';
import type { UndeliverableRecordError } from './head-move.ts';
import type { Span } from './span.ts';

export const EVENT_SOURCE = 'resource-map';

export type DetailType =
  | 'Cluster Published'
  | 'Cluster Refreshed'
  | 'Cluster Omitted'
  | 'Cluster Returned'
  | 'Cluster Change Unreadable'
  | ClaimDetailType;

export type ClaimDetailType =
  | 'Claim Accepted'
  | 'Claim Confirmed'
  | 'Claim Fulfilled'
  | 'Claim Released'
  | 'Claim Expired'
  | 'Claim Broken';

/** An event that is to be sent. */
export interface OutgoingEvent {
  readonly detailType: DetailType;
  /** ProtoJSON. */
  readonly detail: string;
  readonly time: Date;
}

/** Fields of value zero are written too, so that a rule may match on them. */
const JSON_OPTIONS = { alwaysEmitImplicit: true } as const;

/** The cause of an unreadable change is a sentence, whatever the library that it is from wrote. */
const MAX_CAUSE_LENGTH = 500;

/**
 * Of an event's 256 KB: a cluster may have models by the thousand, of names of any length, and an event
 * that is too large would be refused for them.
 */
const MAX_FREED_BYTES = 64 * 1024;
const MAX_SUMS_BYTES = 128 * 1024;
/** What an entry takes beside its model, with six numbers of twenty digits. */
const ENTRY_BYTES = 256;

/** The first entries, as many as there is room for. */
function within<T>(maxBytes: number, entries: readonly T[], modelOf: (entry: T) => string): T[] {
  let bytes = 0;
  const beyond = entries.findIndex((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(modelOf(entry))) + ENTRY_BYTES;
    return bytes > maxBytes;
  });
  return beyond < 0 ? [...entries] : entries.slice(0, beyond);
}

/**
 * The event of a span, or nothing where nobody is to be told.
 *
 * @throws Error where the heads hold what JSON cannot say, a year beyond 9999 for one
 */
export function eventOf(span: Span, announceRefreshes: boolean): OutgoingEvent | undefined {
  const detailType = detailTypeOf(span);
  if (detailType === undefined || (detailType === 'Cluster Refreshed' && !announceRefreshes))
    return undefined;
  const { clusterId, before, after, latest } = span;
  if (latest === undefined) return undefined;
  const accelerators = acceleratorChanges(before, after);
  const shown = within(MAX_SUMS_BYTES, accelerators, ({ model }) => model);
  const change = create(ClusterChangeSchema, {
    clusterId,
    cluster: { clusterId, ...latest.identity },
    changes: [...span.changes],
    state: stateOf(after),
    previousState: stateOf(before),
    logicalCounter: latest.highWater,
    ...(before === undefined ? {} : { previousCounter: before.highWater }),
    contentSinceCounter: latest.contentSince.counter,
    collectedAt: timestampOf(latest.collectedAtNanos),
    receivedAt: timestampOf(nanosOfMs(latest.receivedAtMs)),
    ...(span.reason === undefined ? {} : { reason: span.reason }),
    accelerators: shown.map((a) =>
      create(AcceleratorChangeSchema, {
        model: a.model,
        ...(a.before === undefined ? {} : { before: sumsMessage(a.before) }),
        ...(a.after === undefined ? {} : { after: sumsMessage(a.after) }),
      }),
    ),
    acceleratorsFreed: within(MAX_FREED_BYTES, freedModels(before, accelerators), (model) => model),
    omittedAcceleratorModels: latest.omittedModels + accelerators.length - shown.length,
    sequenceNumber: span.lastSequenceNumber,
  });
  return {
    detailType,
    detail: toJsonString(ClusterChangeSchema, change, JSON_OPTIONS),
    time: new Date(span.atMs),
  };
}

/** The event that says that something happened to a cluster and that it cannot be said what. */
export function unreadableEvent(
  { record, clusterId, message }: UndeliverableRecordError,
  now: Date,
): OutgoingEvent {
  const detail = create(ClusterChangeUnreadableSchema, {
    clusterId,
    cause: message.slice(0, MAX_CAUSE_LENGTH).toWellFormed(),
    eventName: record.eventName ?? '',
    eventId: record.eventID ?? '',
    sequenceNumber: record.dynamodb?.SequenceNumber ?? '',
  });
  return {
    detailType: 'Cluster Change Unreadable',
    detail: toJsonString(ClusterChangeUnreadableSchema, detail, JSON_OPTIONS),
    time: now,
  };
}

/** The last state decides, and of the ways that lead into the map the one that says most. */
function detailTypeOf({ changes, after }: Span): DetailType | undefined {
  const happened = (kind: ClusterChangeKind): boolean => changes.includes(kind);
  if (after === undefined || after.omission !== undefined) {
    return happened(ClusterChangeKind.OMITTED) ? 'Cluster Omitted' : undefined;
  }
  if (happened(ClusterChangeKind.RETURNED)) return 'Cluster Returned';
  if (happened(ClusterChangeKind.PUBLISHED)) return 'Cluster Published';
  return happened(ClusterChangeKind.REFRESHED) ? 'Cluster Refreshed' : undefined;
}

function stateOf(head: Head | undefined): ClusterState {
  if (head === undefined) return ClusterState.UNSPECIFIED;
  return head.omission === undefined ? ClusterState.INCLUDED : ClusterState.OMITTED;
}

function sumsMessage({ total, free, unavailable }: Sums) {
  return create(AcceleratorSumsSchema, { total, free, unavailable });
}
