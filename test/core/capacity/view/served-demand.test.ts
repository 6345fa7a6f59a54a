import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Work } from '../../../../functions/core/capacity/packing/work.ts';
import type { Demand } from '../../../../functions/core/capacity/view/demand.ts';
import {
  type Histogram,
  largestFirst,
  plus,
  volume,
} from '../../../../functions/core/capacity/view/histogram.ts';
import {
  deficitOf,
  serveDemand,
  serveNothing,
} from '../../../../functions/core/capacity/view/served-demand.ts';
import { plentyOfWork } from '../packing/problems.ts';
import { reachableVectors } from '../packing/reachable.ts';

const none: Histogram = new Map();
const of = (...entries: [number, number][]): Histogram => new Map(entries);

function serve(free: Histogram, pending: Histogram, reserved: Histogram = none) {
  return serveDemand(free, { pending, reserved }, plentyOfWork());
}

describe('demand on the nodes there are', () => {
  test('that fits is served whole, and what is free afterwards is one witness of it', () => {
    expect(serve(of([8, 2]), of([4, 1]), of([8, 1]))).toEqual({
      pending: of([4, 1]),
      reserved: of([8, 1]),
      freeNodesAfter: of([4, 1]),
      undecided: false,
    });
  });

  test('that does not fit leaves a deficit, which is the whole of what has no place', () => {
    const demand: Demand = { pending: of([4, 3]), reserved: of([8, 2]) };
    const served = serveDemand(of([8, 1]), demand, plentyOfWork());
    expect(deficitOf(demand, served)).toEqual({ pending: of([4, 1]), reserved: of([8, 2]) });
    expect(served.freeNodesAfter).toEqual(none);
  });

  test('is served pending first: what is reserved gets what they leave', () => {
    expect(serve(of([4, 1]), of([1, 1]), of([4, 1]))).toEqual({
      pending: of([1, 1]),
      reserved: none,
      freeNodesAfter: of([3, 1]),
      undecided: false,
    });
  });

  test('is served larger pods first, for which there are fewer places', () => {
    // 3 + 3 would leave less over; that the pod of 4 would never get a place is worse.
    expect(serve(of([6, 1]), of([4, 1], [3, 2])).pending).toEqual(of([4, 1]));
  });

  test('on nodes that take nothing new stays a deficit, and what is free stays free', () => {
    expect(serveNothing(of([8, 2]))).toEqual({
      pending: none,
      reserved: none,
      freeNodesAfter: of([8, 2]),
      undecided: false,
    });
  });

  test('is said to be undecided where the work does not suffice, and as much as was found a place is served', () => {
    // {3,2,2,2} fits into {5,4}, but only a search sees it.
    const served = serveDemand(
      of([5, 1], [4, 1]),
      { pending: of([3, 1], [2, 3]), reserved: none },
      new Work(0),
    );
    expect(served).toEqual({
      pending: of([3, 1], [2, 2]),
      reserved: none,
      freeNodesAfter: of([1, 2]),
      undecided: true,
    });
  });
});

describe('against a table of everything that fits', () => {
  const histogram = (largest: number, most: number) =>
    fc
      .array(fc.tuple(fc.integer({ min: 1, max: largest }), fc.integer({ min: 1, max: most })), {
        maxLength: 3,
      })
      .map((entries) => largestFirst(new Map(entries)));

  test('as many as possible of the largest pending, of the next, and so on, then of the reserved', () => {
    fc.assert(
      fc.property(histogram(9, 3), histogram(9, 3), histogram(9, 3), (free, pending, reserved) => {
        const classes = [...pending, ...reserved];
        const reachable = reachableVectors({
          bins: [...free].map(([size, count]) => ({ target: 0, size, count })),
          items: classes.map(([size, count]) => ({ size, count, targets: [0] })),
        });
        // One class after the other: the highest count that still fits beside what the ones before got.
        const expected = classes.map(() => 0);
        for (const [index, [, count]] of classes.entries()) {
          while (
            (expected[index] ?? 0) < count &&
            reachable.fits(expected.with(index, (expected[index] ?? 0) + 1))
          ) {
            expected[index] = (expected[index] ?? 0) + 1;
          }
        }
        const served = serve(free, pending, reserved);
        const counts = [...pending.keys()].map((size) => served.pending.get(size) ?? 0);
        counts.push(...[...reserved.keys()].map((size) => served.reserved.get(size) ?? 0));
        expect(counts).toEqual(expected);
        expect(served.undecided).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  test('before and after demand differ by exactly the demand that was placed', () => {
    fc.assert(
      fc.property(histogram(16, 50), histogram(16, 40), histogram(16, 40), (free, pending, reserved) => {
        const demand = { pending, reserved };
        const served = serve(free, pending, reserved);
        const deficit = deficitOf(demand, served);
        expect(volume(free) - volume(served.freeNodesAfter)).toBe(
          volume(served.pending) + volume(served.reserved),
        );
        expect(plus(served.pending, deficit.pending)).toEqual(pending);
        expect(plus(served.reserved, deficit.reserved)).toEqual(reserved);
      }),
      { numRuns: 200 },
    );
  });
});
