/** What the rules need to know beside the snapshot itself. */
export interface RuleContext {
  /** The id in the URL; absent where a snapshot is validated without one. */
  readonly clusterId?: string | undefined;
  /** The service's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** How far ahead of that clock `collected_at` may be. 5 minutes by default. */
  readonly maxFutureSkewMs?: number | undefined;
  /** Lets the counter jump further than `MAX_COUNTER_JUMP` above the high-water mark. */
  readonly allowJump?: boolean | undefined;
  /** Turns every warning into a reject. */
  readonly strict?: boolean | undefined;
  /** Findings kept; the rest are counted. 1,000 by default. */
  readonly maxFindings?: number | undefined;
}
