/** Arithmetic of capacity. */

/**
 * Share by which a sum may pass its limit. Capacities are decimal fractions, of which
 * doubles hold neighbours: 0.1 + 0.2 must fit in 0.3, and 10 × 0.7 must hold 7.
 */
const TOLERANCE = 1e-9;

/** Whether `taken + need ≤ limit`. NaN on any side does not fit. */
export function fits(taken: number, need: number, limit: number): boolean {
  return taken + need <= limit + TOLERANCE * Math.max(1, Math.abs(limit));
}
