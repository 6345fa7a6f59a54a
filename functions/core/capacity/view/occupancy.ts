/** What stands on a node type's nodes, and what is free on each of them. */
import type { NodeTypeCapacity } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { count, type Histogram, largestFirst } from './histogram.ts';
import { type ChainKeys, NO_CHAINS } from './pods.ts';

/** Accelerators, of which `total = allocated + external + unavailable + free` always holds. */
export interface Occupancy {
  readonly nodes: number;
  /** Nodes that nothing uses. */
  readonly idleNodes: number;
  readonly total: bigint;
  readonly allocated: bigint;
  readonly external: bigint;
  readonly unavailable: bigint;
  readonly free: bigint;
  /** Free accelerators on a node: number of such nodes. Nodes with none are left out. */
  readonly freeNodes: Histogram;
}

/**
 * Counts a node type of a snapshot that keeps the rules.
 *
 * @param released chains whose allocations count as free
 * @throws RangeError where a node holds more than it has: the snapshot breaks a rule, and no figure of it would be true
 */
export function occupancyOf(type: NodeTypeCapacity, released: ChainKeys = NO_CHAINS): Occupancy {
  let allocated = 0n;
  let external = 0n;
  let unavailable = 0n;
  let idleNodes = type.totalCount - type.inUse.length;
  if (idleNodes < 0) throw new RangeError(`${type.inUse.length} of ${type.totalCount} nodes are occupied`);
  const freeNodes = new Map<number, number>();
  if (type.acceleratorsPerNode > 0) count(freeNodes, type.acceleratorsPerNode, idleNodes);
  for (const node of type.inUse) {
    let held = 0;
    for (const allocation of node.allocations) {
      if (!released.has(allocation)) held += allocation.acceleratorCount;
    }
    const used = held + node.externalAcceleratorsInUse + node.unavailableAccelerators;
    const free = type.acceleratorsPerNode - used;
    if (free < 0)
      throw new RangeError(`${used} of ${type.acceleratorsPerNode} accelerators of a node are taken`);
    if (free > 0) count(freeNodes, free, 1);
    if (used === 0) idleNodes++;
    allocated += BigInt(held);
    external += BigInt(node.externalAcceleratorsInUse);
    unavailable += BigInt(node.unavailableAccelerators);
  }
  const total = BigInt(type.totalCount) * BigInt(type.acceleratorsPerNode);
  return {
    nodes: type.totalCount,
    idleNodes,
    total,
    allocated,
    external,
    unavailable,
    free: total - allocated - external - unavailable,
    freeNodes: largestFirst(freeNodes),
  };
}
