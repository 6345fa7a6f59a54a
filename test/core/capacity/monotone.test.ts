import fc from 'fast-check';
import { expect, test } from 'vitest';
import { largest, smallest, type Verdict } from '../../../functions/core/capacity/monotone.ts';

/** Yes up to `yes`, no from `no` on, undecided in between. */
const steps =
  (yes: number, no: number) =>
  (n: number): Verdict =>
    n <= yes ? 'yes' : n >= no ? 'no' : 'undecided';

test('the largest number that holds is found exactly where every answer is decided', () => {
  for (let upTo = 0; upTo <= 9; upTo++) {
    for (let edge = 0; edge <= 9; edge++) {
      const found = Math.min(edge, upTo);
      expect(largest(upTo, steps(edge, edge + 1))).toEqual({ atLeast: found, atMost: found });
    }
  }
});

test('undecided answers are closed in from both sides', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), fc.nat(200), (upTo, yes, gap) => {
      expect(largest(upTo, steps(yes, yes + gap + 1))).toEqual({
        atLeast: Math.min(upTo, yes),
        atMost: Math.min(upTo, yes + gap),
      });
    }),
  );
});

test('answers that are undecided here and there never make the bounds untrue', () => {
  fc.assert(
    fc.property(fc.nat(60), fc.nat(60), fc.array(fc.nat(60)), (upTo, edge, gaps) => {
      const open = new Set(gaps.filter((n) => n > 0));
      const { atLeast, atMost } = largest(upTo, (n) =>
        open.has(n) ? 'undecided' : steps(edge, edge + 1)(n),
      );
      expect(atLeast).toBeLessThanOrEqual(Math.min(edge, upTo));
      expect(atMost).toBeGreaterThanOrEqual(Math.min(edge, upTo));
    }),
  );
});

test('what is known to hold is not asked again', () => {
  const asked: number[] = [];
  largest(
    10,
    (n) => {
      asked.push(n);
      return n <= 7 ? 'yes' : 'no';
    },
    6,
  );
  expect(Math.min(...asked)).toBeGreaterThan(6);
});

test('the smallest number from which it holds is found the same way, and none is one beyond the last', () => {
  const holdsFrom =
    (first: number) =>
    (n: number): Verdict =>
      n >= first ? 'yes' : 'no';
  for (let first = 0; first <= 8; first++) {
    expect(smallest(7, holdsFrom(first))).toEqual({ atLeast: first, atMost: first });
  }
});
