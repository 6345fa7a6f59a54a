import { toJson } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import {
  ALL_TARGETS,
  type TargetFilter,
  targetMatcher,
} from '../../../../functions/core/capacity/view/filter.ts';
import { groupTargets } from '../../../../functions/core/capacity/view/group.ts';
import { CapacityGroupSchema, GroupKey } from '../../../../functions/gen/resourcemap/v1/capacity_pb.ts';
import { type ClusterInit, COLLECTED_AT_MS, dated, freeNodes, pending } from '../builders.ts';

const NOW_NANOS = BigInt(COLLECTED_AT_MS + 5_000) * 1_000_000n;

function groups(inits: readonly ClusterInit[], ...keys: readonly GroupKey[]) {
  const rows = inits.flatMap((init) => {
    const cluster = dated(init);
    return cluster.view.targets.map((target) => ({ cluster, target }));
  });
  return groupTargets(rows, keys, NOW_NANOS);
}

describe('a group', () => {
  test('adds up what its targets have, node by node and price by price', () => {
    const [group] = groups(
      [
        {
          id: 'a',
          types: [
            { type: 'x', price: '10', nodes: freeNodes(8, [4]), idle: 1, pendingNodes: 1 },
            { type: 'y', price: '9.50', perNode: 4, idle: 2, eligible: false, pendingNodes: 0 },
          ],
          pools: { gpu: { autoscaling: true, maxNodes: 9 } },
          ranks: [pending('r', 8, 2)],
        },
        {
          id: 'b',
          types: [
            { price: '7', currency: 'EUR', idle: 1, pendingNodes: 2 },
            { type: 'z', pendingNodes: 0 },
          ],
        },
      ],
      GroupKey.ACCELERATOR_MODEL,
    );
    if (group === undefined) throw new Error('there is one group');
    expect(toJson(CapacityGroupSchema, group, { alwaysEmitImplicit: true })).toEqual({
      values: [{ key: 'GROUP_KEY_ACCELERATOR_MODEL', value: 'H100' }],
      targets: 4,
      nodes: '5',
      idleNodes: '4',
      pendingNodes: '3',
      accelerators: '32',
      allocated: '0',
      external: '4',
      unavailable: '0',
      free: '28',
      freeHistogram: { 4: '3', 8: '2' },
      freeHistogramAfterDemand: { 4: '3', 8: '1' },
      pendingDemand: '16',
      reservedDemand: '0',
      deficit: '8',
      deficitServedByPendingNodes: '8',
      deficitUndecided: false,
      eligibleFree: '20',
      // The pool of a may add 9 − 4 − 1 nodes, once, though two node types share it; that of b does not scale.
      headroomNodes: '4',
      prices: [
        { currencyCode: 'EUR', lowestDecimalAmount: '7', highestDecimalAmount: '7' },
        { currencyCode: 'USD', lowestDecimalAmount: '9.50', highestDecimalAmount: '10' },
      ],
      unpricedTargets: 1,
      oldestAge: '5s',
      claimed: '0',
      claimedPods: {},
      freeHistogramAfterClaims: { 4: '3', 8: '1' },
    });
  });

  test('does not know a sum of which it does not know a part', () => {
    const [group] = groups(
      [{ types: [{ pendingNodes: 1 }, { type: 'y' }], pools: { gpu: { autoscaling: true } } }],
      GroupKey.CLUSTER,
    );
    expect([group?.pendingNodes, group?.headroomNodes]).toEqual([undefined, undefined]);
  });

  test('stops at the end of what the wire can say, and does not wrap', () => {
    const type = { perNode: 4_294_967_295, idle: 4_294_967_295 };
    const [group] = groups(
      [
        {
          types: [
            { ...type, type: 'x' },
            { ...type, type: 'y' },
          ],
        },
      ],
      GroupKey.CLUSTER,
    );
    expect(group?.accelerators).toBe(18_446_744_073_709_551_615n);
  });

  test('is one for each combination that occurs, in order of the values', () => {
    const made = groups(
      [
        { id: 'b', types: [{ zone: 'z2' }, { type: 'y', zone: 'z1' }] },
        { id: 'a', types: [{ zone: 'z1' }, { type: 'y', zone: 'z1' }] },
      ],
      GroupKey.ZONE,
      GroupKey.CLUSTER,
    );
    expect(made.map(({ values, targets }) => [...values.map(({ value }) => value), targets])).toEqual([
      ['z1', 'a', 2],
      ['z1', 'b', 1],
      ['z2', 'b', 1],
    ]);
  });
});

describe('a filter', () => {
  const cluster = dated({
    id: 'c',
    types: [{ type: 'known', fabric: 'f' }, { type: 'unknown' }],
    fabrics: { f: false },
  });
  const kept = (filter: Partial<TargetFilter>) => {
    const matches = targetMatcher({ ...ALL_TARGETS, ...filter });
    return cluster.view.targets
      .filter((target) => matches(cluster.view, target))
      .map(({ nodeTypeId }) => nodeTypeId);
  };

  test('has alternatives within a field and conditions across fields', () => {
    expect(kept({})).toEqual(['known', 'unknown']);
    expect(kept({ nodeType: ['known', 'unknown'] })).toEqual(['known', 'unknown']);
    expect(kept({ nodeType: ['known'], cluster: ['d'] })).toEqual([]);
  });

  test('for RDMA is met by what is known to be so, and by nothing that is unknown', () => {
    expect(kept({ rdmaReady: true })).toEqual([]);
    expect(kept({ rdmaReady: false })).toEqual(['known']);
  });
});
