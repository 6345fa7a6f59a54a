/**
 * A cluster's place in the map: the body, which says what the cluster is, and beside it the
 * counter and time, which say when that was so. A body is shared by every push that brought
 * the same content; counter and time are written again into each response.
 */

import { compareUtf8 } from '../utf8-order.ts';
import type { Fragment } from './fragment.ts';

/** Where a cluster is in the clock, and since when. */
export interface ClusterVersion {
  readonly clusterId: string;
  /** The snapshot's `logical_counter`, at least 1. */
  readonly counter: bigint;
  /** The snapshot's `collected_at`, nanoseconds since the epoch; negative before it. */
  readonly collectedAtNanos: bigint;
}

/** One cluster of a response in one format. */
export interface MapEntry extends ClusterVersion {
  /**
   * In Protobuf: the encoded ClusterResourceMap without its fields 2 and 8.
   * In JSON: what `jsonMembers` makes of it.
   */
  readonly body: Fragment;
}

/** Sorts by the bytes of the cluster id, so that equal maps are equal bytes. */
export function inIdOrder<E extends { readonly clusterId: string }>(entries: readonly E[]): E[] {
  return entries.toSorted((a, b) => compareUtf8(a.clusterId, b.clusterId));
}
