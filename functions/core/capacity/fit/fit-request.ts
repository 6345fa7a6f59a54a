/** What is asked: shapes of work, each a number of chains alike. */
import type { PurchaseModel } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { Decimal } from '../decimal.ts';

/** One shape. A chain stands in one cluster. */
export interface ShapeRequest {
  readonly name: string;
  readonly chains: number;
  /** One entry for each pod of a chain, in order. */
  readonly pods: readonly PodRequest[];
  /** How often each of them is in a chain; absent: once. */
  readonly copies?: readonly number[];
  readonly sameFabric: boolean;
  readonly sameZone: boolean;
}

/** A pod and the targets where it may stand; an empty list or absent field is no condition. */
export interface PodRequest {
  /** At least 1, on a single node. */
  readonly accelerators: number;
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly acceleratorModels: readonly string[];
  readonly instanceTypes: readonly string[];
  readonly purchaseModels: readonly PurchaseModel[];
  readonly zones: readonly string[];
  readonly fabrics: readonly string[];
  readonly rdmaReady: boolean;
  readonly maxPrice: MaxPrice | undefined;
}

/** For one node-hour. */
export interface MaxPrice {
  readonly currency: string;
  readonly amount: Decimal;
}

/** Whether the pods of a chain have to share anything: a single pod shares its fabric with itself. */
export function spansPods({ pods }: ShapeRequest): boolean {
  return pods.length > 1;
}
