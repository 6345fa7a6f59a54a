/** The one format of numbers, times and ages on the page. */

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** An integer with its thousands apart. 64-bit integers are strings in JSON, and are not rounded. */
export function countText(value: string | number | bigint): string {
  return GROUPED.format(BigInt(value));
}

/** A moment in UTC, to the second. @param ms since the epoch */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The time of day in UTC, to the second. */
export function clockText(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}

/** How long ago, in the two steps of precision that `rmap` has. Never below zero: clocks differ a little. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** `1 cluster`, `2 clusters`. */
export function plural(count: number | bigint, noun: string): string {
  return `${countText(count)} ${noun}${BigInt(count) === 1n ? '' : 's'}`;
}

/** An amount without the zeros that end its fraction: `55.040000` is shown as `55.04`. */
export function priceText(price: { readonly currencyCode: string; readonly decimalAmount: string }): string {
  const amount = price.decimalAmount;
  const short = amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount;
  return `${short} ${price.currencyCode}`;
}
