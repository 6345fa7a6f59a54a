/**
 * Exact decimals and fractions of them. A price never becomes a float: 0.1 + 0.2 would
 * not be 0.3, and two clusters that cost the same would not rank the same.
 */

/** `units / 10^scale`, never negative. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/** What a price may look like on the wire: digits with at most one point, nothing else. */
const PLAIN_DECIMAL = /^(\d+)(?:\.(\d+))?$/;

/** Longer amounts are no prices, and powers of ten beyond cost real time. */
const MAX_AMOUNT_LENGTH = 64;

/** Reads a plain decimal; `undefined` for anything else (sign, exponent, space, more than 64 characters). */
export function parseDecimal(text: string): Decimal | undefined {
  if (text.length > MAX_AMOUNT_LENGTH) return undefined;
  const match = PLAIN_DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

/** Below, equal, above: −1, 0, 1. `1.0` equals `1`. */
export function compareDecimals(a: Decimal, b: Decimal): -1 | 0 | 1 {
  return compareFractions(fraction(a, 1n, 1n), fraction(b, 1n, 1n));
}

/** A non-negative rational number; the denominator is above 0, and nothing is in lowest terms by itself. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export const ZERO: Fraction = { numerator: 0n, denominator: 1n };

/** `amount × times / per`. */
export function fraction(amount: Decimal, times: bigint, per: bigint): Fraction {
  return lowestTerms({ numerator: amount.units * times, denominator: 10n ** BigInt(amount.scale) * per });
}

export function addFractions(a: Fraction, b: Fraction): Fraction {
  return lowestTerms({
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  });
}

export function compareFractions(a: Fraction, b: Fraction): -1 | 0 | 1 {
  const left = a.numerator * b.denominator;
  const right = b.numerator * a.denominator;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Places kept of a fraction that has no end as a decimal; a trillionth of a unit an hour is no money. */
const ROUNDED_PLACES = 12;

/**
 * Writes a fraction as a plain decimal without trailing zeros: exactly where it has an
 * end, and otherwise rounded up in the twelfth place, which `roundedUp` says.
 */
export function formatFraction(value: Fraction): { readonly amount: string; readonly roundedUp: boolean } {
  const { numerator, denominator } = lowestTerms(value);
  const places = decimalPlaces(denominator);
  const scale = places ?? ROUNDED_PLACES;
  const scaled = numerator * 10n ** BigInt(scale);
  const units = places === undefined ? scaled / denominator + 1n : scaled / denominator;
  return { amount: formatUnits(units, scale), roundedUp: places === undefined };
}

/** Places that `1 / denominator` has, in lowest terms; `undefined` where it never ends (a factor other than 2 and 5). */
function decimalPlaces(denominator: bigint): number | undefined {
  let rest = denominator;
  let twos = 0;
  let fives = 0;
  for (; rest % 2n === 0n; twos++) rest /= 2n;
  for (; rest % 5n === 0n; fives++) rest /= 5n;
  return rest === 1n ? Math.max(twos, fives) : undefined;
}

function formatUnits(units: bigint, scale: number): string {
  const digits = units.toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fractional = digits.slice(digits.length - scale).replace(/0+$/, '');
  return fractional === '' ? whole : `${whole}.${fractional}`;
}

function lowestTerms({ numerator, denominator }: Fraction): Fraction {
  let a = numerator;
  let b = denominator;
  while (b !== 0n) [a, b] = [b, a % b];
  return a === 1n ? { numerator, denominator } : { numerator: numerator / a, denominator: denominator / a };
}
