/**
 * Several writes of one head as one change that spans them. A batch of the stream may hold
 * many of one cluster, and who reacts wants to know where it is now and where it came from; that
 * something happened in between, an omission say, is kept.
 */
import { ClusterChangeKind as Kind } from '../../gen/resourcemap/v1/events_pb.ts';
import type { Head } from '../../storage/head.ts';
import type { HeadMove } from './head-move.ts';

/** All that happened to one cluster from its state `before` to its state `after`. */
export interface Span {
  readonly clusterId: string;
  /** Absent where there was no head. */
  readonly before?: Head;
  /** Absent where there is none any more. */
  readonly after?: Head;
  /** The last head that there was: `after`, or what was there until it was removed. */
  readonly latest?: Head;
  /** In order, each kind once. Empty where nothing happened that concerns anybody. */
  readonly changes: readonly Kind[];
  /** Of the last omission in it, or the one that it ended. */
  readonly reason?: string;
  /** Of the first record: a reader that starts there again misses nothing of the span. */
  readonly firstSequenceNumber: string;
  readonly lastSequenceNumber: string;
  /** Of the last record, milliseconds since the epoch. */
  readonly atMs: number;
}

/** The reason of a cluster whose head was deleted by hand; no code of ours does that. */
export const REMOVED = 'removed';

/**
 * One span a cluster, in order of the clusters' first records.
 *
 * @param moves in stream order
 */
export function spansOf(moves: readonly HeadMove[]): readonly Span[] {
  const spans = new Map<string, Span>();
  for (const move of moves) spans.set(move.clusterId, extended(spans.get(move.clusterId), move));
  return [...spans.values()];
}

function extended(span: Span | undefined, move: HeadMove): Span {
  const before = span === undefined ? move.before : span.before;
  const latest = move.after ?? move.before ?? span?.latest;
  const reason = reasonOf(move) ?? span?.reason;
  return {
    clusterId: move.clusterId,
    ...(before === undefined ? {} : { before }),
    ...(move.after === undefined ? {} : { after: move.after }),
    ...(latest === undefined ? {} : { latest }),
    changes: [...new Set([...(span?.changes ?? []), ...changesOf(move)])],
    ...(reason === undefined ? {} : { reason }),
    firstSequenceNumber: span?.firstSequenceNumber ?? move.sequenceNumber,
    lastSequenceNumber: move.sequenceNumber,
    atMs: move.atMs,
  };
}

/** What one write did. */
export function changesOf({ before, after }: HeadMove): readonly Kind[] {
  const was = isIncluded(before);
  const is = isIncluded(after);
  // A head that goes while it is out of the map was retired.
  if (!was && !is) return before === undefined && after !== undefined ? [Kind.OMITTED] : [];
  if (!is) return [Kind.OMITTED];
  if (before === undefined) return [Kind.PUBLISHED];
  const content = contentChanged(before, after) ? [Kind.PUBLISHED] : [];
  if (!was) return [Kind.RETURNED, ...content];
  return content.length > 0 ? content : [Kind.REFRESHED];
}

function reasonOf({ before, after }: HeadMove): string | undefined {
  if (after?.omission !== undefined) return after.omission.reason;
  if (after === undefined && isIncluded(before)) return REMOVED;
  return before?.omission?.reason;
}

export function isIncluded(head: Head | undefined): head is Head {
  return head !== undefined && head.omission === undefined;
}

/** The counter tells what equal bodies do not: content that went and came back. */
function contentChanged(before: Head, after: Head): boolean {
  return (
    before.body.contentId !== after.body.contentId ||
    before.contentSince.counter !== after.contentSince.counter
  );
}
