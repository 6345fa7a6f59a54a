/**
 * Sizes of which each divides the next larger one (1, 2, 4, 8: nearly everything that
 * runs on accelerators) need no search.
 *
 * Take the pods largest first. When those larger than s have been placed, a bin of room F
 * has ⌊(F − Σ larger) / s⌋ slots for s, and since s divides every larger size, that is
 * ⌊F/s⌋ − Σ larger/s: *where* the larger ones stand changes nothing in the sum over the
 * bins. So the pods fit if and only if, for every size s,
 *
 *     Σ over pods of size ≥ s of size/s  ≤  Σ over bins of ⌊room/s⌋,
 *
 * and any rule that takes the largest first finds the packing. (Coffman, Garey and
 * Johnson, "Bin packing with divisible item sizes", Journal of Complexity 3, 1987, show it
 * for first-fit decreasing and equal bins; the counting argument above is for any bins.)
 */
import type { Component, ComponentItem, ComponentPacking } from './component.ts';
import { packGreedily } from './greedy.ts';
import type { Work } from './work.ts';

/**
 * Decides a component exactly, or answers `unsuited` where this argument does not hold:
 * sizes that do not divide one another, or pods with different choices of targets. A pod
 * with one target beside pods that may stand in all of them is within it.
 */
export function packDivisible(
  component: Component,
  work: Work,
): readonly ComponentPacking[] | 'impossible' | 'unsuited' {
  const sizes = chainOfSizes(component.items);
  if (sizes === undefined || !hasOneChoice(component)) return 'unsuited';
  work.spend(sizes.length * (component.bins.length + component.items.length * component.targets));
  const shares = assignTargets(component, sizes);
  if (shares === 'impossible') return 'impossible';
  return component.targets === 1 ? packedOrThrow(component, work) : packTargets(component, shares, work);
}

/** The distinct sizes, largest first, if each divides the one before it. */
export function chainOfSizes(items: readonly ComponentItem[]): readonly number[] | undefined {
  const sizes: number[] = [];
  for (const { size } of items) {
    const larger = sizes.at(-1);
    if (larger === size) continue;
    if (larger !== undefined && larger % size !== 0) return undefined;
    sizes.push(size);
  }
  return sizes;
}

/** Every item stands in exactly one target or may stand in any of the component's. */
function hasOneChoice({ items, targets }: Component): boolean {
  return items.every(({ freedom }) => freedom === 1 || freedom === targets);
}

/** For each item, how many of it go to each target. */
type Shares = readonly (readonly number[])[];

/**
 * Splits the pods with a choice over the targets. Room for size s in a target is what the
 * inequality leaves at s and, since a larger pod also takes from every smaller size, at
 * all sizes below. A pod of size s takes the same amount of it wherever it goes, so
 * taking the first target with room is as good as any other choice.
 */
function assignTargets({ bins, items, targets }: Component, sizes: readonly number[]): Shares | 'impossible' {
  const slots = Array.from({ length: targets }, () => sizes.map(() => 0));
  for (const { target, size, count } of bins) {
    const row = slots[target];
    for (const [level, unit] of sizes.entries()) {
      if (row !== undefined) row[level] = (row[level] ?? 0) + count * Math.floor(size / unit);
    }
  }
  const take = (target: number, size: number, count: number) => {
    const row = slots[target];
    for (const [level, unit] of sizes.entries()) {
      if (row !== undefined && unit <= size) row[level] = (row[level] ?? 0) - count * (size / unit);
    }
  };
  const shares = items.map(() => new Array<number>(targets).fill(0));

  for (const [index, item] of items.entries()) {
    if (item.freedom !== 1) continue;
    const target = item.allowed.indexOf(true);
    take(target, item.size, item.count);
    shares[index] = new Array<number>(targets).fill(0).with(target, item.count);
  }
  if (slots.some((row) => row.some((left) => left < 0))) return 'impossible';

  for (const [index, item] of items.entries()) {
    if (item.freedom === 1) continue;
    let left = item.count;
    for (let target = 0; target < targets && left > 0; target++) {
      const count = Math.min(left, roomFor(item.size, sizes, slots[target] ?? []));
      take(target, item.size, count);
      left -= count;
      shares[index] = (shares[index] ?? []).with(target, count);
    }
    if (left > 0) return 'impossible';
  }
  return shares;
}

function roomFor(size: number, sizes: readonly number[], slots: readonly number[]): number {
  let room = Number.POSITIVE_INFINITY;
  for (const [level, unit] of sizes.entries()) {
    if (unit <= size) room = Math.min(room, Math.floor(((slots[level] ?? 0) * unit) / size));
  }
  return room;
}

function packTargets(component: Component, shares: Shares, work: Work): readonly ComponentPacking[] {
  const packing: ComponentPacking[] = [];
  for (let target = 0; target < component.targets; target++) {
    const bins = component.bins.flatMap((bin, index) =>
      bin.target === target ? [{ ...bin, target: 0, index }] : [],
    );
    const items = component.items.map((item, index) => ({
      ...item,
      allowed: [true],
      freedom: 1,
      count: shares[index]?.[target] ?? 0,
    }));
    for (const group of packedOrThrow({ bins, items, targets: 1 }, work)) {
      const bin = bins[group.bin];
      if (bin !== undefined) packing.push({ ...group, bin: bin.index });
    }
  }
  return packing;
}

function packedOrThrow(component: Component, work: Work): readonly ComponentPacking[] {
  const packing = packGreedily(component, work);
  if (packing === undefined) throw new Error('divisible sizes that were counted to fit were not packed');
  return packing;
}
