/** What an operator looks for in a list of clusters: those that are in the map, and those that are not well. */

export const CONDITIONS = ['included', 'stale', 'warned', 'refused', 'out'] as const;
/** A cluster may be in several at once. */
export type Condition = (typeof CONDITIONS)[number];

/** Without a push for this long a cluster in the map is called stale: three pushes of an agent that sends one a minute. */
export const STALE_RECEIVED_MS = 3 * 60_000;
/** The service warns of what was collected earlier than this before its push. */
export const STALE_COLLECTED_MS = 10 * 60_000;

/** What of a cluster a condition looks at. Times are in milliseconds since the epoch. */
export interface ConditionFacts {
  readonly included: boolean;
  /** Absent for a cluster of which no snapshot was ever accepted. */
  readonly receivedAtMs: number | undefined;
  readonly collectedAtMs: number | undefined;
  readonly warnings: number;
  /** Whether the last push was refused. */
  readonly refused: boolean;
}

export function meets(facts: ConditionFacts, condition: Condition, nowMs: number): boolean {
  switch (condition) {
    case 'included':
      return facts.included;
    case 'out':
      return !facts.included;
    case 'stale':
      return staleness(facts, nowMs) !== undefined;
    case 'warned':
      return facts.included && facts.warnings > 0;
    case 'refused':
      return facts.refused;
  }
}

/** What of a cluster is old, or nothing. Only of one that is in the map: of the others nothing is shown as current. */
export function staleness(
  {
    included,
    receivedAtMs = 0,
    collectedAtMs = 0,
  }: Pick<ConditionFacts, 'included' | 'receivedAtMs' | 'collectedAtMs'>,
  nowMs: number,
): 'received' | 'collected' | undefined {
  if (!included) return undefined;
  if (nowMs - receivedAtMs > STALE_RECEIVED_MS) return 'received';
  return nowMs - collectedAtMs > STALE_COLLECTED_MS ? 'collected' : undefined;
}
