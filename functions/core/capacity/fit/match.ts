/** Which targets a pod may stand in, and what keeps it out of the others. */
import { compareDecimals } from '../decimal.ts';
import type { TargetView } from '../view/view.ts';
import type { PodRequest } from './fit-request.ts';

/** What of a target does not meet a pod's conditions, as the end of a sentence that begins with a number of node types. */
export type Mismatch =
  | 'are in another pool'
  | 'have another id'
  | 'have another accelerator model'
  | 'are another instance type'
  | 'have another purchase model'
  | 'are in another zone, or in an unknown one'
  | 'are in another fabric, or in an unknown one'
  | 'are not known to be RDMA-ready'
  | 'have an unknown price'
  | 'are priced in another currency'
  | 'cost more'
  | 'have too few accelerators a node';

/** The first condition that the target does not meet; `undefined` where the pod may stand there. */
export function mismatch(target: TargetView, pod: PodRequest): Mismatch | undefined {
  if (pod.poolId !== '' && pod.poolId !== target.poolId) return 'are in another pool';
  if (pod.nodeTypeId !== '' && pod.nodeTypeId !== target.nodeTypeId) return 'have another id';
  if (excludes(pod.acceleratorModels, target.acceleratorModel)) return 'have another accelerator model';
  if (excludes(pod.instanceTypes, target.instanceType)) return 'are another instance type';
  if (excludes(pod.purchaseModels, target.purchaseModel)) return 'have another purchase model';
  if (excludes(pod.zones, target.zone)) return 'are in another zone, or in an unknown one';
  if (excludes(pod.fabrics, target.fabricId)) return 'are in another fabric, or in an unknown one';
  if (pod.rdmaReady && target.rdmaReady !== true) return 'are not known to be RDMA-ready';
  if (pod.maxPrice !== undefined) {
    if (target.price === undefined) return 'have an unknown price';
    if (target.price.currency !== pod.maxPrice.currency) return 'are priced in another currency';
    if (compareDecimals(target.price.amount, pod.maxPrice.amount) > 0) return 'cost more';
  }
  if (target.acceleratorsPerNode < pod.accelerators) return 'have too few accelerators a node';
  return undefined;
}

function excludes<T>(accepted: readonly T[], value: T): boolean {
  return accepted.length > 0 && !accepted.includes(value);
}
