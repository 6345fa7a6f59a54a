/**
 * The configuration LP of Gilmore and Gomory ("A linear programming approach to the
 * cutting stock problem", Operations Research 9, 1961), for bins of several sizes and
 * items with a choice of targets: how often each way of filling a bin is used, fractions
 * allowed. It settles what is too large for a search:
 *
 * - where it has no solution, its dual prices *prove* the no. The prices come out of
 *   floating point, so they are rounded to integers and the proof is made again in exact
 *   arithmetic; a no never rests on a float;
 * - where it has one, the whole part of it is a packing of nearly everything, and what is
 *   left is small enough for the search.
 */
import type { Component, ComponentPacking } from './component.ts';
import { type KnapsackTable, knapsack, MAX_TABLE_ROOM } from './knapsack.ts';
import type { Work } from './work.ts';

/** One way of filling a bin of a class, and how many bins are filled so; not a whole number in general. */
export interface FractionalPattern {
  readonly bin: number;
  readonly bins: number;
  readonly pattern: readonly number[];
}

export type LpOutcome =
  | { readonly kind: 'impossible' }
  | { readonly kind: 'fractional'; readonly patterns: readonly FractionalPattern[] }
  | { readonly kind: 'none' };

/** The basis inverse is dense; beyond this it costs more than it is likely to bring. */
const MAX_ROWS = 160;

/** Below this a float is 0. Figures are counts of bins and prices of items, both near 1. */
const EPSILON = 1e-9;

/** Prices are rounded to multiples of 2^-24 of the largest. */
const PRICE_STEPS = 2 ** 24;

/** Solves the LP; `none` where it is too large or work ran out. */
export function solveConfigurationLp(component: Component, work: Work): LpOutcome {
  const { bins, items } = component;
  const rows = bins.length + items.length;
  const largest = bins.at(-1)?.size ?? 0;
  if (rows > MAX_ROWS || largest > MAX_TABLE_ROOM) return { kind: 'none' };
  const simplex = new Simplex(component);
  // Far more than such a program takes; without a bound it could cycle.
  for (let iteration = 0; iteration < 50 * rows; iteration++) {
    work.spend((rows * rows + tableCost(component)) / 10);
    if (work.exhausted) return { kind: 'none' };
    if (simplex.unplaced() < EPSILON * rows) break;
    const entering = simplex.bestColumn();
    if (entering === undefined) break;
    simplex.pivot(entering);
  }
  if (simplex.unplaced() > EPSILON * rows && provesImpossible(component, simplex.itemPrices())) {
    return { kind: 'impossible' };
  }
  return { kind: 'fractional', patterns: simplex.patterns() };
}

/** About what one round of pricing takes. */
function tableCost({ bins, items, targets }: Component): number {
  const largest = bins.at(-1)?.size ?? 0;
  return (
    targets *
    items.reduce((sum, { size, count }) => sum + largest * Math.min(count, Math.ceil(largest / size)), 0)
  );
}

/**
 * Exact: whether, at these prices, the items are worth more than all bins together can
 * hold. Then no packing exists, whatever the prices are and wherever they came from.
 */
export function provesImpossible(component: Component, prices: readonly number[]): boolean {
  const highest = Math.max(...prices);
  if (!(highest > 0)) return false;
  const whole = prices.map((price) => Math.max(0, Math.round((price / highest) * PRICE_STEPS)));
  const tables = pricingTables(component, whole);
  const asked = component.items.reduce(
    (sum, { count }, index) => sum + BigInt(count) * BigInt(whole[index] ?? 0),
    0n,
  );
  const held = component.bins.reduce(
    (sum, { target, size, count }) => sum + BigInt(count) * BigInt(tables[target]?.value(size) ?? 0),
    0n,
  );
  return asked > held;
}

/** For each target, the most valuable filling of a room. */
function pricingTables(
  { bins, items, targets }: Component,
  prices: readonly number[],
): readonly KnapsackTable[] {
  return Array.from({ length: targets }, (_, target) => {
    const largest = bins.reduce((size, bin) => (bin.target === target ? Math.max(size, bin.size) : size), 0);
    const values = items.map(({ allowed }, index) => (allowed[target] ? (prices[index] ?? 0) : 0));
    return knapsack(items, values, largest);
  });
}

type Column =
  | { readonly kind: 'pattern'; readonly bin: number; readonly pattern: readonly number[] }
  | { readonly kind: 'emptyBin'; readonly bin: number }
  | { readonly kind: 'unplaced'; readonly item: number }
  | { readonly kind: 'surplus'; readonly item: number };

/**
 * Revised simplex with columns made as they are needed. Rows: bins of a class that are
 * used and left empty add up to its count; items of a class placed and unplaced add up to
 * at least its count. It minimises the accelerators of what is unplaced.
 */
class Simplex {
  readonly #component: Component;
  readonly #rows: number;
  readonly #basis: Column[];
  readonly #inverse: Float64Array[];
  readonly #values: Float64Array;

