import { describe, expect, test } from 'vitest';
import { demandOf } from '../../../../functions/core/capacity/view/demand.ts';
import { chainKeys } from '../../../../functions/core/capacity/view/pods.ts';
import { WorkloadPhase } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { cluster, POOL, pending, TYPE } from '../builders.ts';

const { PENDING, STARTING, RUNNING, DEGRADED, DRAINING, SUCCEEDED, FAILED, UNKNOWN } = WorkloadPhase;

function pendingPods(phase: WorkloadPhase, podPhase: WorkloadPhase): ReadonlyMap<number, number> {
  const snapshot = cluster({
    types: [{ idle: 4 }],
    ranks: [{ name: 'r', pods: [{ count: 4 }], chains: [{ name: 'c', phase, podPhases: [podPhase] }] }],
  });
  return demandOf(snapshot).on(POOL, TYPE).pending;
}

describe('pending demand', () => {
  test.each([PENDING, STARTING, RUNNING, DEGRADED, UNKNOWN])(
    'a pod without an allocation is demanded, whatever its phase %s says',
    (phase) => {
      expect(pendingPods(RUNNING, phase)).toEqual(new Map([[4, 1]]));
      expect(pendingPods(phase, PENDING)).toEqual(new Map([[4, 1]]));
    },
  );

  test.each([SUCCEEDED, FAILED, DRAINING])('unless it or its chain is over (%s)', (phase) => {
    expect(pendingPods(RUNNING, phase)).toEqual(new Map());
    expect(pendingPods(phase, PENDING)).toEqual(new Map());
  });

  test('a pod that has its accelerators is not demanded, even if it is said to be pending', () => {
    const snapshot = cluster({
      types: [{ nodes: [{ pods: [{ chain: 'c', index: 1 }] }] }],
      ranks: [{ name: 'r', pods: [{ count: 4 }, { count: 2 }, { count: 2 }], chains: [{ name: 'c' }] }],
    });
    // The second pod stands; the first and the third are to come.
    expect(demandOf(snapshot).on(POOL, TYPE).pending).toEqual(
      new Map([
        [4, 1],
        [2, 1],
      ]),
    );
  });

  test('pods of one chain are demanded each on its own node type', () => {
    const snapshot = cluster({
      types: [{ type: 'a' }, { type: 'b' }],
      ranks: [
        {
          name: 'r',
          pods: [
            { count: 8, type: 'a' },
            { count: 1, type: 'b' },
          ],
          chains: [{ name: 'c' }, { name: 'd' }],
        },
      ],
    });
    const demand = demandOf(snapshot);
    expect(demand.on(POOL, 'a').pending).toEqual(new Map([[8, 2]]));
    expect(demand.on(POOL, 'b').pending).toEqual(new Map([[1, 2]]));
  });

  test('a released chain asks for free', () => {
    const snapshot = cluster({ types: [{ idle: 1 }], ranks: [pending('r', 2, 3)] });
    const released = chainKeys([{ jobId: 'r', rankId: 'r', chainId: 'r-1' }]);
    expect(demandOf(snapshot, released).on(POOL, TYPE).pending).toEqual(new Map([[2, 2]]));
  });
});

describe('reserved demand', () => {
  const rank = {
    name: 'r',
    pods: [
      { count: 8, type: 'a' },
      { count: 4, type: 'b' },
      { count: 4, type: 'b' },
    ],
  };

  test('is so many copies of the requirements on this node type, and of no other', () => {
    const snapshot = cluster({
      types: [
        { type: 'a', reserved: { r: 3 } },
        { type: 'b', reserved: { r: 3 } },
      ],
      ranks: [rank],
    });
    const demand = demandOf(snapshot);
    expect(demand.on(POOL, 'a')).toEqual({ pending: new Map(), reserved: new Map([[8, 3]]) });
    expect(demand.on(POOL, 'b')).toEqual({ pending: new Map(), reserved: new Map([[4, 6]]) });
  });

  test('4 billion chains are a number like any other', () => {
    const snapshot = cluster({
      types: [{ type: 'a', reserved: { r: 4_294_967_295 } }, { type: 'b' }],
      ranks: [rank],
    });
    expect(demandOf(snapshot).on(POOL, 'a').reserved).toEqual(new Map([[8, 4_294_967_295]]));
  });
});

test('ids that name properties of an object are ids like any other', () => {
  const snapshot = cluster({
    types: [{ pool: '__proto__', type: 'constructor', idle: 1 }],
    ranks: [{ name: 'hasOwnProperty', pods: [{ count: 1 }], chains: [{ name: '__proto__' }] }],
  });
  expect(demandOf(snapshot).on('__proto__', 'constructor').pending).toEqual(new Map([[1, 1]]));
  expect(demandOf(snapshot).on('constructor', '__proto__').pending).toEqual(new Map());
});
