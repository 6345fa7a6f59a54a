/** How far a pool can still scale out. */
import type { CapacityPool } from '../../../gen/resourcemap/v1/resource_map_pb.ts';

/**
 * What a pool may add, shared by its node types. `none` where autoscaling is off, `unknown`
 * where it is on and no bound is given; a bound that is absent is neither 0 nor infinite,
 * the other one then stands alone.
 */
export type Headroom =
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'bounded';
      readonly nodes: number | undefined;
      readonly accelerators: bigint | undefined;
    };

/**
 * Nodes that are on their way count against the bounds; where their number is unknown,
 * only what is known of them does. A pool beyond its bounds, which an administrator can
 * bring about, has a headroom of 0.
 */
export function headroomOf(pool: CapacityPool): Headroom {
  if (!pool.autoscalingEnabled) return { kind: 'none' };
  if (pool.maxNodes === undefined && pool.maxAccelerators === undefined) return { kind: 'unknown' };
  let nodes = 0;
  let accelerators = 0n;
  for (const type of pool.nodeTypes) {
    const coming = type.totalCount + (type.pendingNodeCount ?? 0);
    nodes += coming;
    accelerators += BigInt(coming) * BigInt(type.acceleratorsPerNode);
  }
  const left = pool.maxAccelerators === undefined ? undefined : BigInt(pool.maxAccelerators) - accelerators;
  return {
    kind: 'bounded',
    nodes: pool.maxNodes === undefined ? undefined : Math.max(0, pool.maxNodes - nodes),
    accelerators: left === undefined || left > 0n ? left : 0n,
  };
}

/**
 * Nodes of one node type that the pool may add if it adds no others; `undefined`: unknown.
 * A node without accelerators is not held back by a bound on accelerators.
 */
export function headroomNodes(headroom: Headroom, acceleratorsPerNode: number): number | undefined {
  if (headroom.kind === 'none') return 0;
  if (headroom.kind === 'unknown') return undefined;
  const { nodes, accelerators } = headroom;
  if (accelerators === undefined || acceleratorsPerNode === 0) return nodes;
  const byAccelerators = Number(accelerators / BigInt(acceleratorsPerNode));
  return nodes === undefined ? byAccelerators : Math.min(nodes, byAccelerators);
}
