/**
 * All small cases against brute force. The brute force goes over the bins and keeps, for the
 * bins so far, which of all multisets of pods they hold.
 */
import { expect, test } from 'vitest';
import { pack } from '../../../../functions/core/capacity/packing/pack.ts';
import { plentyOfWork } from './problems.ts';

const MAX_BINS = 6;
const MAX_PODS = 7;

/** How many there are of size 1, 2, …. */
type Counts = readonly number[];

/** What a case is sorted out by. */
interface Multiset {
  readonly counts: Counts;
  readonly sum: number;
  readonly smallest: number;
  readonly largest: number;
  /** A bit for each size that occurs. */
  readonly sizes: number;
}

function multiset(counts: Counts): Multiset {
  return {
    counts,
    sum: counts.reduce((sum, count, index) => sum + count * (index + 1), 0),
    smallest: counts.findIndex((count) => count > 0) + 1,
    largest: counts.findLastIndex((count) => count > 0) + 1,
    sizes: counts.reduce((bits, count, index) => (count > 0 ? bits | (1 << index) : bits), 0),
  };
}

function multisets(maxSize: number, most: number): readonly Multiset[] {
  const all: Multiset[] = [];
  const extend = (counts: Counts, left: number): void => {
    if (counts.length === maxSize) {
      all.push(multiset(counts));
      return;
    }
    for (let count = 0; count <= left; count++) extend([...counts, count], left - count);
  };
  extend([], most);
  return all;
}

/** For every multiset of pods, whether the bins hold it: 1 or 0. */
type Held = Uint8Array;

class BruteForce {
  readonly pods: readonly Multiset[];
  /** By room, then by what the bins hold already: what they hold with one bin of that room more. */
  readonly #sums: readonly (readonly Int32Array[])[];

  constructor(readonly maxSize: number) {
    this.pods = multisets(maxSize, MAX_PODS);
    const index = new Map(this.pods.map(({ counts }, position) => [counts.join(), position]));
    this.#sums = Array.from({ length: maxSize + 1 }, (_, room) => {
      const fillings = this.pods.filter(({ sum }) => sum <= room);
      return this.pods.map(({ counts }) =>
        Int32Array.from(
          fillings.flatMap(
            (filling) => index.get(counts.map((count, i) => count + (filling.counts[i] ?? 0)).join()) ?? [],
          ),
        ),
      );
    });
  }

  /** Calls back for every multiset of up to 6 bins. */
  forEachBins(visit: (bins: Multiset, held: Held) => void): void {
    const extend = (bins: Counts, left: number, held: Held): void => {
      if (bins.length === this.maxSize) {
        visit(multiset(bins), held);
        return;
      }
      let more = held;
      for (let count = 0; ; count++) {
        extend([...bins, count], left - count, more);
        if (count === left) return;
        more = this.#withOneMoreBin(more, bins.length + 1);
      }
    };
    const none = new Uint8Array(this.pods.length);
    none[this.pods.findIndex(({ sum }) => sum === 0)] = 1;
    extend([], MAX_BINS, none);
  }

  #withOneMoreBin(held: Held, room: number): Held {
    const more = new Uint8Array(held.length);
    for (const [position, sums] of (this.#sums[room] ?? []).entries()) {
      if (held[position] === 1) for (const sum of sums) more[sum] = 1;
    }
    return more;
  }
}

function verdict(bins: Counts, pods: Counts): string {
  const sized = (counts: Counts) =>
    counts.flatMap((count, index) => (count === 0 ? [] : [{ size: index + 1, count }]));
  return pack(
    {
      bins: sized(bins).map((bin) => ({ ...bin, target: 0 })),
      items: sized(pods).map((item) => ({ ...item, targets: [0] })),
    },
    plentyOfWork(),
  ).kind;
}

function compareAll(maxSize: number, worthwhile: (bins: Multiset, pods: Multiset) => boolean) {
  const bruteForce = new BruteForce(maxSize);
  let cases = 0;
  const wrong: unknown[] = [];
  bruteForce.forEachBins((bins, held) => {
    for (const [position, pods] of bruteForce.pods.entries()) {
      if (!worthwhile(bins, pods)) continue;
      cases++;
      const expected = held[position] === 1 ? 'packed' : 'impossible';
      const actual = verdict(bins.counts, pods.counts);
      if (actual !== expected) wrong.push({ bins: bins.counts, pods: pods.counts, expected, actual });
    }
  });
  return { cases, wrong };
}

test('every case of up to 6 bins and 7 pods of sizes 1 to 4 is decided as brute force decides it', () => {
  expect(compareAll(4, () => true)).toEqual({ cases: 69_300, wrong: [] });
});

/** 8, the whole of today's nodes, takes half a minute: `npm run test:exhaustive`. */
const MAX_SIZE = Number(process.env.EXHAUSTIVE_MAX_SIZE ?? 5);
const CASES: Readonly<Record<number, number>> = { 5: 8_647, 7: 140_588, 8: 479_032 };

test(`so is every case of sizes 1 to ${MAX_SIZE} that does not come down to a smaller one`, {
  timeout: 300_000,
}, () => {
  // Left out: pods that exceed the sum of the bins or the largest of them; bins below every pod, which
  // change nothing; and a pod of exactly a bin's size, which may always be put there (by exchange), so that
  // the case is one of a bin and a pod fewer.
  const worthwhile = (bins: Multiset, pods: Multiset): boolean =>
    pods.sum > 0 &&
    pods.sum <= bins.sum &&
    pods.largest <= bins.largest &&
    pods.smallest <= bins.smallest &&
    (pods.sizes & bins.sizes) === 0;
  expect(compareAll(MAX_SIZE, worthwhile)).toEqual({ cases: CASES[MAX_SIZE], wrong: [] });
});
