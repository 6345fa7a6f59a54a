import { describe, expect, test } from 'vitest';
import { componentsOf } from '../../../../functions/core/capacity/packing/component.ts';
import { provesImpossible } from '../../../../functions/core/capacity/packing/configuration-lp.ts';
import { problemOf } from './problems.ts';

function proves(bins: readonly number[], items: readonly number[], prices: readonly number[]): boolean {
  const [component] = componentsOf(problemOf(bins, items));
  if (component === undefined) throw new Error('The problem has no component.');
  return provesImpossible(component, prices);
}

describe('Prices prove that a packing is impossible', () => {
  test('only if the items are worth more than the bins can hold: what is worth as much may fit', () => {
    // 3 + 2 in each bin, to the brim. A price an item class, the largest first.
    expect(proves([5, 5], [3, 2, 3, 2], [3, 2])).toBe(false);
    expect(proves([5, 5], [3, 3, 3, 2], [3, 2])).toBe(true);
  });

  test('whatever the prices are, since they come out of floating point', () => {
    // Two of 3 do not fit into 5: at the price of 3 alone a bin holds one.
    expect(proves([5, 5], [3, 3, 2], [1, 0])).toBe(false);
    expect(proves([5, 5], [3, 3, 3, 2], [1, 0])).toBe(true);
    expect(proves([5, 5], [3, 3, 3, 2], [1, -1e-12])).toBe(true);
    for (const useless of [
      [0, 0],
      [-1, -2],
      [Number.NaN, 1],
      [0, 1],
    ]) {
      expect([useless, proves([5, 5], [3, 3, 3, 2], useless)]).toEqual([useless, false]);
    }
  });
});
