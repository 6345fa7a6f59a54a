/**
 * Takes a problem apart into pieces that have nothing to do with one another, and
 * brings each to its smallest form: sizes without a common divisor, rooms that the
 * sizes can fill to the brim, equal bins in one class.
 */
import { fillableRooms } from './knapsack.ts';
import type { PackedBins, PackedItems, PackingProblem } from './problem.ts';

/** One independent piece of a problem. Sizes are divided by their greatest common divisor. */
export interface Component {
  /** Smallest first, then by target. */
  readonly bins: readonly ComponentBin[];
  /** Largest first, then fewer targets first. */
  readonly items: readonly ComponentItem[];
  /** Number of targets; they are numbered from 0 in the order of the problem's. */
  readonly targets: number;
}

export interface ComponentBin {
  readonly target: number;
  /** The most that a selection of the items can fill of the room. */
  readonly size: number;
  readonly count: number;
  /** Classes of the problem that fell together here. */
  readonly origins: readonly { readonly bin: number; readonly count: number }[];
}

export interface ComponentItem {
  readonly size: number;
  readonly count: number;
  /** For each target, whether the item may stand there. */
  readonly allowed: readonly boolean[];
  /** How many targets that is. */
  readonly freedom: number;
  /** Classes of the problem that fell together here. */
  readonly origins: readonly { readonly item: number; readonly count: number }[];
}

/** A number of bins of one class of a component, each with this many of each of its items. */
export interface ComponentPacking {
  readonly bin: number;
  readonly bins: number;
  /** As long as the component's items. */
  readonly pattern: readonly number[];
}

/** The problem's independent pieces. Items of count 0 and bins that no item may use are gone. */
export function componentsOf(problem: PackingProblem): readonly Component[] {
  const rootOf = joinTargets(problem);
  const members = new Map<number, { targets: Set<number>; items: number[] }>();
  for (const [index, item] of problem.items.entries()) {
    if (item.count === 0) continue;
    const root = rootOf(item.targets[0] ?? -1);
    const member = members.get(root) ?? { targets: new Set(), items: [] };
    members.set(root, member);
    member.items.push(index);
    for (const target of item.targets) member.targets.add(target);
  }
  return [...members.values()].map(({ targets, items }) =>
    component(
      problem,
      [...targets].sort((a, b) => a - b),
      items,
    ),
  );
}

/** Union-find over targets: an item that may stand in two of them joins the two. */
function joinTargets(problem: PackingProblem): (target: number) => number {
  const parent = new Map<number, number>();
  const find = (target: number): number => {
    let root = target;
    for (let up = parent.get(root); up !== undefined; up = parent.get(root)) root = up;
    return root;
  };
  for (const item of problem.items) {
    if (item.count === 0) continue;
    const [first, ...rest] = item.targets;
    for (const other of rest) {
      const a = find(first ?? -1);
      const b = find(other);
      if (a !== b) parent.set(b, a);
    }
  }
  return find;
}

function component(
  problem: PackingProblem,
  targets: readonly number[],
  itemIndexes: readonly number[],
): Component {
  const targetIndex = new Map(targets.map((target, index) => [target, index]));
  const divisor = itemIndexes.reduce(
    (gcd, index) => greatestCommonDivisor(gcd, problem.items[index]?.size ?? 0),
    0,
  );
  const items = mergeItems(problem, targets, itemIndexes, divisor);
  const itemCount = items.reduce((sum, { count }) => sum + count, 0);

  const merged = new Map<
    string,
    { target: number; size: number; origins: { bin: number; count: number }[] }
  >();
  const fillable = targets.map((_, target) => fillableRooms(items.filter((item) => item.allowed[target])));
  for (const [index, bin] of problem.bins.entries()) {
    const target = targetIndex.get(bin.target);
    if (target === undefined) continue;
    const size = fillable[target]?.(Math.floor(bin.size / divisor)) ?? 0;
    // More bins of one kind than there are items can never all be used.
    const count = Math.min(bin.count, itemCount);
    if (size === 0 || count === 0) continue;
    const key = `${target}:${size}`;
    const same = merged.get(key) ?? { target, size, origins: [] };
    merged.set(key, same);
    same.origins.push({ bin: index, count });
  }
  const bins = [...merged.values()]
    .map(({ target, size, origins }) => ({
      target,
      size,
      // The tighter room first, so that the wider one stays free.
      origins: origins.sort((a, b) => (problem.bins[a.bin]?.size ?? 0) - (problem.bins[b.bin]?.size ?? 0)),
      count: Math.min(
        itemCount,
        origins.reduce((sum, { count }) => sum + count, 0),
      ),
    }))
    .sort((a, b) => a.size - b.size || a.target - b.target);
  return { bins, items, targets: targets.length };
}

