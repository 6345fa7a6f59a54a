/**
 * What a view remembers of earlier ones, so that what a node type has does not follow what its
 * nodes offer this second, and its id does not follow labels that come late.
 */
import type { ClusterResourceMap, PurchaseModel } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { DevicePools } from './dra.ts';

export interface RememberedNodeType {
  readonly poolId: string;
  readonly id: string;
  readonly instanceType: string;
  readonly model: string;
  readonly per: number;
  readonly purchaseModel: PurchaseModel;
  readonly zone: string;
  readonly fabricId: string;
}

export interface Memory {
  /** By {@link nodeTypeKey}. */
  readonly nodeTypes: ReadonlyMap<string, RememberedNodeType>;
  /** The most devices that a machine without a machine type has offered, by node. */
  readonly nodeDevices: ReadonlyMap<string, number>;
  readonly devicePools: DevicePools;
}

export const NO_MEMORY: Memory = { nodeTypes: new Map(), nodeDevices: new Map(), devicePools: new Map() };

/** Ids hold no control characters. */
export function nodeTypeKey(poolId: string, id: string): string {
  return `${poolId}\n${id}`;
}

/** What an agent that starts knows from the last snapshot that was accepted of its cluster. */
export function memoryOf(snapshot: ClusterResourceMap): Memory {
  const nodeTypes = new Map<string, RememberedNodeType>();
  for (const pool of snapshot.capacityPools) {
    for (const type of pool.nodeTypes) {
      nodeTypes.set(nodeTypeKey(pool.id, type.id), {
        poolId: pool.id,
        id: type.id,
        instanceType: type.instanceType,
        model: type.acceleratorModel,
        per: type.acceleratorsPerNode,
        purchaseModel: type.purchaseModel,
        zone: type.zone,
        fabricId: type.fabricId,
      });
    }
  }
  return { ...NO_MEMORY, nodeTypes };
}
