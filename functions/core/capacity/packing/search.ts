/**
 * Exact search, for what neither a rule of thumb nor a bound has settled.
 *
 * It fills bins one after the other, smallest class first. Of all ways to pack, take the
 * one whose sequence of patterns (within a class: largest first; a pattern is the number
 * of each item, larger items first) is lexicographically greatest. If any packing exists,
 * so does this one, and it has two properties by which the search may prune:
 *
 * - within a class the patterns never rise, or they could be sorted;
 * - no pattern is *dominated*: there is no item L in a later bin that could change places
 *   with a selection Q of smaller items of this bin (Q may be empty, so every pattern is
 *   maximal), for that would make the sequence greater. (Martello and Toth's dominance,
 *   "Knapsack Problems", 1990, ch. 8, for bins of several sizes; where pods have a choice
 *   of targets, Q must be allowed wherever L is.)
 *
 * States that failed are remembered: what is left to place, over which multiset of bins.
 */
import type { Component, ComponentPacking } from './component.ts';
import { packDivisible } from './divisible.ts';
import { packGreedily } from './greedy.ts';
import { MAX_TABLE_ROOM } from './knapsack.ts';
import type { Work } from './work.ts';

/** Decides the component exactly, or answers `undecided` when the work is used up. */
export function search(
  component: Component,
  work: Work,
): readonly ComponentPacking[] | 'impossible' | 'undecided' {
  const state = new Search(component, work);
  if (state.run()) return state.packing;
  return work.exhausted ? 'undecided' : 'impossible';
}

/** States kept at most; about 100 bytes each. The search stays exact without them, only slower. */
const MAX_REMEMBERED = 200_000;

class Search {
  readonly packing: ComponentPacking[] = [];
  readonly #failed = new Set<string>();
  readonly #left: number[];
  readonly #canReplace: readonly (readonly boolean[])[];