/** Items of one size that may stand in the same targets are one class, whichever pods ask for them. */
function mergeItems(
  problem: PackingProblem,
  targets: readonly number[],
  itemIndexes: readonly number[],
  divisor: number,
): readonly ComponentItem[] {
  const merged = new Map<string, ComponentItem>();
  for (const index of itemIndexes) {
    const item = problem.items[index];
    if (item === undefined) continue;
    const mayStand = new Set(item.targets);
    const key = `${item.size}:${[...mayStand].sort((a, b) => a - b).join(',')}`;
    const same = merged.get(key);
    merged.set(key, {
      size: item.size / divisor,
      count: item.count + (same?.count ?? 0),
      allowed: same?.allowed ?? targets.map((target) => mayStand.has(target)),
      freedom: mayStand.size,
      origins: [...(same?.origins ?? []), { item: index, count: item.count }],
    });
  }
  return [...merged.values()].sort((a, b) => b.size - a.size || a.freedom - b.freedom);
}

function greatestCommonDivisor(a: number, b: number): number {
  let [high, low] = [a, b];
  while (low !== 0) [high, low] = [low, high % low];
  return high;
}

/** Writes a component's packing in the terms of the problem that it came from. */
export function packingOf(component: Component, packing: readonly ComponentPacking[]): readonly PackedBins[] {
  return splitBins(component, splitItems(component, packing));
}

/** Gives the places of a merged item to its origins, in their order; bins that come to differ are distinguished. */
function splitItems({ items }: Component, packing: readonly ComponentPacking[]): readonly PackedBins[] {
  let groups = packing.map((group) => ({ ...group, items: [] as readonly PackedItems[] }));
  for (const [index, { origins }] of items.entries()) {
    const left = origins.map((origin) => ({ ...origin }));
    groups = groups.flatMap((group) =>
      shareOut(group.bins, group.pattern[index] ?? 0, left).map(({ bins, items }) => ({
        ...group,
        bins,
        items: [...group.items, ...items],
      })),
    );
  }
  return groups.filter(({ items }) => items.length > 0).map(({ bin, bins, items }) => ({ bin, bins, items }));
}

/** Fills `bins` bins with `each` items from what is left, first come first served. */
function shareOut(
  bins: number,
  each: number,
  left: { readonly item: number; count: number }[],
): { readonly bins: number; readonly items: readonly PackedItems[] }[] {
  if (each === 0) return [{ bins, items: [] }];
  const groups: { readonly bins: number; readonly items: readonly PackedItems[] }[] = [];
  for (let open = bins; open > 0; ) {
    const taken: { readonly origin: { readonly item: number; count: number }; readonly count: number }[] = [];
    let want = each;
    let alike = open;
    for (const origin of left) {
      const count = Math.min(want, origin.count);
      if (count === 0) continue;
      taken.push({ origin, count });
      alike = Math.min(alike, Math.floor(origin.count / count));
      want -= count;
    }
    if (want > 0) throw new Error(`a packing places ${want} items more than there are`);
    for (const { origin, count } of taken) origin.count -= count * alike;
    groups.push({ bins: alike, items: taken.map(({ origin, count }) => ({ item: origin.item, count })) });
    open -= alike;
  }
  return groups;
}

/** Gives the places of a merged bin class to its origins, in their order. */
function splitBins({ bins }: Component, groups: readonly PackedBins[]): readonly PackedBins[] {
  const left = bins.map(({ origins }) => origins.map((origin) => ({ ...origin })));
  return groups.flatMap((group) => {
    const parts: PackedBins[] = [];
    let open = group.bins;
    for (const origin of left[group.bin] ?? []) {
      const count = Math.min(open, origin.count);
      if (count === 0) continue;
      origin.count -= count;
      open -= count;
      parts.push({ ...group, bin: origin.bin, bins: count });
    }
    return parts;
  });
}
