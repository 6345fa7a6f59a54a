/** Which targets an answer is about. */
import type { PurchaseModel } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { ClusterView, TargetView } from './view.ts';

/** Values of one field are alternatives, fields must all hold, and an empty or absent field is no condition. */
export interface TargetFilter {
  readonly cluster: readonly string[];
  readonly provider: readonly string[];
  readonly region: readonly string[];
  readonly site: readonly string[];
  readonly acceleratorModel: readonly string[];
  readonly pool: readonly string[];
  readonly nodeType: readonly string[];
  readonly instanceType: readonly string[];
  readonly purchaseModel: readonly PurchaseModel[];
  readonly zone: readonly string[];
  readonly fabric: readonly string[];
  /** A target whose fabric is unknown meets neither value. */
  readonly rdmaReady?: boolean | undefined;
  readonly eligible?: boolean | undefined;
}

/** Every target. */
export const ALL_TARGETS: TargetFilter = {
  cluster: [],
  provider: [],
  region: [],
  site: [],
  acceleratorModel: [],
  pool: [],
  nodeType: [],
  instanceType: [],
  purchaseModel: [],
  zone: [],
  fabric: [],
};

/** A filter as a predicate. */
export function targetMatcher(filter: TargetFilter): (cluster: ClusterView, target: TargetView) => boolean {
  const conditions: ((cluster: ClusterView, target: TargetView) => boolean)[] = [];
  const where = <T>(values: readonly T[], of: (cluster: ClusterView, target: TargetView) => T): void => {
    if (values.length === 0) return;
    const accepted = new Set(values);
    conditions.push((cluster, target) => accepted.has(of(cluster, target)));
  };
  where(filter.cluster, ({ clusterId }) => clusterId);
  where(filter.provider, ({ provider }) => provider);
  where(filter.region, ({ region }) => region);
  where(filter.site, ({ site }) => site);
  where(filter.acceleratorModel, (_, { acceleratorModel }) => acceleratorModel);
  where(filter.pool, (_, { poolId }) => poolId);
  where(filter.nodeType, (_, { nodeTypeId }) => nodeTypeId);
  where(filter.instanceType, (_, { instanceType }) => instanceType);
  where(filter.purchaseModel, (_, { purchaseModel }) => purchaseModel);
  where(filter.zone, (_, { zone }) => zone);
  where(filter.fabric, (_, { fabricId }) => fabricId);
  if (filter.rdmaReady !== undefined) where([filter.rdmaReady], (_, { rdmaReady }) => rdmaReady);
  if (filter.eligible !== undefined) where([filter.eligible], (_, { eligible }) => eligible);
  return (cluster, target) => conditions.every((holds) => holds(cluster, target));
}
