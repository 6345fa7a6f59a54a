import type { MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { acceleratorTotals } from '../../../functions/core/snapshot/accelerators.ts';
import type { NodeTypeCapacitySchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { snapshotOf } from './builders.ts';

type NodeTypeInit = Omit<MessageInitShape<typeof NodeTypeCapacitySchema>, '$typeName'>;

const totals = (...nodeTypes: NodeTypeInit[]) =>
  acceleratorTotals(snapshotOf({ capacityPools: nodeTypes.map((type) => ({ nodeTypes: [type] })) }));

const MAX_UINT32 = 0xffff_ffff;

describe('accelerators by model', () => {
  it('are the total, what is free of it, and what is unavailable', () => {
    const type = {
      acceleratorModel: 'H100',
      acceleratorsPerNode: 8,
      totalCount: 4,
      inUse: [
        { externalAcceleratorsInUse: 1, unavailableAccelerators: 2 },
        { allocations: [{ acceleratorCount: 4 }, { acceleratorCount: 3 }], unavailableAccelerators: 1 },
      ],
    };
    expect(totals(type)).toEqual([{ model: 'H100', total: 32n, free: 21n, unavailable: 3n }]);
  });

  it('are summed over node types and pools, the largest model first, then by name', () => {
    const of = (acceleratorModel: string, totalCount: number) => ({
      acceleratorModel,
      acceleratorsPerNode: 1,
      totalCount,
    });
    expect(totals(of('b', 2), of('c', 1), of('a', 2), of('c', 5)).map((t) => [t.model, t.total])).toEqual([
      ['c', 6n],
      ['a', 2n],
      ['b', 2n],
    ]);
  });

  it('leave out node types without accelerators, and keep those without a model', () => {
    expect(
      totals(
        { acceleratorModel: 'cpu', acceleratorsPerNode: 0, totalCount: 9 },
        { acceleratorsPerNode: 2, totalCount: 3 },
      ),
    ).toEqual([{ model: '', total: 6n, free: 6n, unavailable: 0n }]);
  });

  it('are exact beyond 2^53', () => {
    const huge = { acceleratorModel: 'x', acceleratorsPerNode: MAX_UINT32, totalCount: MAX_UINT32 };
    const used = { ...huge, inUse: [{ externalAcceleratorsInUse: 1, unavailableAccelerators: 2 }] };
    expect(totals(used)).toEqual([
      { model: 'x', total: 18_446_744_065_119_617_025n, free: 18_446_744_065_119_617_022n, unavailable: 2n },
    ]);
  });

  it('stay at 2^64 − 1 where the sum is larger', () => {
    const huge = { acceleratorModel: 'x', acceleratorsPerNode: MAX_UINT32, totalCount: MAX_UINT32 };
    expect(totals(huge, huge)).toEqual([
      { model: 'x', total: 2n ** 64n - 1n, free: 2n ** 64n - 1n, unavailable: 0n },
    ]);
  });

  it('take any name for a model', () => {
    const model = { acceleratorModel: '__proto__', acceleratorsPerNode: 1, totalCount: 1 };
    expect(totals(model)).toEqual([{ model: '__proto__', total: 1n, free: 1n, unavailable: 0n }]);
  });
});
