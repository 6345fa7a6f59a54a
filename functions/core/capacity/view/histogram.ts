/** A size and how many there are of it: nodes by their free accelerators, pods by what they take. */
export type Histogram = ReadonlyMap<number, number>;

/** Adds to a histogram under construction. */
export function count(into: Map<number, number>, size: number, times: number): void {
  if (times > 0) into.set(size, (into.get(size) ?? 0) + times);
}

/** Most targets have no demand: one empty histogram does for all of them. */
export const EMPTY: Histogram = new Map();

/** The same histogram, largest size first, so that equal ones read alike. */
export function largestFirst(histogram: Histogram): Histogram {
  if (histogram.size === 0) return EMPTY;
  return new Map([...histogram].sort(([a], [b]) => b - a));
}

/** How many there are in all. */
export function times(histogram: Histogram): number {
  let sum = 0;
  for (const [, count] of histogram) sum += count;
  return sum;
}

/** Size times count, summed: accelerators. 2^32 nodes of 2^32 accelerators are beyond a double's exact integers. */
export function volume(histogram: Histogram): bigint {
  let sum = 0n;
  for (const [size, count] of histogram) sum += BigInt(size) * BigInt(count);
  return sum;
}

/** Both together. */
export function plus(a: Histogram, b: Histogram): Histogram {
  if (b.size === 0) return a;
  const sum = new Map(a);
  for (const [size, times] of b) count(sum, size, times);
  return largestFirst(sum);
}

/** What is in `a` beyond `b`, which is a part of it. */
export function minus(a: Histogram, b: Histogram): Histogram {
  const rest = new Map<number, number>();
  for (const [size, times] of a) count(rest, size, times - (b.get(size) ?? 0));
  return rest;
}
