/** What to push next above a high-water mark; never a counter that cannot be accepted. */
import { COUNTER_EXHAUSTED } from './limits.ts';

/** The lowest counter that can be accepted above the mark; undefined if there is none. */
export function nextCounter(highWater: bigint): bigint | undefined {
  const next = highWater + 1n;
  return next < COUNTER_EXHAUSTED ? next : undefined;
}

/** The remedy of a conflict, as the end of a sentence without its full stop. */
export function nextCounterAdvice(highWater: bigint): string {
  const next = nextCounter(highWater);
  return next === undefined
    ? 'no counter is left above that, and a mark cannot be lowered: push the cluster under another id'
    : `use ${next} or above`;
}
