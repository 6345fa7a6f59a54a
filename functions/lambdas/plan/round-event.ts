/** The event with which the schedule has the stored bundles reconciled; all others are requests. */
export const ROUND_EVENT = { round: 'bundles' } as const;

export function isRoundEvent(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'round' in event && event.round === ROUND_EVENT.round;
}
