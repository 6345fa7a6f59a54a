import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addFractions,
  compareDecimals,
  compareFractions,
  type Decimal,
  formatFraction,
  fraction,
  parseDecimal,
  ZERO,
} from '../../../functions/core/capacity/decimal.ts';

function decimal(text: string): Decimal {
  const parsed = parseDecimal(text);
  if (parsed === undefined) throw new Error(`${text} is no decimal`);
  return parsed;
}

describe('a price', () => {
  test('is plain digits with at most one point', () => {
    expect(decimal('55.040000')).toEqual({ units: 55_040_000n, scale: 6 });
    for (const text of ['', '-1', '+1', '1e3', ' 1', '1.', '.5', '1.2.3', '1,5', '٣', '9'.repeat(65)]) {
      expect(parseDecimal(text)).toBeUndefined();
    }
  });

  test('compares by its value, not by its digits', () => {
    expect(compareDecimals(decimal('1'), decimal('1.000'))).toBe(0);
    expect(compareDecimals(decimal('9.5'), decimal('10'))).toBe(-1);
    // As floats these two are equal.
    expect(compareDecimals(decimal('0.10000000000000000001'), decimal('0.1'))).toBe(1);
  });

  test('adds up exactly', () => {
    const sum = addFractions(fraction(decimal('0.1'), 1n, 1n), fraction(decimal('0.2'), 1n, 1n));
    expect(formatFraction(sum)).toEqual({ amount: '0.3', roundedUp: false });
  });

  test('is written exactly where it ends as a decimal', () => {
    expect(formatFraction(fraction(decimal('55.04'), 5n, 8n))).toEqual({ amount: '34.4', roundedUp: false });
    expect(formatFraction(fraction(decimal('1'), 1n, 1_024n)).amount).toBe('0.0009765625');
    expect(formatFraction(ZERO).amount).toBe('0');
  });

  test('is rounded up in the twelfth place, and says so, where it does not end', () => {
    expect(formatFraction(fraction(decimal('1'), 1n, 6n))).toEqual({
      amount: '0.166666666667',
      roundedUp: true,
    });
    expect(formatFraction(fraction(decimal('2'), 3n, 6n))).toEqual({ amount: '1', roundedUp: false });
  });

  test('ranks as its value, however it is put together', () => {
    const amounts = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 9n }), fc.nat(6))
      .map(([units, scale]) => ({ units, scale }));
    const parts = fc.bigInt({ min: 1n, max: 16n });
    fc.assert(
      fc.property(amounts, parts, parts, parts, (amount, a, b, times) => {
        const whole = fraction(amount, a, b);
        expect(compareFractions(whole, fraction(amount, a * times, b * times))).toBe(0);
        expect(compareFractions(whole, addFractions(whole, fraction({ units: 1n, scale: 9 }, 1n, 1n)))).toBe(
          -1,
        );
      }),
    );
  });
});
