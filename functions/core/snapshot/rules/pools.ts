/** Section *Pools and node types*. */
import {
  type HourlyPrice,
  PurchaseModel,
  PurchaseModelSchema,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { PLAUSIBLE_ACCELERATORS_PER_NODE, PLAUSIBLE_NODES } from '../limits.ts';
import { isIso4217 } from './currency.ts';
import { isKnownPurchaseModel, reportUnknownEnum } from './enums.ts';
import { isValidId, reportInvalidId } from './ids.ts';
import { reject, rulesOf, warn, warnAlways } from './rule.ts';
import type { NodeTypeEntry, PoolEntry, SnapshotIndex } from './snapshot-index.ts';

export const poolRules = rulesOf({
  duplicate_pool_id: reject('capacity_pools[].id', 'Pool ids are unique in the cluster.'),
  pool_bounds_inverted: reject(
    'capacity_pools[].min_nodes',
    '`min_nodes` ≤ `max_nodes` where both are present. An absent bound is unspecified: neither 0 nor unlimited.',
  ),
  pool_out_of_bounds: warn(
    ['capacity_pools[].min_nodes', 'capacity_pools[].max_nodes', 'capacity_pools[].max_accelerators'],
    'Over the pool’s node types, the nodes are at least `min_nodes`, nodes and pending nodes at most `max_nodes`, and their accelerators at most `max_accelerators`. A warning, since an administrator can edit a bound below what is there.',
  ),
  duplicate_node_type_id: reject(
    'capacity_pools[].node_types[].id',
    'Node type ids are unique in their pool. Several node types may share an `instance_type`.',
  ),
  too_many_occupied_nodes: reject(
    'capacity_pools[].node_types[].in_use',
    '`in_use` has at most `total_count` entries.',
  ),
  implausible_count: warnAlways(
    ['capacity_pools[].node_types[].total_count', 'capacity_pools[].node_types[].accelerators_per_node'],
    'A node type has at most 100,000 nodes, and a node at most 1,024 accelerators.',
  ),
  invalid_price: reject(
    [
      'capacity_pools[].node_types[].price_per_node_hour.currency_code',
      'capacity_pools[].node_types[].price_per_node_hour.decimal_amount',
    ],
    '`currency_code` is three capital letters, and `decimal_amount` plain digits with at most one point between them: no sign, exponent or space. An absent price is unknown; "0" is free.',
  ),
  unknown_currency: warn(
    'capacity_pools[].node_types[].price_per_node_hour.currency_code',
    'The currency code is in ISO 4217.',
  ),
  unspecified_purchase_model: warn(
    'capacity_pools[].node_types[].purchase_model',
    '`purchase_model` is set. It is kept as sent.',
  ),
  unknown_fabric: reject(
    'capacity_pools[].node_types[].fabric_id',
    'A `fabric_id` names a fabric of the topology. An empty one is unknown.',
  ),
  invalid_duration: reject(
    'capacity_pools[].node_types[].max_run_duration',
    '`max_run_duration`, where present, is a valid protobuf Duration above zero.',
  ),
  run_duration_without_flex_start: warn(
    'capacity_pools[].node_types[].max_run_duration',
    '`max_run_duration` needs the purchase model FLEX_START.',
  ),
});

/** Checks a pool without its node types. */
export function checkPool(pool: PoolEntry, out: FindingCollector): void {
  const { id, minNodes, maxNodes, maxAccelerators } = pool.pool;
  if (!pool.validId) reportInvalidId(id, () => pool.path, 'id', out);
  const { duplicateOf } = pool;
  if (duplicateOf !== undefined) {
    out.report(
      poolRules.duplicate_pool_id,
      () => `${pool.path}.id`,
      () =>
        `id ${quote(id)} is that of ${duplicateOf.path} already; give each pool of the cluster an id of its own`,
    );
  }
  if (minNodes === undefined && maxNodes === undefined && maxAccelerators === undefined) return;
  if (minNodes !== undefined && maxNodes !== undefined && minNodes > maxNodes) {
    out.report(
      poolRules.pool_bounds_inverted,
      () => `${pool.path}.min_nodes`,
      () =>
        `min_nodes ${minNodes} of pool ${quote(id)} is above its max_nodes ${maxNodes}; it must be at most that`,
    );
  }
  checkPoolBounds(pool, out);
}

function checkPoolBounds(pool: PoolEntry, out: FindingCollector): void {
  const { id, minNodes = 0, maxNodes = Infinity, maxAccelerators = Infinity } = pool.pool;
  const sums = sumNodes(pool);
  // No number of nodes could satisfy bounds that are inverted, so it is not blamed for that.
  const satisfiable = minNodes <= maxNodes;
  if (satisfiable && sums.nodes < minNodes) {
    out.report(
      poolRules.pool_out_of_bounds,
      () => `${pool.path}.min_nodes`,
      () => `pool ${quote(id)} has ${sums.nodes} nodes, fewer than its min_nodes ${minNodes}`,
    );
  }
  if (satisfiable && sums.nodes + sums.pendingNodes > maxNodes) {
    out.report(
      poolRules.pool_out_of_bounds,
      () => `${pool.path}.max_nodes`,
      () =>
        `pool ${quote(id)} has ${sums.nodes} nodes and ${sums.pendingNodes} pending ones, more than its max_nodes ${maxNodes}`,
    );
  }
  if (sums.accelerators > maxAccelerators) {
    out.report(
      poolRules.pool_out_of_bounds,
      () => `${pool.path}.max_accelerators`,
      () =>
        `pool ${quote(id)} has ${exactAccelerators(pool)} accelerators on its nodes and pending nodes, ` +
        `more than its max_accelerators ${maxAccelerators}`,
    );
  }
}

/**
 * Sums as doubles: they cannot wrap, are exact up to 2^53 and never lose their order
 * against a uint32, so what is compared with a bound is compared rightly.
 */
function sumNodes(pool: PoolEntry): { nodes: number; pendingNodes: number; accelerators: number } {
  let nodes = 0;
  let pendingNodes = 0;
  let accelerators = 0;
  for (const { totalCount, pendingNodeCount = 0, acceleratorsPerNode } of pool.pool.nodeTypes) {
    nodes += totalCount;
    pendingNodes += pendingNodeCount;
    accelerators += (totalCount + pendingNodeCount) * acceleratorsPerNode;
  }
  return { nodes, pendingNodes, accelerators };
}

function exactAccelerators(pool: PoolEntry): bigint {
  let sum = 0n;
  for (const { totalCount, pendingNodeCount = 0, acceleratorsPerNode } of pool.pool.nodeTypes) {
    sum += BigInt(totalCount + pendingNodeCount) * BigInt(acceleratorsPerNode);
  }
  return sum;
}

/** Checks a node type up to its occupancy, in the order of its fields. */
export function checkNodeType(nodeType: NodeTypeEntry, index: SnapshotIndex, out: FindingCollector): void {
  const { id, pricePerNodeHour, purchaseModel, fabricId, inUse, totalCount } = nodeType.type;
  if (!nodeType.validId) reportInvalidId(id, () => nodeType.path, 'id', out);
  const { duplicateOf } = nodeType;
  if (duplicateOf !== undefined) {
    out.report(
      poolRules.duplicate_node_type_id,
      () => `${nodeType.path}.id`,
      () =>
        `id ${quote(id)} is that of ${duplicateOf.path} already; give each node type of pool ` +
        `${quote(nodeType.pool.pool.id)} an id of its own`,
    );
  }
  checkCounts(nodeType, out);
  if (pricePerNodeHour !== undefined) checkPrice(pricePerNodeHour, nodeType, out);
  if (purchaseModel === PurchaseModel.UNSPECIFIED) {
    out.report(
      poolRules.unspecified_purchase_model,
      () => `${nodeType.path}.purchase_model`,
      () => `purchase_model of ${nodeType.name} is not set; say how its nodes are paid for`,
    );
  } else if (!isKnownPurchaseModel(purchaseModel)) {
    reportUnknownEnum(PurchaseModelSchema, purchaseModel, () => nodeType.path, 'purchase_model', out);
  }
  if (fabricId !== '' && !isValidId(fabricId))
    reportInvalidId(fabricId, () => nodeType.path, 'fabric_id', out);
  if (fabricId !== '' && !index.fabricIds.has(fabricId)) {
    out.report(
      poolRules.unknown_fabric,
      () => `${nodeType.path}.fabric_id`,
      () =>
        `fabric_id ${quote(fabricId)} of ${nodeType.name} is not in topology.fabrics; list the fabric, or leave fabric_id empty where it is unknown`,
    );
  }
  if (inUse.length > totalCount) {
    out.report(
      poolRules.too_many_occupied_nodes,
      () => `${nodeType.path}.in_use`,
      () =>
        `in_use of ${nodeType.name} has ${inUse.length} entries, but total_count is ${totalCount}; each entry is one of its nodes`,
    );
  }
}

/** Digits, and at most one point between them. A price is never parsed: it is a decimal, not a float. */
const PLAIN_DECIMAL = /^\d+(\.\d+)?$/;
const CURRENCY_CODE = /^[A-Z]{3}$/;

function checkPrice(price: HourlyPrice, nodeType: NodeTypeEntry, out: FindingCollector): void {
  const { currencyCode, decimalAmount } = price;
  const path = () => `${nodeType.path}.price_per_node_hour`;
  if (!CURRENCY_CODE.test(currencyCode)) {
    out.report(
      poolRules.invalid_price,
      () => `${path()}.currency_code`,
      () =>
        `currency_code ${quote(currencyCode)} of ${nodeType.name} is not three capital letters such as "USD"; ` +
        'leave price_per_node_hour out where the price is unknown',
    );
  } else if (!isIso4217(currencyCode)) {
    out.report(
      poolRules.unknown_currency,
      () => `${path()}.currency_code`,
      () => `currency_code ${quote(currencyCode)} of ${nodeType.name} is not in ISO 4217; it is kept as sent`,
    );
  }
  if (!PLAIN_DECIMAL.test(decimalAmount)) {
    out.report(
      poolRules.invalid_price,
      () => `${path()}.decimal_amount`,
      () =>
        `decimal_amount ${quote(decimalAmount)} of ${nodeType.name} is not plain digits with at most one point between them, ` +
        'such as "12.50"; "0" is free, and an absent price_per_node_hour is unknown',
    );
  }
}

/** 10,000 years, the range that Protobuf gives a Duration. */
const MAX_DURATION_SECONDS = 315_576_000_000n;

/** Checks `max_run_duration`, which stands after occupancy and reservations. */
export function checkRunDuration(nodeType: NodeTypeEntry, out: FindingCollector): void {
  const duration = nodeType.type.maxRunDuration;
  if (duration === undefined) return;
  const path = () => `${nodeType.path}.max_run_duration`;
  const { seconds, nanos } = duration;
  // Nanos from 0 only: negative ones would make the whole negative, or, beside seconds, be of another sign.
  const valid = seconds >= 0n && seconds <= MAX_DURATION_SECONDS && nanos >= 0 && nanos <= 999_999_999;
  if (!valid || (seconds === 0n && nanos === 0)) {
    out.report(
      poolRules.invalid_duration,
      path,
      () =>
        `max_run_duration of ${nodeType.name} is ${seconds} s and ${nanos} ns; it must be above zero and at most ` +
        `${MAX_DURATION_SECONDS} s, with nanos from 0 to 999999999`,
    );
  }
  if (nodeType.type.purchaseModel !== PurchaseModel.FLEX_START) {
    out.report(
      poolRules.run_duration_without_flex_start,
      path,
      () =>
        `max_run_duration of ${nodeType.name} needs the purchase model FLEX_START, whose nodes alone end by themselves`,
    );
  }
}

function checkCounts(nodeType: NodeTypeEntry, out: FindingCollector): void {
  const { acceleratorsPerNode, totalCount } = nodeType.type;
  if (acceleratorsPerNode > PLAUSIBLE_ACCELERATORS_PER_NODE) {
    out.report(
      poolRules.implausible_count,
      () => `${nodeType.path}.accelerators_per_node`,
      () =>
        `accelerators_per_node of ${nodeType.name} is ${acceleratorsPerNode}; at most ${PLAUSIBLE_ACCELERATORS_PER_NODE} are plausible: ` +
        'check that the agent counts the accelerators of one node',
    );
  }
  if (totalCount > PLAUSIBLE_NODES) {
    out.report(
      poolRules.implausible_count,
      () => `${nodeType.path}.total_count`,
      () =>
        `total_count of ${nodeType.name} is ${totalCount}; at most ${PLAUSIBLE_NODES} are plausible: check that the agent counts nodes`,
    );
  }
}
