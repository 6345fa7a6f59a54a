/**
 * What a response must hold so that the caller’s replica becomes the map.
 *
 * Sync is stateless: the caller's clock says what it has. A cluster's counter names one push, so
 * an equal counter means that the caller has everything. Where the counter is lower, the head's
 * `contentSinceCounter`, the counter at which the present content first appeared, decides: a
 * caller at or above it already holds the content and needs only the new counter and time.
 */

import type { WireFormat } from '../snapshot/decode.ts';
import { compareUtf8 } from '../utf8-order.ts';
import { clockEtag } from './clock.ts';
import { type ClusterVersion, inIdOrder, type MapEntry } from './entry.ts';
import { type FilterFacts, type MapFilter, narrow } from './filter.ts';

/** What sync needs to know of a cluster that is in the map. */
export interface SyncHead extends ClusterVersion, FilterFacts {
  /** The counter at which the present content first appeared. */
  readonly contentSinceCounter: bigint;
  /**
   * The service's time, milliseconds since the epoch, since which the map has shown the present
   * content: when it first appeared, or when the cluster last returned to the map.
   */
  readonly contentSinceMs: number;
}

/** What the caller asks. */
export interface SyncInput<H extends SyncHead> {
  /** Every cluster that is in the map, in any order, each once. */
  readonly heads: readonly H[];
  /** What the caller has: counter by cluster id. */
  readonly callerClock: ReadonlyMap<string, bigint>;
  readonly filter: MapFilter;
  /** Of the response, and so of the etag. */
  readonly format: WireFormat;
  /** How large the response may be, in bytes before compression. */
  readonly maxBytes: number;
  /**
   * The cluster after which an earlier response of the same caller ended, in order of ids; the empty text
   * for the first one. Absent: nothing was sent before.
   */
  readonly after?: string | undefined;
  /** Bytes that the cluster's snapshot takes in the response, before compression. */
  readonly snapshotBytes: (head: H) => number;
}

/** What to answer. */
export interface SyncPlan<H extends SyncHead> {
  /** Clusters whose snapshot is to be sent, in the order in which they are to be sent. */
  readonly changed: readonly H[];
  /** Clusters whose content the caller has, at a newer counter and time. */
  readonly refreshed: readonly H[];
  /** Clusters of the caller's clock that are not in the map, or no longer match the filter. */
  readonly omitted: readonly string[];
  /** False where changed snapshots had to be left for the next response. */
  readonly complete: boolean;
  /** What the next request is to say in `after`; absent if the response is complete. */
  readonly next?: string | undefined;
  /** Of the whole map under this filter, which is the caller's once `complete` is true. */
  readonly etag: string;
}

/** A response with its snapshots at hand, ready to be spliced. */
export interface SyncResult {
  readonly changed: readonly MapEntry[];
  readonly refreshed: readonly ClusterVersion[];
  readonly omitted: readonly string[];
  readonly complete: boolean;
  /** Absent if the response is complete. */
  readonly continuation?: string | undefined;
  readonly etag: string;
}

/** Tag, length, id, Timestamp and counter of a refreshed or omitted cluster, without the id. */
const VERSION_BYTES = 32;

/**
 * Plans a response.
 *
 * `refreshed` and `omitted` are always whole and count against the budget; `changed` takes what
 * the budget leaves, in the order of {@link inSendingOrder}, and at least one snapshot, so that
 * every response brings the caller closer, however small its budget.
 *
 * A caller's counter *above* the head's comes from a history that this table does not have: the
 * table was restored to an earlier point, or the caller's clock is damaged. What the caller
 * holds then says nothing about what is here, so the snapshot is sent whole.
 */
export function planSync<H extends SyncHead>(request: SyncInput<H>): SyncPlan<H> {
  const { callerClock, filter, format, maxBytes, snapshotBytes, after } = request;
  const heads = narrow(request.heads, filter, (head) => head);

  const differing: H[] = [];
  const refreshed: H[] = [];
  for (const head of heads) {
    const held = callerClock.get(head.clusterId);
    if (held === head.counter) continue;
    if (held !== undefined && held >= head.contentSinceCounter && held < head.counter) refreshed.push(head);
    else differing.push(head);
  }

  const present = new Set(heads.map((head) => head.clusterId));
  const omitted = [...callerClock.keys()].filter((id) => !present.has(id)).sort(compareUtf8);

  let left = maxBytes;
  for (const { clusterId } of refreshed) left -= clusterId.length + VERSION_BYTES;
  for (const clusterId of omitted) left -= clusterId.length + VERSION_BYTES;
  const changed: H[] = [];
  const order = after === undefined ? inSendingOrder(differing, callerClock) : inTurns(differing, after);
  for (const head of order) {
    left -= snapshotBytes(head);
    if (left < 0 && changed.length > 0) break;
    changed.push(head);
  }

  const complete = changed.length === differing.length;
  // What is sent out of turn does not count as a turn: the round begins with the next response.
  const next = after === undefined ? '' : changed.at(-1)?.clusterId;
  return {
    changed,
    refreshed: inIdOrder(refreshed),
    omitted,
    complete,
    ...(complete ? {} : { next }),
    etag: clockEtag(heads, filter, format),
  };
}

/**
 * By id, from the first one after `after` round to it again. If changes come faster than responses, any
 * order by age or by what the caller has can send the same clusters every time; in this one each
 * cluster is passed once a round, whatever changes meanwhile.
 */
function inTurns<H extends SyncHead>(differing: readonly H[], after: string): readonly H[] {
  const byId = inIdOrder(differing);
  const first = byId.findIndex(({ clusterId }) => compareUtf8(clusterId, after) > 0);
  return first <= 0 ? byId : [...byId.slice(first), ...byId.slice(0, first)];
}

/**
 * The order in which changed clusters are sent to a caller that sent no continuation. The first place belongs to the change that has
 * stood longest of all: whatever else happens between two responses is younger, so every change
 * comes to the front after as many responses as there were older ones, even where each response
 * carries a single snapshot. Then come the clusters that the caller lacks, since knowing
 * nothing of a cluster is worse than knowing something old, and then the rest, each group
 * longest-standing first.
 */
function inSendingOrder<H extends SyncHead>(
  differing: readonly H[],
  callerClock: ReadonlyMap<string, bigint>,
): readonly H[] {
  const byAge = differing.toSorted(
    (a, b) => a.contentSinceMs - b.contentSinceMs || compareUtf8(a.clusterId, b.clusterId),
  );
  const [longestStanding, ...others] = byAge;
  if (longestStanding === undefined) return [];
  const lacking = others.filter((head) => !callerClock.has(head.clusterId));
  const held = others.filter((head) => callerClock.has(head.clusterId));
  return [longestStanding, ...lacking, ...held];
}
