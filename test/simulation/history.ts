/** What clients asked and were told, with the world's time around it; `judge.ts` judges it. */

/** A request, from before it was sent until its response was there. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly by: string;
}

export interface PushAttempt {
  readonly kind: 'push attempt';
  readonly clusterId: string;
  readonly counter: bigint;
  readonly variant: number;
  readonly collectedAtMs: number;
  readonly atMs: number;
}

export interface PushAcknowledged extends Span {
  readonly kind: 'push acknowledged';
  readonly clusterId: string;
  readonly counter: bigint;
  readonly variant: number;
  readonly highWaterMark: bigint;
}

/** A conflict names the mark: a counter that was accepted. */
export interface PushConflicted extends Span {
  readonly kind: 'push conflicted';
  readonly clusterId: string;
  readonly counter: bigint;
  readonly code: string;
  readonly highWaterMark: bigint;
}

export interface OmitAcknowledged extends Span {
  readonly kind: 'omit acknowledged';
  readonly clusterId: string;
  readonly highWaterMark: bigint;
}

/** One cluster as one response has it; a map gives one for each of its clusters. */
export interface Seen extends Span {
  readonly kind: 'seen';
  readonly clusterId: string;
  readonly counter: bigint;
  /** Absent where the response has no content. */
  readonly variant?: number;
  readonly collectedAtMs?: number;
}

/** A map, whole: which clusters were in it. */
export interface MapSeen extends Span {
  readonly kind: 'map seen';
  readonly clusterIds: readonly string[];
  readonly clockIds: readonly string[];
}

/** An operator who restored the table raised every mark to this. */
export interface FloorSet {
  readonly kind: 'floor set';
  readonly counter: bigint;
}

/** Something that can never be right, seen by whoever it happened to. */
export interface Fault {
  readonly kind: 'fault';
  readonly atMs: number;
  readonly message: string;
}

export type Entry =
  | PushAttempt
  | PushAcknowledged
  | PushConflicted
  | OmitAcknowledged
  | Seen
  | MapSeen
  | FloorSet
  | Fault;
