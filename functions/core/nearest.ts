/** What a name that is not known may have been meant to be. */
import { closest, distance } from 'fastest-levenshtein';

/** Characters of a name that are compared; no known name is longer. */
const COMPARED = 64;

/**
 * The nearest of `known`, or undefined if none is near. Near is what differs in at most two letters (so that two
 * in the wrong order count), or in a third of them, and never in more than half.
 */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  const compared = name.slice(0, COMPARED);
  if (known.length === 0) return undefined;
  const nearest = closest(compared, known);
  const length = Math.max(compared.length, nearest.length);
  const differing = distance(compared, nearest);
  return differing <= length / 2 && differing <= Math.max(2, length / 3) ? nearest : undefined;
}

/** The end of a sentence about a name that is not known: a guess only if one is near, since a far one leads astray. */
export function didYouMean(name: string, known: readonly string[], otherwise: string): string {
  const nearest = nearestOf(name, known);
  return nearest === undefined ? `; ${otherwise}.` : `; did you mean "${nearest}"?`;
}
