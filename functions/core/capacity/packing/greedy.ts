/**
 * Best-fit decreasing over classes of bins: a quick yes. It never proves a no, since
 * {3,5,3} fits into {7,5} and {2,3,2,2} into {5,4}, and no such rule finds both.
 */
import type { Component, ComponentPacking } from './component.ts';
import type { Work } from './work.ts';

/** Bins that are filled alike so far. */
interface Filling {
  readonly bin: number;
  readonly target: number;
  readonly free: number;
  readonly bins: number;
  readonly pattern: readonly number[];
}

/** Which filling an item tries first. */
type Preference = (a: Filling, b: Filling) => number;

/** The tightest bin anywhere. */
const BEST_FIT: Preference = (a, b) => a.free - b.free || a.target - b.target;
/** The first target that has room (the caller's order), and the tightest bin there. */
const FIRST_TARGET: Preference = (a, b) => a.target - b.target || a.free - b.free;

/**
 * Tries a few orders, cheapest and likeliest first: bins of the earlier target, the best
 * fit anywhere, and pods that have no choice of target before those that have.
 */
export function packGreedily(component: Component, work: Work): readonly ComponentPacking[] | undefined {
  const bySize = component.items.map((_, index) => index);
  const first = place(component, bySize, FIRST_TARGET, work);
  if (first !== undefined || component.targets === 1) return first;
  const byFreedom = [...bySize].sort(
    (a, b) => (component.items[a]?.freedom ?? 0) - (component.items[b]?.freedom ?? 0) || a - b,
  );
  return (
    place(component, byFreedom, FIRST_TARGET, work) ??
    place(component, bySize, BEST_FIT, work) ??
    place(component, byFreedom, BEST_FIT, work)
  );
}

function place(
  { bins, items }: Component,
  order: readonly number[],
  preference: Preference,
  work: Work,
): readonly ComponentPacking[] | undefined {
  const nothing = items.map(() => 0);
  let fillings: Filling[] = bins.map(({ target, size, count }, bin) => ({
    bin,
    target,
    free: size,
    bins: count,
    pattern: nothing,
  }));
  for (const index of order) {
    const item = items[index];
    if (item === undefined) continue;
    work.spend(2 * fillings.length);
    let left = item.count;
    const next: Filling[] = [];
    for (const filling of fillings.sort(preference)) {
      if (left === 0 || filling.free < item.size || !item.allowed[filling.target]) {
        next.push(filling);
        continue;
      }
      left = fill(filling, index, item.size, left, next);
    }
    if (left > 0) return undefined;
    fillings = next;
  }
  return fillings.map(({ bin, bins, pattern }) => ({ bin, bins, pattern }));
}

/**
 * Fills these bins as full of one item as it goes, one bin after the other: a bin that took
 * one is a tighter fit for the next. At most one bin of the class ends up part full, so
 * classes grow by two an item at most. Returns how many are left.
 */
function fill(filling: Filling, index: number, size: number, count: number, into: Filling[]): number {
  const each = Math.floor(filling.free / size);
  const full = Math.min(filling.bins, Math.floor(count / each));
  const rest = full < filling.bins ? count - full * each : 0;
  const put = (bins: number, copies: number) => {
    if (bins === 0) return;
    const pattern = filling.pattern.with(index, copies);
    into.push({ ...filling, bins, free: filling.free - copies * size, pattern });
  };
  put(full, each);
  put(rest > 0 ? 1 : 0, rest);
  put(filling.bins - full - (rest > 0 ? 1 : 0), 0);
  return count - full * each - rest;
}
