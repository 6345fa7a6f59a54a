/**
 * The head of a cluster: everything that a poll must know of it, in one small item.
 * A body is behind it, immutable; all that ever changes is here.
 */
import type { AcceleratorTotals } from '../core/snapshot/accelerators.ts';
import type { Identity } from '../core/snapshot/identity.ts';
import type { Loss } from '../core/snapshot/rules/index.ts';

/** Why and since when a cluster is out of the map. */
export interface Omission {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** Where a body lies and how large it is. */
export interface ContentRef {
  /** SHA-256 over cluster id and body, in hex. */
  readonly contentId: string;
  readonly parts: number;
  /** Bytes before and after deflating. */
  readonly rawBytes: number;
  readonly storedBytes: number;
  /** CRC-32 of the bytes before and after deflating. */
  readonly crc32: number;
  readonly storedCrc32: number;
  /** Seconds since the epoch, after which DynamoDB may delete the parts. */
  readonly expiresAtS: number;
}

/**
 * One item of ClusterHeads. The counter of the published snapshot is the high-water
 * mark itself: a push is accepted only above the mark (or as the very push that set
 * it), and leaving the map changes neither. So there is one number, and no way for
 * two to disagree.
 */
export interface Head {
  readonly clusterId: string;
  /** The highest counter that was ever accepted; never lowered, never expires. */
  readonly highWater: bigint;
  /** Absent while the cluster is in the map. */
  readonly omission?: Omission;
  /** Of the last accepted snapshot, nanoseconds since the epoch by the agent's clock. */
  readonly collectedAtNanos: bigint;
  /**
   * A time by our clock, in milliseconds since the epoch, that the agent had from us before it began to look at
   * its cluster for that snapshot; absent if it sent none back. A repeat of the push does not move it.
   */
  readonly observedAtMs?: number;
  /** Milliseconds since the epoch by our clock. */
  readonly receivedAtMs: number;
  /** The counter at which the present content first appeared, and since when the map has shown it. */
  readonly contentSince: { readonly counter: bigint; readonly atMs: number };
  readonly body: ContentRef;
  readonly identity: Identity;
  /** The largest models, as many as keep the item in one write unit. */
  readonly accelerators: readonly AcceleratorTotals[];
  /** Models that did not fit. */
  readonly omittedModels: number;
  readonly warnings: number;
  /** What the content lost against the one before; absent where nothing. Of many pools only the first ids are kept. */
  readonly loss?: Loss;
}

/** What is left of a head that was retired: enough to keep its promise. */
export interface Tombstone {
  readonly clusterId: string;
  readonly highWater: bigint;
  readonly collectedAtNanos: bigint;
  readonly contentId: string;
}
