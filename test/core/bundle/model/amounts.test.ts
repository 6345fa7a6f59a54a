/** Amounts against rational numbers in bigint. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Amount, fits, NOTHING, sumOf } from '../../../../functions/core/bundle/model/amounts.ts';
import { planBundles } from '../../../../functions/core/bundle/plan/plan.ts';
import { bundle, job, node, pool } from '../builders.ts';

const of = Amount.of;

/** The decimal that is so many billionths, as a client writes it. */
function billionths(units: bigint): number {
  const digits = units.toString().padStart(10, '0');
  return Number(`${digits.slice(0, -9)}.${digits.slice(-9)}`);
}

const SCALE = 414n;

/** In units of 10^-414, of which every decimal of 15 digits that is a double's is a whole number. */
function inFinestUnits(value: number): bigint {
  const [digits = '', power = ''] = value.toExponential(14).split('e');
  return BigInt(digits.replace('.', '')) * 10n ** (SCALE - 14n + BigInt(power));
}

/** Terms of up to nine fraction digits, so large and so many that their sum has 15 digits at most. */
const terms = fc.array(
  fc.oneof(
    fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }),
    fc.integer({ min: 0, max: 999 }).map((tenths) => BigInt(tenths) * 10n ** 8n),
  ),
  { minLength: 1, maxLength: 1_000, size: 'max' },
);
/** How far the limit is from the sum. */
const margin = fc.oneof(fc.constantFrom(0n, 1n, -1n), fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }));

const anyDouble = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });

describe('whether amounts fit', () => {
  it('is what rational numbers say, for a thousand decimals of nine fraction digits', () => {
    fc.assert(
      fc.property(terms, margin, (units, by) => {
        const sum = units.reduce((a, b) => a + b, 0n);
        const limit = sum + by < 0n ? 0n : sum + by;
        const [need = 0n, ...taken] = units;
        const fit = fits(
          sumOf(taken.map((unit) => of(billionths(unit)))),
          of(billionths(need)),
          of(billionths(limit)),
        );
        expect(fit).toBe(sum <= limit);
      }),
    );
  });

  it('is what rational numbers say, for decimals of 15 digits from the largest to the finest', () => {
    fc.assert(
      fc.property(fc.array(anyDouble, { maxLength: 8 }), anyDouble, anyDouble, (taken, need, limit) => {
        const sum = [...taken, need].reduce((units, value) => units + inFinestUnits(value), 0n);
        expect(fits(sumOf(taken.map(of)), of(need), of(limit))).toBe(sum <= inFinestUnits(limit));
      }),
      { numRuns: 1_000 },
    );
  });

  it('does not depend on the order in which they are added', () => {
    const shuffled = fc
      .array(fc.oneof(anyDouble, fc.double({ min: 0, max: 1, noNaN: true })), { minLength: 1, maxLength: 50 })
      .chain((all) =>
        fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }), fc.nat(all.length)),
      );
    fc.assert(
      fc.property(shuffled, ([all, other, cut]) => {
        const inOrder = sumOf(all.map(of));
        const inHalves = sumOf(other.slice(0, cut).map(of)).plus(sumOf(other.slice(cut).map(of)));
        expect(inHalves.key).toBe(inOrder.key);
        expect(inHalves.compare(inOrder)).toBe(0);
        expect(fits(inHalves, NOTHING, inOrder)).toBe(true);
      }),
    );
  });

  it.each([
    ['0.1 and 0.2 are 0.3', [0.1], 0.2, 0.3, true],
    ['a tenth of 0.7 ten times is 0.7, and not less', Array(9).fill(0.07), 0.07, 0.7, true],
    ['and a billionth more than that is too much', Array(9).fill(0.07), 0.070000001, 0.7, false],
    ['what a worker added up in doubles', [0.1 + 0.2], 0.7, 1, true],
    ['nothing into nothing', [0], 0, 0, true],
    ['nothing into what is overdrawn', [0.3], 0, 0.2, false],
    ['the smallest of all doubles into nothing', [], 5e-324, 0, false],
    ['a ten thousandth of a millionth into nothing', [], 1e-10, 0, false],
    ['the same into room for just that', [], 1e-10, 1e-10, true],
    ['a little beside much', [1e15], 1e-10, 1e15, false],
    ['the largest double', [], Number.MAX_VALUE, Number.MAX_VALUE, true],
    ['twice the largest double', [Number.MAX_VALUE], Number.MAX_VALUE, Number.MAX_VALUE, false],
    ['next to nothing beside the largest double', [Number.MAX_VALUE], 5e-324, Number.MAX_VALUE, false],
    ['an infinite need', [], Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, false],
    ['a need beside what is infinite', [Number.POSITIVE_INFINITY], 1, Number.POSITIVE_INFINITY, false],
    ['the largest double without a limit', [], Number.MAX_VALUE, Number.POSITIVE_INFINITY, true],
    ['a need that is no number', [], Number.NaN, 1, false],
    ['a need under a limit that is none', [], 1, Number.NaN, false],
  ])('%s', (_, taken, need, limit, expected) => {
    expect(fits(sumOf(taken.map(of)), of(need), of(limit))).toBe(expected);
  });
});

