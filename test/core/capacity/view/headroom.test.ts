import { describe, expect, test } from 'vitest';
import { headroomNodes, headroomOf } from '../../../../functions/core/capacity/view/headroom.ts';
import { cluster, POOL, type PoolInit, type TypeInit } from '../builders.ts';

function nodesOf(pool: PoolInit, types: readonly TypeInit[], perNode: number): number | undefined {
  const [built] = cluster({ types, pools: { [POOL]: pool } }).capacityPools;
  if (built === undefined) throw new Error('the cluster has a pool');
  return headroomNodes(headroomOf(built), perNode);
}

const two = [{ type: 'a', idle: 2 }];

describe('scale-out headroom', () => {
  test('is 0 where autoscaling is off, whatever the bounds say', () => {
    expect(nodesOf({ autoscaling: false, maxNodes: 10 }, two, 8)).toBe(0);
  });

  test('is unknown where it is on and no bound is given', () => {
    expect(nodesOf({ autoscaling: true }, two, 8)).toBeUndefined();
  });

  test('is what the bound on nodes leaves beside all nodes there and on their way', () => {
    const types = [
      { type: 'a', idle: 2, pendingNodes: 1 },
      { type: 'b', idle: 3 },
    ];
    expect(nodesOf({ autoscaling: true, maxNodes: 10 }, types, 8)).toBe(4);
  });

  test('is what the bound on accelerators leaves, in whole nodes of the type', () => {
    expect(nodesOf({ autoscaling: true, maxAccelerators: 30 }, two, 8)).toBe(1);
    expect(nodesOf({ autoscaling: true, maxAccelerators: 31 }, two, 4)).toBe(3);
  });

  test('is the smaller of the two where both are given', () => {
    expect(nodesOf({ autoscaling: true, maxNodes: 3, maxAccelerators: 1_000 }, two, 8)).toBe(1);
    expect(nodesOf({ autoscaling: true, maxNodes: 100, maxAccelerators: 24 }, two, 8)).toBe(1);
  });

  test('is 0 for a pool that an administrator has bounded below what it has', () => {
    expect(nodesOf({ autoscaling: true, maxNodes: 1 }, two, 8)).toBe(0);
    expect(nodesOf({ autoscaling: true, maxAccelerators: 8 }, two, 8)).toBe(0);
  });

  test('of nodes without accelerators is not held back by a bound on accelerators', () => {
    expect(nodesOf({ autoscaling: true, maxNodes: 5, maxAccelerators: 16 }, two, 0)).toBe(3);
    expect(nodesOf({ autoscaling: true, maxAccelerators: 16 }, two, 0)).toBeUndefined();
  });
});