  constructor(
    private readonly component: Component,
    private readonly work: Work,
  ) {
    this.#left = component.items.map(({ count }) => count);
    // [Q][L]: the smaller item Q may stand wherever the larger item L may.
    this.#canReplace = component.items.map((small) =>
      component.items.map((large) =>
        large.allowed.every((allowed, target) => !allowed || small.allowed[target]),
      ),
    );
  }

  run(): boolean {
    const { bins, items } = this.component;
    const room = bins.reduce((sum, { size, count }) => sum + size * count, 0);
    const load = items.reduce((sum, { size, count }) => sum + size * count, 0);
    return load <= room && this.#fillBins(0, bins[0]?.count ?? 0, undefined, room - load);
  }

  /**
   * Fills the `open` bins that are left of a class, and then the classes after it.
   * `ceiling` is the pattern below which the next one must stay, `slack` the room that
   * may stay empty. True: packed, and `packing` says how. False: no, or out of work.
   */
  #fillBins(bin: number, open: number, ceiling: readonly number[] | undefined, slack: number): boolean {
    if (slack < 0 || this.work.exhausted) return false;
    if (this.#left.every((count) => count === 0)) return true;
    const { bins } = this.component;
    const here = bins[bin];
    if (here === undefined) return false;
    if (open === 0) return this.#fillBins(bin + 1, bins[bin + 1]?.count ?? 0, undefined, slack);

    const key = `${bin}|${open}|${ceiling?.join(',') ?? ''}|${this.#left.join(',')}`;
    this.work.spend(10 + this.#left.length);
    if (this.#failed.has(key)) return false;
    const settled = this.#settleRest(bin, open);
    if (settled !== undefined) return settled;

    let fitsNothing = true;
    for (const pattern of this.#patterns(here.target, here.size, slack, ceiling)) {
      fitsNothing = false;
      const waste = here.size - weigh(pattern, this.component);
      const affordable = waste === 0 ? open : Math.min(open, Math.floor(slack / waste));
      for (let bins = this.#copies(pattern, affordable); bins > 0; bins--) {
        this.#take(pattern, bins);
        this.packing.push({ bin, bins, pattern });
        if (this.#fillBins(bin, open - bins, pattern, slack - bins * waste)) return true;
        this.packing.pop();
        this.#take(pattern, -bins);
        if (this.work.exhausted) return false;
      }
    }
    // An empty bin is dominated by every item that fits, so it is tried only where none does.
    const maySkip = fitsNothing && !this.#anyFits(here.target, here.size);
    if (maySkip && this.#fillBins(bin + 1, bins[bin + 1]?.count ?? 0, undefined, slack - open * here.size)) {
      return true;
    }
    if (!this.work.exhausted && this.#failed.size < MAX_REMEMBERED) this.#failed.add(key);
    return false;
  }

  /** Packs what is left by the quick ways, exactly where sizes divide one another; `undefined`: neither settles it. */
  #settleRest(bin: number, open: number): boolean | undefined {
    const { component } = this;
    const left = component.items.flatMap((item, index) => {
      const count = this.#left[index] ?? 0;
      return count === 0 ? [] : [{ index, item: { ...item, count } }];
    });
    const rest: Component = {
      targets: component.targets,
      items: left.map(({ item }) => item),
      bins: component.bins
        .slice(bin)
        .map((later, index) => (index === 0 ? { ...later, count: open } : later)),
    };
    this.work.spend(20 * (rest.items.length + rest.bins.length));
    const divisible = packDivisible(rest, this.work);
    if (divisible === 'impossible') return false;
    const packed = divisible === 'unsuited' ? packGreedily(rest, this.work) : divisible;
    if (packed === undefined) return undefined;
    for (const group of packed) {
      const pattern = component.items.map(() => 0);
      for (const [position, { index }] of left.entries()) pattern[index] = group.pattern[position] ?? 0;
      this.packing.push({ bin: bin + group.bin, bins: group.bins, pattern });
    }
    return true;
  }

  /** Undominated patterns of one bin, greatest first, below the ceiling and within the slack. */
  *#patterns(
    target: number,
    room: number,
    slack: number,
    ceiling: readonly number[] | undefined,
  ): Generator<readonly number[]> {
    const { items } = this.component;
    const pattern = items.map(() => 0);
    const left = this.#left;
    const choose = function* (
      this: Search,
      index: number,
      free: number,
      tight: boolean,
    ): Generator<readonly number[]> {
      this.work.spend(4);
      if (this.work.exhausted) return;
      const item = items[index];
      if (item === undefined) {
        // Still tight here: it is the ceiling itself, which has had its turn.
        if (!tight && free < room && free <= slack && !this.#isDominated(pattern, target, free))
          yield [...pattern];
        return;
      }
      const most = item.allowed[target] ? Math.min(left[index] ?? 0, Math.floor(free / item.size)) : 0;
      const cap = ceiling?.[index] ?? 0;
      for (let count = tight ? Math.min(most, cap) : most; count >= 0; count--) {
        pattern[index] = count;
        yield* choose.call(this, index + 1, free - count * item.size, tight && count === cap);
      }
      pattern[index] = 0;
    };
    yield* choose.call(this, 0, room, ceiling !== undefined);
  }

  /** Whether an item that this bin leaves for later could change places with smaller ones in it. */
  #isDominated(pattern: readonly number[], target: number, free: number): boolean {
    const { items } = this.component;
    for (let large = items.length - 1; large >= 0; large--) {
      const item = items[large];
      if (item === undefined || !item.allowed[target] || (this.#left[large] ?? 0) <= (pattern[large] ?? 0))
        continue;
      if (item.size <= free) return true;
      if (item.size <= MAX_TABLE_ROOM && this.#hasSelection(pattern, large, item.size - free, item.size))
        return true;
    }
    return false;
  }

  /** Whether smaller items of the pattern that may stand in for `large` add up to between the two sums. */
  #hasSelection(pattern: readonly number[], large: number, least: number, most: number): boolean {
    const { items } = this.component;
    const reachable = new Uint8Array(most + 1);
    reachable[0] = 1;
    let highest = 0;
    for (let index = large + 1; index < items.length; index++) {
      const size = items[index]?.size ?? 0;
      if (!this.#canReplace[index]?.[large]) continue;
      for (let copy = pattern[index] ?? 0; copy > 0; copy--) {
        this.work.spend(2);
        for (let sum = Math.min(highest, most - size); sum >= 0; sum--) {
          if (reachable[sum] === 1) reachable[sum + size] = 1;
        }
        highest = Math.min(most, highest + size);
      }
    }
    for (let sum = least; sum <= highest; sum++) if (reachable[sum] === 1) return true;
    return false;
  }

  #anyFits(target: number, room: number): boolean {
    return this.component.items.some(
      ({ allowed, size }, index) => allowed[target] && size <= room && (this.#left[index] ?? 0) > 0,
    );
  }

  #copies(pattern: readonly number[], open: number): number {
    let most = open;
    for (const [index, count] of pattern.entries()) {
      if (count > 0) most = Math.min(most, Math.floor((this.#left[index] ?? 0) / count));
    }
    return most;
  }

  #take(pattern: readonly number[], times: number): void {
    for (const [index, count] of pattern.entries())
      this.#left[index] = (this.#left[index] ?? 0) - times * count;
  }
}

function weigh(pattern: readonly number[], { items }: Component): number {
  return pattern.reduce((sum, count, index) => sum + count * (items[index]?.size ?? 0), 0);
}
