/** Sets of nodes that are not there yet, and which of two is the better one. */
import { compareUtf8 } from '../../utf8-order.ts';
import { addFractions, compareFractions, type Fraction, fraction, ZERO } from '../decimal.ts';
import type { Candidate } from './candidate.ts';

/** Number of new nodes by target, as an index into the candidate's; those on their way among them. */
export type NewNodes = ReadonlyMap<number, number>;

/**
 * The cheaper first; at one price the smaller. A set of which a price is unknown, or whose prices are
 * in several currencies, has no price, and comes after those that have one: fewer nodes without a
 * price first. The last word is which targets they are of.
 */
export function compareNewNodes(candidate: Candidate, a: NewNodes, b: NewNodes): number {
  const left = priceOf(candidate, a);
  const right = priceOf(candidate, b);
  return (
    Number(left.price === undefined) - Number(right.price === undefined) ||
    left.unpriced - right.unpriced ||
    comparePrices(left.price, right.price) ||
    left.nodes - right.nodes ||
    compareUtf8(JSON.stringify([...a]), JSON.stringify([...b]))
  );
}

interface SetPrice {
  readonly nodes: number;
  readonly unpriced: number;
  /** Absent: not known. */
  readonly price: { readonly currency: string; readonly perHour: Fraction } | undefined;
}

function priceOf(candidate: Candidate, set: NewNodes): SetPrice {
  let nodes = 0;
  let unpriced = 0;
  let perHour = ZERO;
  const currencies = new Set<string>();
  for (const [index, added] of set) {
    nodes += added;
    const price = candidate.targets[index]?.price;
    if (price === undefined) {
      unpriced += added;
      continue;
    }
    currencies.add(price.currency);
    perHour = addFractions(perHour, fraction(price.amount, BigInt(added), 1n));
  }
  const [currency = ''] = currencies;
  const isKnown = unpriced === 0 && currencies.size <= 1;
  return { nodes, unpriced, price: isKnown ? { currency, perHour } : undefined };
}

function comparePrices(a: SetPrice['price'], b: SetPrice['price']): number {
  if (a === undefined || b === undefined) return 0;
  return compareUtf8(a.currency, b.currency) || compareFractions(a.perHour, b.perHour);
}
