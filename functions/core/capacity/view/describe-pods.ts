/** How pods stand in messages. */
import type { Histogram } from './histogram.ts';

/** Sizes listed of a histogram; what is in smaller pieces than these explains nothing. */
export const SIZES_SHOWN = 6;

/** `2 pods of 8, 1 pod of 4`: the largest first, as the histogram has them. */
export function describePods(pods: Histogram): string {
  return [...pods]
    .slice(0, SIZES_SHOWN)
    .map(([size, times]) => `${times} ${times === 1 ? 'pod' : 'pods'} of ${size}`)
    .join(', ');
}
