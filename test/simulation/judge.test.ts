/** A judge that acquits everybody would pass every simulation. */
import { describe, expect, it } from 'vitest';
import type { Entry } from './history.ts';
import { faultsOf } from './judge.ts';

const attempt = (counter: bigint, variant = 0): Entry => ({
  kind: 'push attempt',
  clusterId: 'a',
  counter,
  variant,
  collectedAtMs: 1_000,
  atMs: 0,
});
const seen = (counter: bigint, fromMs: number, toMs: number, variant = 0, collectedAtMs = 1_000): Entry => ({
  kind: 'seen',
  clusterId: 'a',
  counter,
  variant,
  collectedAtMs,
  fromMs,
  toMs,
  by: 'reader',
});
const acknowledged = (counter: bigint, fromMs: number, toMs: number, variant = 0): Entry => ({
  kind: 'push acknowledged',
  clusterId: 'a',
  counter,
  variant,
  highWaterMark: counter,
  fromMs,
  toMs,
  by: 'agent',
});

describe('The judge', () => {
  it('has nothing to say of what may be, reads beside a push among it', () => {
    expect(
      faultsOf([
        attempt(1n),
        attempt(2n, 3),
        acknowledged(1n, 0, 5),
        acknowledged(2n, 10, 20, 3),
        seen(1n, 12, 15),
        seen(2n, 12, 15, 3),
        // It began before the one above had ended, so it may be behind it.
        seen(1n, 14, 16),
        seen(2n, 21, 22, 3),
      ]),
    ).toEqual([]);
  });

  it('finds a counter that went back between two readers', () => {
    expect(faultsOf([attempt(1n), attempt(2n), seen(2n, 0, 10), seen(1n, 11, 12)])).toEqual([
      'The counter of a went back: reader was given 1 (seen, asked at 11 ms) after reader had been given 2 (seen, at 10 ms).',
    ]);
  });

  it('finds a read that misses what was acknowledged before it', () => {
    expect(faultsOf([attempt(1n), attempt(2n), acknowledged(2n, 0, 10), seen(1n, 11, 12)])).toHaveLength(1);
  });

  it('finds a mark of a conflict that is below one that was reported', () => {
    const conflicted: Entry = {
      kind: 'push conflicted',
      clusterId: 'a',
      counter: 1n,
      code: 'counter_regressed',
      highWaterMark: 1n,
      fromMs: 11,
      toMs: 12,
      by: 'agent',
    };
    expect(faultsOf([attempt(1n), attempt(2n), acknowledged(2n, 0, 10), conflicted])).toHaveLength(1);
  });

  it('finds content of one push under the counter or the time of another', () => {
    expect(faultsOf([attempt(1n, 0), attempt(2n, 3), seen(2n, 0, 1, 0)])).toEqual([
      'a at 2 has content 0, which nobody pushed so.',
    ]);
    expect(faultsOf([attempt(1n), seen(1n, 0, 1, 0, 999)])).toEqual([
      'a at 1 has content 0, which nobody pushed so.',
    ]);
  });

  it('finds two contents of one counter', () => {
    expect(faultsOf([attempt(1n, 0), attempt(1n, 3), seen(1n, 0, 1, 0), seen(1n, 2, 3, 3)])).toEqual([
      'a at 1 has content 0 and content 3.',
    ]);
  });

  it('finds a counter that nobody pushed, and a map that disagrees with its clock', () => {
    expect(
      faultsOf([
        { kind: 'omit acknowledged', clusterId: 'a', highWaterMark: 7n, fromMs: 0, toMs: 1, by: 'operator' },
        { kind: 'map seen', clusterIds: ['a'], clockIds: [], fromMs: 0, toMs: 1, by: 'reader' },
      ]),
    ).toEqual(['a was reported at 7, which nobody pushed.', 'The map has a and its clock .']);
  });
});
