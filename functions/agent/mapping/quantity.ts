/** Kubernetes quantities of extended resources: `8`, `"8"`, `8e0`, `8k`, `1Ki`. */

const SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['P', 1e15],
  ['E', 1e18],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
  ['Pi', 2 ** 50],
  ['Ei', 2 ** 60],
  ['m', 1e-3],
  ['u', 1e-6],
  ['n', 1e-9],
]);

/** More devices than any node will have, and far from where 32-bit fields end. */
export const MAX_DEVICES = 1_000_000;

/**
 * The whole devices of a quantity, at most {@link MAX_DEVICES}. A part of a device counts as
 * none: the API server refuses it. What is not a quantity is 0.
 */
export function devicesOf(quantity: unknown): number {
  if (typeof quantity === 'number') return bounded(quantity);
  if (typeof quantity !== 'string') return 0;
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)$/.exec(
    quantity.trim(),
  );
  if (match === null) return 0;
  const [, digits = '', exponent, suffix = ''] = match;
  const scale = exponent === undefined ? (SUFFIXES.get(suffix) ?? 0) : 10 ** Number(exponent);
  return bounded(Number(digits) * scale);
}

function bounded(value: number): number {
  if (!(value > 0)) return 0;
  return Math.min(Math.floor(value), MAX_DEVICES);
}

/** The largest of any number of counts; 0 of none. */
export function largest(counts: Iterable<number>): number {
  let most = 0;
  for (const count of counts) if (count > most) most = count;
  return most;
}
