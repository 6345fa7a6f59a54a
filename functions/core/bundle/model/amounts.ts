/**
 * Arithmetic of capacity, cores and shares of devices: exact, so that it does not matter in
 * which order jobs are added to a node. Amounts are decimal fractions, of which doubles hold
 * neighbours. So a double stands for the nearest decimal of 15 digits: every decimal of no
 * more digits comes through a double unharmed, and what adding in doubles leaves behind
 * (0.1 + 0.2 is 0.30000000000000004) is gone. Nothing is rounded after that.
 */

/** `units × 10^exponent`. */
interface Decimal {
  readonly units: bigint;
  readonly exponent: number;
}

/** A decimal; or infinite, or NaN, as a caller in this process may give it. */
export class Amount {
  private constructor(
    /** In billionths, as long as they are a safe integer, since that is fast; 0 beside a `wide`. */
    private readonly billionths: number,
    /** An amount that is too large or too fine for that. */
    private readonly wide?: Decimal,
  ) {}

  static of(value: number): Amount {
    const billionths = Math.round(value * BILLION);
    // Then they are the decimal: no other of so few digits has the same double.
    if (Math.abs(billionths) < MAX_UNITS && billionths / BILLION === value) return new Amount(billionths);
    return Number.isFinite(value) ? Amount.#from(decimalOf(value)) : new Amount(value);
  }

  /** `value × share`. */
  static product(value: number, share: number): Amount {
    if (share === 1 || !Number.isFinite(value) || !Number.isFinite(share)) return Amount.of(value * share);
    const a = decimalOf(value);
    const b = decimalOf(share);
    return Amount.#from({ units: a.units * b.units, exponent: a.exponent + b.exponent });
  }

  static #from(decimal: Decimal): Amount {
    const shortest = withoutZeros(decimal);
    const { units, exponent } = shortest;
    if (exponent >= BILLIONTH && exponent < DIGITS) {
      const billionths = Number(units * tenTo(exponent - BILLIONTH));
      if (Number.isSafeInteger(billionths)) return new Amount(billionths);
    }
    return new Amount(0, shortest);
  }

  plus(other: Amount): Amount {
    const sum = this.billionths + other.billionths;
    if (this.wide === undefined && other.wide === undefined && Number.isSafeInteger(sum)) {
      return new Amount(sum);
    }
    if (!this.isFinite || !other.isFinite) return new Amount(sum);
    const { a, b, exponent } = aligned(this.#decimal(), other.#decimal());
    return Amount.#from({ units: a + b, exponent });
  }

  minus(other: Amount): Amount {
    const left = this.billionths - other.billionths;
    if (this.wide === undefined && other.wide === undefined && Number.isSafeInteger(left)) {
      return new Amount(left);
    }
    return this.plus(other.#negative());
  }

  /** Below 0, 0 or above 0 as this is less, equal or more; NaN where either is. */
  compare(other: Amount): number {
    if (this.wide === undefined && other.wide === undefined) {
      // Two infinite ones have no difference.
      return this.billionths === other.billionths ? 0 : this.billionths - other.billionths;
    }
    if (!this.isFinite || !other.isFinite) return this.billionths - other.billionths;
    const { a, b } = aligned(this.#decimal(), other.#decimal());
    if (a === b) return 0;
    return a < b ? -1 : 1;
  }

  get isPositive(): boolean {
    return this.billionths > 0 || (this.wide !== undefined && this.wide.units > 0n);
  }

  get isFinite(): boolean {
    return Number.isFinite(this.billionths);
  }

  /** The nearest double, for what is no question of fitting: preferences and messages. */
  get value(): number {
    return this.wide === undefined ? this.billionths / BILLION : Number(this.key);
  }

  /** The same for equal amounts, and for no others. */
  get key(): string {
    return this.wide === undefined ? String(this.billionths) : `${this.wide.units}e${this.wide.exponent}`;
  }

  /** For keys that are JSON. */
  toJSON(): string {
    return this.key;
  }

  toString(): string {
    const { value, wide } = this;
    if (wide === undefined || Number.isFinite(value)) return String(value);
    // A sum of what doubles can hold, which no double can.
    const digits = String(wide.units).replace('-', '');
    const power = digits.length - 1 + wide.exponent;
    const fraction = digits.slice(1, DIGITS);
    return `${wide.units < 0n ? '-' : ''}${digits[0]}${fraction === '' ? '' : `.${fraction}`}e+${power}`;
  }

  #decimal(): Decimal {
    return this.wide ?? { units: BigInt(this.billionths), exponent: BILLIONTH };
  }

  #negative(): Amount {
    const { billionths, wide } = this;
    return wide === undefined ? new Amount(-billionths) : new Amount(0, { ...wide, units: -wide.units });
  }
}

const BILLION = 1e9;
const BILLIONTH = -9;

/** Decimal digits that a double keeps, whatever they are. */
const DIGITS = 15;
const MAX_UNITS = 10 ** DIGITS;

export const NOTHING = Amount.of(0);

/** Whether `taken + need ≤ limit`, exactly. What is NaN or infinite does not fit; an infinite limit holds all else. */
export function fits(taken: Amount, need: Amount, limit: Amount): boolean {
  const sum = taken.plus(need);
  return sum.isFinite && sum.compare(limit) <= 0;
}

/** The sum, whatever the order. */
export function sumOf(amounts: readonly Amount[]): Amount {
  return amounts.reduce((sum, amount) => sum.plus(amount), NOTHING);
}

/** The largest; nothing below 0. */
export function largest(amounts: readonly Amount[]): Amount {
  return amounts.reduce((most, amount) => (amount.compare(most) > 0 ? amount : most), NOTHING);
}

function decimalOf(value: number): Decimal {
  const [digits = '0', power = '0'] = value.toExponential(DIGITS - 1).split('e');
  return { units: BigInt(digits.replace('.', '')), exponent: Number(power) - (DIGITS - 1) };
}

/** So that equal decimals are written alike. */
function withoutZeros({ units, exponent }: Decimal): Decimal {
  if (units === 0n) return { units, exponent: 0 };
  let shorter = units;
  let zeros = 0;
  while (shorter % 10n === 0n) {
    shorter /= 10n;
    zeros++;
  }
  return { units: shorter, exponent: exponent + zeros };
}

function aligned(
  a: Decimal,
  b: Decimal,
): { readonly a: bigint; readonly b: bigint; readonly exponent: number } {
  const exponent = Math.min(a.exponent, b.exponent);
  return { a: a.units * tenTo(a.exponent - exponent), b: b.units * tenTo(b.exponent - exponent), exponent };
}

const POWERS: bigint[] = [];

function tenTo(exponent: number): bigint {
  const power = POWERS[exponent] ?? 10n ** BigInt(exponent);
  POWERS[exponent] = power;
  return power;
}
