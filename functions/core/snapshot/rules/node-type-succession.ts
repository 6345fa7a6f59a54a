/**
 * The one rule that compares with the previous *body*. The facts that it compares
 * are few, so the caller takes them from the old body and lets go of it; and it need
 * not read the old body at all where the content did not change.
 */
import { type ClusterResourceMap, PurchaseModel } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { FindingCollector, type Findings } from '../../findings.ts';
import { quote } from '../../quote.ts';
import type { RuleContext } from './context.ts';
import { rulesOf, warn } from './rule.ts';
import { nodeTypeName } from './snapshot-index.ts';

const NODE_TYPE = 'capacity_pools[].node_types[]';

export const nodeTypeSuccessionRules = rulesOf({
  node_type_changed: warn(
    [
      `${NODE_TYPE}.accelerator_model`,
      `${NODE_TYPE}.accelerators_per_node`,
      `${NODE_TYPE}.price_per_node_hour.currency_code`,
      `${NODE_TYPE}.purchase_model`,
    ],
    'A (pool, node type) keeps its model, accelerators per node, currency and purchase model from one snapshot to the next. A price that appears or goes is no change of currency.',
  ),
});

/** What a node type id stands for, beside how much of it there is. */
export interface NodeTypeFacts {
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly path: string;
  readonly acceleratorModel: string;
  readonly acceleratorsPerNode: number;
  readonly totalCount: number;
  /** Absent where the price is unknown. */
  readonly currencyCode: string | undefined;
  readonly purchaseModel: PurchaseModel;
}

/** What a snapshot is compared with its successor by, in document order. */
export interface CapacityFacts {
  readonly poolIds: readonly string[];
  readonly nodeTypes: readonly NodeTypeFacts[];
}

/** The facts of every pool and node type. */
export function capacityFacts({ capacityPools }: ClusterResourceMap): CapacityFacts {
  const nodeTypes = capacityPools.flatMap((pool, p) =>
    pool.nodeTypes.map((type, t) => ({
      poolId: pool.id,
      nodeTypeId: type.id,
      path: `capacity_pools[${p}].node_types[${t}]`,
      acceleratorModel: type.acceleratorModel,
      acceleratorsPerNode: type.acceleratorsPerNode,
      totalCount: type.totalCount,
      currencyCode: type.pricePerNodeHour?.currencyCode,
      purchaseModel: type.purchaseModel,
    })),
  );
  return { poolIds: capacityPools.map(({ id }) => id), nodeTypes };
}

/** Checks that no node type of `next` means something else than in `previous`. Types that come or go break nothing. */
export function checkNodeTypeSuccession(
  previous: CapacityFacts,
  next: CapacityFacts,
  context: RuleContext,
): Findings {
  const out = new FindingCollector({ strict: context.strict, cap: context.maxFindings });
  const before = new Map<string, Map<string, NodeTypeFacts>>();
  for (const facts of previous.nodeTypes) {
    const pool = before.get(facts.poolId) ?? new Map<string, NodeTypeFacts>();
    before.set(facts.poolId, pool.set(facts.nodeTypeId, facts));
  }
  for (const now of next.nodeTypes) {
    const was = before.get(now.poolId)?.get(now.nodeTypeId);
    if (was !== undefined) checkUnchanged(was, now, out);
  }
  return out.result();
}

function checkUnchanged(was: NodeTypeFacts, now: NodeTypeFacts, out: FindingCollector): void {
  const report = (field: string, before: string, after: string): void => {
    out.report(
      nodeTypeSuccessionRules.node_type_changed,
      () => `${now.path}.${field}`,
      () =>
        `${field} of ${nodeTypeName(now.poolId, now.nodeTypeId)} is ${after}, and was ${before} in the last accepted snapshot; ` +
        'give nodes of another kind a node type of their own',
    );
  };
  if (was.acceleratorModel !== now.acceleratorModel) {
    report('accelerator_model', quote(was.acceleratorModel), quote(now.acceleratorModel));
  }
  if (was.acceleratorsPerNode !== now.acceleratorsPerNode) {
    report('accelerators_per_node', `${was.acceleratorsPerNode}`, `${now.acceleratorsPerNode}`);
  }
  if (
    was.currencyCode !== undefined &&
    now.currencyCode !== undefined &&
    was.currencyCode !== now.currencyCode
  ) {
    report('price_per_node_hour.currency_code', quote(was.currencyCode), quote(now.currencyCode));
  }
  if (was.purchaseModel !== now.purchaseModel) {
    report('purchase_model', purchaseModelName(was.purchaseModel), purchaseModelName(now.purchaseModel));
  }
}

function purchaseModelName(model: PurchaseModel): string {
  // A number that is not known here has no name.
  return PurchaseModel[model] ?? `${model}`;
}
