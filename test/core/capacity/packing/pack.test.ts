import { describe, expect, test } from 'vitest';
import { pack } from '../../../../functions/core/capacity/packing/pack.ts';
import { assertPacks } from '../../../../functions/core/capacity/packing/problem.ts';
import { Work } from '../../../../functions/core/capacity/packing/work.ts';
import { plentyOfWork, problemOf } from './problems.ts';

function decide(bins: readonly number[], items: readonly number[]): string {
  return pack(problemOf(bins, items), plentyOfWork()).kind;
}

const many = (count: number, size: number): readonly number[] => new Array<number>(count).fill(size);

describe('what a rule of thumb gets wrong', () => {
  test('demands {3,5,3} fit into bins {7,5}, which first-fit decreasing refuses', () => {
    expect(decide([7, 5], [3, 5, 3])).toBe('packed');
  });

  test('demands {2,3,2,2} fit into bins {5,4}, which best-fit decreasing refuses', () => {
    expect(decide([5, 4], [2, 3, 2, 2])).toBe('packed');
  });

  test('a bin with a hair of room to spare is not taken for dominated', () => {
    // 6 = 3 + 3, 7 = 4 + 3 and 7 = 3 + 3 + 1; found by the exhaustive test.
    expect(decide([6, 7, 7], [4, 3, 3, 3, 3, 3, 1])).toBe('packed');
    expect(decide([6, 7, 7], [5, 3, 3, 3, 3, 2, 1])).toBe('packed');
  });

  test('a thousand copies of each counterexample fit, and with one pod more they do not', () => {
    const first = many(1_000, 3).concat(many(1_000, 5), many(1_000, 3));
    expect(decide(many(1_000, 7).concat(many(1_000, 5)), first)).toBe('packed');
    const second = many(3_000, 2).concat(many(1_000, 3));
    expect(decide(many(1_000, 5).concat(many(1_000, 4)), second)).toBe('packed');
    expect(decide(many(1_000, 5).concat(many(1_000, 4)), [...second, 2])).toBe('impossible');
  });
});

describe('sums answer nothing', () => {
  test('16 free accelerators on 16 nodes hold no pod of 2', () => {
    expect(decide(many(16, 1), [2])).toBe('impossible');
  });

  test('a bin that no selection fills to the brim counts for what can be filled', () => {
    // 3 + 3 leaves 1 of 7 unused, twice: 14 free hold 12.
    expect(decide([7, 7], [3, 3, 3, 3])).toBe('packed');
    expect(decide([7, 7], [3, 3, 3, 3, 2])).toBe('impossible');
  });

  test('nothing fits anywhere, and nothing needs no bin', () => {
    expect(decide([], [])).toBe('packed');
    expect(decide([8], [])).toBe('packed');
    expect(decide([], [1])).toBe('impossible');
  });
});

describe('a choice of targets', () => {
  test('a pod with one target goes there, and a pod with a choice makes room', () => {
    const outcome = pack(
      {
        bins: [
          { target: 0, size: 4, count: 1 },
          { target: 1, size: 4, count: 1 },
        ],
        items: [
          { size: 4, count: 1, targets: [0, 1] },
          { size: 2, count: 1, targets: [0] },
        ],
      },
      plentyOfWork(),
    );
    expect(outcome).toEqual({
      kind: 'packed',
      packing: [
        { bin: 0, bins: 1, items: [{ item: 1, count: 1 }] },
        { bin: 1, bins: 1, items: [{ item: 0, count: 1 }] },
      ],
    });
  });

  test('a pod without any target is impossible', () => {
    const outcome = pack(
      { bins: [{ target: 0, size: 8, count: 9 }], items: [{ size: 1, count: 1, targets: [] }] },
      plentyOfWork(),
    );
    expect(outcome.kind).toBe('impossible');
  });

  test('a no in one part is not hidden by an undecided one', () => {
    const hard = problemOf(
      many(60, 71).concat(many(40, 72)),
      many(150, 23).concat(many(70, 31), many(30, 35)),
    );
    const outcome = pack(
      {
        bins: [...hard.bins, { target: 1, size: 1, count: 1 }],
        items: [...hard.items, { size: 2, count: 1, targets: [1] }],
      },
      new Work(100),
    );
    expect(outcome.kind).toBe('impossible');
  });
});

describe('the bound on work', () => {
  test('a question that needs a search is undecided when no work is left, and decided when there is', () => {
    const problem = problemOf([5, 4], [2, 3, 2, 2]);
    expect(pack(problem, new Work(0)).kind).toBe('undecided');
    expect(pack(problem, plentyOfWork()).kind).toBe('packed');
  });

  test('work is counted, not timed, so that the same question spends the same', () => {
    const spent = () => {
      const work = plentyOfWork();
      pack(problemOf(many(30, 7).concat(many(9, 5)), many(40, 3).concat(many(30, 2))), work);
      return 1_000_000_000 - work.left;
    };
    expect(spent()).toBe(spent());
  });

  test('what is counted or best-fit needs next to none', () => {
    const work = plentyOfWork();
    pack(problemOf(many(10_000, 8), many(20_000, 4)), work);
    expect(1_000_000_000 - work.left).toBeLessThan(100);
  });

  test('4 billion nodes and pods are no more work than one', () => {
    const billions = 4_000_000_000;
    const problem = (pods: number) => ({
      bins: [{ target: 0, size: 8, count: billions }],
      items: [{ size: 3, count: pods, targets: [0] }],
    });
    expect(pack(problem(2 * billions), plentyOfWork()).kind).toBe('packed');
    expect(pack(problem(2 * billions + 1), plentyOfWork()).kind).toBe('impossible');
  });

  test('sizes beyond what a double counts exactly are packed or undecided, never guessed', () => {
    const huge = 4_000_000_000;
    const problem = (size: number) => ({
      bins: [{ target: 0, size: huge, count: huge }],
      items: [
        { size, count: huge, targets: [0] },
        { size: huge - 1, count: 1, targets: [0] },
      ],
    });
    expect(pack(problem(1), plentyOfWork()).kind).toBe('packed');
    expect(pack(problem(huge), plentyOfWork()).kind).toBe('impossible');
  });
});

describe('a packing is checked before it leaves', () => {
  const problem = problemOf([4], [2, 2]);

  test.each([
    [
      'a bin that is too full',
      [{ bin: 0, bins: 1, items: [{ item: 0, count: 3 }] }],
      'a packing puts 6 into a bin of 4',
    ],
    [
      'more bins than there are',
      [{ bin: 0, bins: 2, items: [{ item: 0, count: 1 }] }],
      'a packing uses 2 of 1 bins',
    ],
    [
      'an item left out',
      [{ bin: 0, bins: 1, items: [{ item: 0, count: 1 }] }],
      'a packing places 1 of 2 items of size 2',
    ],
    [
      'a bin that does not exist',
      [{ bin: 7, bins: 1, items: [] }],
      'a packing names bin class 7, which does not exist',
    ],
    [
      'an item that does not exist',
      [{ bin: 0, bins: 1, items: [{ item: 5, count: 1 }] }],
      'a packing puts item class 5 into target 0, where it may not stand',
    ],
  ])('%s is an error', (_, packing, message) => {
    expect(() => assertPacks(problem, packing)).toThrow(new Error(message));
  });
});
