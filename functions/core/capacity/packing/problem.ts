/**
 * The packing problem: whole pods into nodes' free accelerators. Nodes with the same
 * room are one class with a count, and so are pods of one size, so that 10,000 nodes
 * are a handful of numbers.
 */

/** Nodes of one target that have the same room. */
export interface BinClass {
  /** Where the nodes are: an index that items refer to. Lower ones are filled first where it does not matter. */
  readonly target: number;
  /** Free accelerators on each, at least 1. */
  readonly size: number;
  readonly count: number;
}

/** Pods of one size that may stand in the same targets. */
export interface ItemClass {
  /** Accelerators of each, at least 1. */
  readonly size: number;
  readonly count: number;
  readonly targets: readonly number[];
}

export interface PackingProblem {
  readonly bins: readonly BinClass[];
  readonly items: readonly ItemClass[];
}

/** A number of bins of one class that are filled alike. */
export interface PackedBins {
  /** Index into the problem's bins. */
  readonly bin: number;
  readonly bins: number;
  /** Index into the problem's items, and how many of them are in each of these bins. */
  readonly items: readonly PackedItems[];
}

export interface PackedItems {
  readonly item: number;
  readonly count: number;
}

/** `impossible` is proven and `packed` is shown; `undecided` says that the bound on work was reached before either. */
export type PackingOutcome =
  | { readonly kind: 'packed'; readonly packing: readonly PackedBins[] }
  | { readonly kind: 'impossible' }
  | { readonly kind: 'undecided' };

export const IMPOSSIBLE: PackingOutcome = { kind: 'impossible' };
export const UNDECIDED: PackingOutcome = { kind: 'undecided' };

/**
 * Throws unless the packing puts every item into a bin that it may stand in, and no bin
 * holds more than it has room for. Every yes passes here, so that a fault in a search
 * can end in an error but never in a wrong yes.
 */
export function assertPacks(problem: PackingProblem, packing: readonly PackedBins[]): void {
  const placed = problem.items.map(() => 0);
  const used = problem.bins.map(() => 0);
  for (const group of packing) {
    const bin = problem.bins[group.bin];
    if (bin === undefined) throw new Error(`a packing names bin class ${group.bin}, which does not exist`);
    used[group.bin] = (used[group.bin] ?? 0) + group.bins;
    let load = 0;
    for (const { item, count } of group.items) {
      const pods = problem.items[item];
      if (pods === undefined || !pods.targets.includes(bin.target)) {
        throw new Error(
          `a packing puts item class ${item} into target ${bin.target}, where it may not stand`,
        );
      }
      load += pods.size * count;
      placed[item] = (placed[item] ?? 0) + count * group.bins;
    }
    if (load > bin.size) throw new Error(`a packing puts ${load} into a bin of ${bin.size}`);
  }
  for (const [index, bin] of problem.bins.entries()) {
    if ((used[index] ?? 0) > bin.count) throw new Error(`a packing uses ${used[index]} of ${bin.count} bins`);
  }
  for (const [index, item] of problem.items.entries()) {
    if (placed[index] !== item.count) {
      throw new Error(`a packing places ${placed[index]} of ${item.count} items of size ${item.size}`);
    }
  }
}
