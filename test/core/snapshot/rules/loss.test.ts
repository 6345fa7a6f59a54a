import { describe, expect, it } from 'vitest';
import {
  capacityFacts,
  lossBetween,
  lossFindings,
  NO_LOSS,
  warningsOf,
} from '../../../../functions/core/snapshot/rules/index.ts';
import { nodeType, type PoolInit, pool, snapshotOf } from '../builders.ts';

function loss(before: readonly PoolInit[], now: readonly PoolInit[]) {
  const factsOf = (capacityPools: readonly PoolInit[]) =>
    capacityFacts(snapshotOf({ capacityPools: [...capacityPools] }));
  return lossBetween(factsOf(before), factsOf(now));
}

const withNodes = (id: string, totalCount = 2): PoolInit =>
  pool({ id, nodeTypes: [nodeType({ totalCount })] });

describe('what the content lost', () => {
  it('is nothing where every pool is there and there are nodes', () => {
    expect(loss([withNodes('a')], [withNodes('b'), withNodes('a', 1)])).toBe(NO_LOSS);
    expect(loss([], [withNodes('a')])).toBe(NO_LOSS);
  });

  it('is every pool that is gone, one without nodes too', () => {
    const lost = loss([withNodes('a'), withNodes('b'), pool({ id: 'c' })], [withNodes('b')]);
    expect(lost).toEqual({ emptiedNodes: 0, goneCount: 2, goneIds: ['a', 'c'] });
    expect(warningsOf(lost)).toBe(2);
    expect(lossFindings(lost, {}).findings).toEqual([
      {
        code: 'pool_gone',
        severity: 'warn',
        path: 'capacity_pools',
        message:
          'pool "a" of the content before is not there; if it was not removed, check the agent’s rights',
      },
      expect.objectContaining({ code: 'pool_gone' }),
    ]);
  });

  it.each([
    ['no pool', []],
    ['pools without nodes', [withNodes('a', 0)]],
  ])('is all of it where there is %s, and then no pool is reported beside it', (_, now) => {
    const lost = loss([withNodes('a'), withNodes('b', 3)], now);
    expect(warningsOf(lost)).toBe(1);
    expect(lossFindings(lost, {}).findings).toEqual([
      {
        code: 'snapshot_emptied',
        severity: 'warn',
        path: 'capacity_pools',
        message:
          'the snapshot has no node, and the content before had 5; if they are still there, check the agent’s rights',
      },
    ]);
  });

  it('is nothing where there was no node before', () => {
    expect(loss([withNodes('a', 0)], [withNodes('a', 0)])).toBe(NO_LOSS);
  });
});
