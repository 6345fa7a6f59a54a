/**
 * An exact solver that shares nothing with the one under test: no greedy rule, no bound, no
 * search order. It keeps, bin after bin, the whole table of item vectors that the bins so
 * far can hold, over all vectors up to the counts asked for.
 */
import type { PackingProblem } from '../../../../functions/core/capacity/packing/problem.ts';

/** Which numbers of items, by class, fit together. */
export interface Reachable {
  /** One dimension an item class, its count at most that of the problem. */
  fits(counts: readonly number[]): boolean;
  /** Calls back for every vector of counts. */
  forEach(visit: (counts: readonly number[], fits: boolean) => void): void;
}

/** Fills the table. Its size is the product of the counts plus one each, and it is gone through once a bin. */
export function reachableVectors({ bins, items }: PackingProblem): Reachable {
  const strides: number[] = [];
  let size = 1;
  for (const { count } of items) {
    strides.push(size);
    size *= count + 1;
  }
  const decode = (index: number): number[] =>
    items.map(({ count }, item) => Math.floor(index / (strides[item] ?? 1)) % (count + 1));
  const encode = (counts: readonly number[]): number =>
    counts.reduce((sum, count, item) => sum + count * (strides[item] ?? 0), 0);

  let table = new Uint8Array(size);
  table[0] = 1;
  for (const bin of bins) {
    const patterns = fillings(bin.size, bin.target, items);
    for (let copy = 0; copy < bin.count; copy++) {
      const next = table.slice();
      for (let index = 0; index < size; index++) {
        if (table[index] !== 1) continue;
        const counts = decode(index);
        for (const pattern of patterns) {
          const within = pattern.every(
            (count, item) => count + (counts[item] ?? 0) <= (items[item]?.count ?? 0),
          );
          if (within) next[index + encode(pattern)] = 1;
        }
      }
      table = next;
    }
  }
  return {
    fits: (counts) => table[encode(counts)] === 1,
    forEach: (visit) => {
      for (let index = 0; index < size; index++) visit(decode(index), table[index] === 1);
    },
  };
}

/** Every selection of items that one bin holds, the empty one left out. */
function fillings(
  room: number,
  target: number,
  items: PackingProblem['items'],
): readonly (readonly number[])[] {
  let partial: { readonly counts: readonly number[]; readonly free: number }[] = [{ counts: [], free: room }];
  for (const { size, count, targets } of items) {
    partial = partial.flatMap(({ counts, free }) => {
      const most = targets.includes(target) ? Math.min(count, Math.floor(free / size)) : 0;
      return Array.from({ length: most + 1 }, (_, copies) => ({
        counts: [...counts, copies],
        free: free - copies * size,
      }));
    });
  }
  return partial.map(({ counts }) => counts).filter((counts) => counts.some((count) => count > 0));
}