describe('an amount', () => {
  it('times a share is exact: 0.7 of 10 × 0.07', () => {
    expect(10 * 0.07).toBe(0.7000000000000001);
    expect(Amount.product(10, 0.07).compare(of(0.7))).toBe(0);
    fc.assert(
      fc.property(anyDouble, fc.double({ min: 0, max: 1, noNaN: true }), anyDouble, (total, cap, need) => {
        const limit = inFinestUnits(total) * inFinestUnits(cap);
        expect(fits(NOTHING, of(need), Amount.product(total, cap))).toBe(
          inFinestUnits(need) * 10n ** SCALE <= limit,
        );
      }),
    );
  });

  it('less another is what must be added again', () => {
    fc.assert(
      fc.property(anyDouble, anyDouble, (a, b) => {
        expect(of(a).minus(of(b)).plus(of(b)).key).toBe(of(a).key);
      }),
    );
  });

  it('is told as the decimal that it is', () => {
    expect(`${of(0.1).plus(of(0.2))}`).toBe('0.3');
    expect(`${of(1e-10).plus(of(2e-10))}`).toBe('3e-10');
    expect(`${of(1e300)}`).toBe('1e+300');
    expect(`${of(1e308).plus(of(1.7e308))}`).toBe('2.7e+308');
    expect(`${of(-9e307).minus(of(1e308)).minus(of(1e308))}`).toBe('-2.9e+308');
    expect(`${of(Infinity)} ${of(-Infinity)} ${of(NaN)}`).toBe('Infinity -Infinity NaN');
  });
});

describe('a plan', () => {
  const outcome = (totalCapacity: number, needs: readonly number[], utilizationCap = 1) =>
    planBundles(
      [bundle(needs.map((requiredCapacity, i) => job(`j${i}`, { requiredCapacity })))],
      [pool()],
      [node('n', { totalCapacity, utilizationCap })],
    )[0]?.outcome;

  it('places nothing of any size on a node of no capacity', () => {
    expect(outcome(0, [1e-10])).toBe('unplaced');
    expect(outcome(0, [5e-324])).toBe('unplaced');
    expect(outcome(0, [0])).toBe('placed');
  });

  it('fills a node to the last tenth, and no further', () => {
    expect(outcome(10, Array(10).fill(0.7), 0.7)).toBe('placed');
    expect(outcome(10, [...Array(9).fill(0.7), 0.700000001], 0.7)).toBe('unplaced');
    expect(outcome(1e12, [...Array(9).fill(1e11), 1e11 + 0.001])).toBe('unplaced');
  });

  it('adds up what is near the largest double', () => {
    expect(outcome(Number.MAX_VALUE, [Number.MAX_VALUE])).toBe('placed');
    expect(outcome(Number.MAX_VALUE, [Number.MAX_VALUE, 1])).toBe('unplaced');
  });
});
