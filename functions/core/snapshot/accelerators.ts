/**
 * Accelerators of a cluster by model: the few numbers that its head carries, so
 * that a status, a filter and an event need no body.
 */
import type { ClusterResourceMap, NodeTypeCapacity } from '../../gen/resourcemap/v1/resource_map_pb.ts';

/** Sums over all nodes of the cluster. They do not say that any one node has that many. */
export interface AcceleratorTotals {
  /** As the agent wrote it; empty where it gave none. */
  readonly model: string;
  readonly total: bigint;
  /** Not allocated, not in external use and not unavailable. */
  readonly free: bigint;
  readonly unavailable: bigint;
}

/** What the status message can say, and more than there will ever be. */
const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * One entry a model, the largest total first, then by name. Node types without accelerators
 * count nothing. A sum beyond 2^64 − 1, which takes two node types of four billion nodes
 * with four billion accelerators each, stays there.
 */
export function acceleratorTotals(snapshot: ClusterResourceMap): readonly AcceleratorTotals[] {
  const byModel = new Map<string, { model: string; total: bigint; free: bigint; unavailable: bigint }>();
  for (const pool of snapshot.capacityPools) {
    for (const type of pool.nodeTypes) {
      if (type.acceleratorsPerNode === 0) continue;
      let sums = byModel.get(type.acceleratorModel);
      if (sums === undefined) {
        sums = { model: type.acceleratorModel, total: 0n, free: 0n, unavailable: 0n };
        byModel.set(type.acceleratorModel, sums);
      }
      // 2^32 nodes of 2^32 accelerators are beyond a double's exact integers.
      const total = BigInt(type.acceleratorsPerNode) * BigInt(type.totalCount);
      const { used, unavailable } = occupancy(type);
      sums.total += total;
      sums.free += total - used - unavailable;
      sums.unavailable += unavailable;
    }
  }
  return [...byModel.values()]
    .map(({ model, total, free, unavailable }) => ({
      model,
      total: atMostUint64(total),
      free: atMostUint64(free),
      unavailable: atMostUint64(unavailable),
    }))
    .sort((a, b) => (a.total !== b.total ? (a.total > b.total ? -1 : 1) : a.model < b.model ? -1 : 1));
}

function atMostUint64(sum: bigint): bigint {
  return sum > MAX_UINT64 ? MAX_UINT64 : sum;
}

function occupancy(type: NodeTypeCapacity): { used: bigint; unavailable: bigint } {
  let used = 0n;
  let unavailable = 0n;
  for (const node of type.inUse) {
    used += BigInt(node.externalAcceleratorsInUse);
    unavailable += BigInt(node.unavailableAccelerators);
    for (const allocation of node.allocations) used += BigInt(allocation.acceleratorCount);
  }
  return { used, unavailable };
}