  constructor(component: Component) {
    const { bins, items } = component;
    this.#component = component;
    this.#rows = bins.length + items.length;
    this.#basis = [
      ...bins.map((_, bin): Column => ({ kind: 'emptyBin', bin })),
      ...items.map((_, item): Column => ({ kind: 'unplaced', item })),
    ];
    this.#inverse = this.#basis.map((_, row) => new Float64Array(this.#rows).fill(0).fill(1, row, row + 1));
    this.#values = Float64Array.from([...bins, ...items], ({ count }) => count);
  }

  /** The objective. */
  unplaced(): number {
    return this.#basis.reduce(
      (sum, column, row) => sum + this.#cost(column) * Math.max(0, this.#values[row] ?? 0),
      0,
    );
  }

  #cost(column: Column): number {
    return column.kind === 'unplaced' ? (this.#component.items[column.item]?.size ?? 0) : 0;
  }

  #duals(): Float64Array {
    const duals = new Float64Array(this.#rows);
    for (const [row, column] of this.#basis.entries()) {
      const cost = this.#cost(column);
      const inverse = this.#inverse[row];
      if (cost === 0 || inverse === undefined) continue;
      for (let index = 0; index < this.#rows; index++) {
        duals[index] = (duals[index] ?? 0) + cost * (inverse[index] ?? 0);
      }
    }
    return duals;
  }

  itemPrices(): readonly number[] {
    return [...this.#duals().subarray(this.#component.bins.length)];
  }

  /** The column whose entry lowers the objective fastest; `undefined` at the optimum. */
  bestColumn(): Column | undefined {
    const { bins, items } = this.#component;
    const duals = this.#duals();
    const prices = [...duals.subarray(bins.length)];
    let best: Column | undefined;
    let gain = EPSILON;
    const consider = (value: number, column: () => Column) => {
      if (value <= gain) return;
      gain = value;
      best = column();
    };
    const tables = pricingTables(this.#component, prices);
    for (const [bin, { target, size }] of bins.entries()) {
      const price = duals[bin] ?? 0;
      const table = tables[target];
      if (table === undefined) continue;
      consider(price + table.value(size), () => ({ kind: 'pattern', bin, pattern: table.selection(size) }));
      consider(price, () => ({ kind: 'emptyBin', bin }));
    }
    for (const item of items.keys()) consider(-(prices[item] ?? 0), () => ({ kind: 'surplus', item }));
    return best;
  }

  #coefficients(column: Column): Float64Array {
    const bins = this.#component.bins.length;
    const entries = new Float64Array(this.#rows);
    if (column.kind === 'emptyBin') entries[column.bin] = 1;
    else if (column.kind === 'unplaced') entries[bins + column.item] = 1;
    else if (column.kind === 'surplus') entries[bins + column.item] = -1;
    else {
      entries[column.bin] = 1;
      for (const [item, count] of column.pattern.entries()) entries[bins + item] = count;
    }
    return entries;
  }

  pivot(entering: Column): void {
    const column = this.#coefficients(entering);
    const direction = this.#inverse.map((row) => {
      let sum = 0;
      for (let index = 0; index < row.length; index++) sum += (row[index] ?? 0) * (column[index] ?? 0);
      return sum;
    });
    let leaving = -1;
    let step = Number.POSITIVE_INFINITY;
    for (const [row, change] of direction.entries()) {
      if (change <= EPSILON) continue;
      const ratio = Math.max(0, this.#values[row] ?? 0) / change;
      // Of equal ratios the larger pivot: it loses fewer digits.
      if (ratio < step - EPSILON || (ratio <= step && change > (direction[leaving] ?? 0))) {
        step = ratio;
        leaving = row;
      }
    }
    const pivotRow = this.#inverse[leaving];
    const pivot = direction[leaving];
    if (pivotRow === undefined || pivot === undefined) return;
    for (let index = 0; index < this.#rows; index++) pivotRow[index] = (pivotRow[index] ?? 0) / pivot;
    for (const [row, change] of direction.entries()) {
      const inverse = this.#inverse[row];
      if (row === leaving || change === 0 || inverse === undefined) continue;
      for (let index = 0; index < this.#rows; index++) {
        inverse[index] = (inverse[index] ?? 0) - change * (pivotRow[index] ?? 0);
      }
      this.#values[row] = (this.#values[row] ?? 0) - change * step;
    }
    this.#values[leaving] = step;
    this.#basis[leaving] = entering;
  }

  patterns(): readonly FractionalPattern[] {
    return this.#basis.flatMap((column, row) => {
      const bins = this.#values[row] ?? 0;
      return column.kind === 'pattern' && bins > EPSILON
        ? [{ bin: column.bin, bins, pattern: column.pattern }]
        : [];
    });
  }
}

/** The whole part of a fractional solution, and the component that remains to be packed. */
export function wholePart(
  component: Component,
  patterns: readonly FractionalPattern[],
): { readonly packing: readonly ComponentPacking[]; readonly rest: Component } {
  const bins = component.bins.map(({ count }) => count);
  const items = component.items.map(({ count }) => count);
  const packing: ComponentPacking[] = [];
  for (const { bin, bins: amount, pattern } of patterns) {
    // A hair below a whole number is that number.
    const whole = Math.min(Math.floor(amount + 1e-6), bins[bin] ?? 0);
    if (whole <= 0) continue;
    // The LP may place more than there is; a bin that takes less has room to spare.
    let left = whole;
    while (left > 0) {
      const taken = pattern.map((count, item) => Math.min(count, items[item] ?? 0));
      const times = taken.reduce(
        (most, count, item) => (count > 0 ? Math.min(most, Math.floor((items[item] ?? 0) / count)) : most),
        left,
      );
      if (taken.every((count) => count === 0)) break;
      for (const [item, count] of taken.entries()) items[item] = (items[item] ?? 0) - times * count;
      bins[bin] = (bins[bin] ?? 0) - times;
      packing.push({ bin, bins: times, pattern: taken });
      left -= times;
    }
  }
  const rest = {
    ...component,
    bins: component.bins.map((bin, index) => ({ ...bin, count: bins[index] ?? 0 })),
    items: component.items.map((item, index) => ({ ...item, count: items[index] ?? 0 })),
  };
  return { packing, rest };
}
