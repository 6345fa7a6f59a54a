/** Packing problems in short. */
import type { PackingProblem } from '../../../../functions/core/capacity/packing/problem.ts';
import { Work } from '../../../../functions/core/capacity/packing/work.ts';

/** Bins and items of one target, each given by its size. */
export function problemOf(bins: readonly number[], items: readonly number[]): PackingProblem {
  return {
    bins: [...tally(bins)].map(([size, count]) => ({ target: 0, size, count })),
    items: [...tally(items)].map(([size, count]) => ({ size, count, targets: [0] })),
  };
}

function tally(sizes: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const size of sizes) counts.set(size, (counts.get(size) ?? 0) + 1);
  return counts;
}

/** More than any one decision may use. */
export function plentyOfWork(): Work {
  return new Work(1_000_000_000);
}
