/** What the chains of a packing cost per hour. */
import { addFractions, type Fraction, fraction, ZERO } from '../decimal.ts';
import type { RoomPacking } from './room.ts';

/** Exact; the pods' shares of the prices of the nodes that they stand on. */
export interface Cost {
  readonly currency: string;
  readonly perHour: Fraction;
}

/**
 * A pod that takes 2 of a node's 8 accelerators costs a quarter of it: what it shares the node
 * with is no concern of the question, and neither is which node of a type it stands on.
 * `undefined` where a price is unknown, or prices are in several currencies.
 */
export function costOf(packed: RoomPacking): Cost | undefined {
  const { candidate } = packed.room;
  let currency: string | undefined;
  let perHour = ZERO;
  for (const [index, accelerators] of acceleratorsByTarget(packed)) {
    const target = candidate.targets[index];
    if (target?.price === undefined || (currency ?? target.price.currency) !== target.price.currency)
      return undefined;
    currency = target.price.currency;
    perHour = addFractions(
      perHour,
      fraction(target.price.amount, accelerators, BigInt(target.acceleratorsPerNode)),
    );
  }
  return currency === undefined ? undefined : { currency, perHour };
}

/** Accelerators that the question's pods take, by target. */
function acceleratorsByTarget({ room, packing }: RoomPacking): ReadonlyMap<number, bigint> {
  const sums = new Map<number, bigint>();
  for (const { bin, bins, items } of packing) {
    const target = room.bins[bin]?.target ?? 0;
    for (const { item, count } of items) {
      const asked = room.candidate.classes[item - room.demandClasses];
      if (asked === undefined) continue;
      const accelerators = BigInt(asked.accelerators) * BigInt(count) * BigInt(bins);
      sums.set(target, (sums.get(target) ?? 0n) + accelerators);
    }
  }
  return sums;
}
