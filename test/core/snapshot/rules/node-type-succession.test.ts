import { expect, it } from 'vitest';
import { capacityFacts, checkNodeTypeSuccession } from '../../../../functions/core/snapshot/rules/index.ts';
import { PurchaseModel } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { NOW_MS, type NodeTypeInit, nodeType, pool, snapshotOf } from '../builders.ts';

const BEFORE: NodeTypeInit = {
  acceleratorModel: 'H100',
  pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '98.32' },
};

function factsOf(init: NodeTypeInit) {
  return capacityFacts(
    snapshotOf({ capacityPools: [pool(), pool({ id: 'q', nodeTypes: [nodeType(init)] })] }),
  );
}

function succession(after: NodeTypeInit, strict = false) {
  return checkNodeTypeSuccession(factsOf(BEFORE), factsOf({ ...BEFORE, ...after }), {
    nowMs: NOW_MS,
    strict,
  });
}

const AT = 'capacity_pools[1].node_types[0]';
const END = 'in the last accepted snapshot; give nodes of another kind a node type of their own';

it.each<[NodeTypeInit, string, string]>([
  [
    { acceleratorModel: 'H200' },
    `${AT}.accelerator_model`,
    `accelerator_model of node type "t" of pool "q" is "H200", and was "H100" ${END}`,
  ],
  [
    { acceleratorsPerNode: 4 },
    `${AT}.accelerators_per_node`,
    `accelerators_per_node of node type "t" of pool "q" is 4, and was 8 ${END}`,
  ],
  [
    { pricePerNodeHour: { currencyCode: 'EUR', decimalAmount: '98.32' } },
    `${AT}.price_per_node_hour.currency_code`,
    `price_per_node_hour.currency_code of node type "t" of pool "q" is "EUR", and was "USD" ${END}`,
  ],
  [
    { purchaseModel: PurchaseModel.SPOT },
    `${AT}.purchase_model`,
    `purchase_model of node type "t" of pool "q" is SPOT, and was ON_DEMAND ${END}`,
  ],
  [
    { purchaseModel: 9 as PurchaseModel },
    `${AT}.purchase_model`,
    `purchase_model of node type "t" of pool "q" is 9, and was ON_DEMAND ${END}`,
  ],
])('warns of a node type that has become %o', (after, path, message) => {
  expect(succession(after)).toEqual({
    findings: [{ code: 'node_type_changed', severity: 'warn', path, message }],
    omitted: 0,
    rejects: 0,
    warnings: 1,
  });
});

it('refuses it where the push is strict', () => {
  expect(succession({ acceleratorsPerNode: 4 }, true)).toMatchObject({ rejects: 1, warnings: 0 });
});

it.each<[string, NodeTypeInit]>([
  ['the price changes', { pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '1' } }],
  ['the price is no longer known', { pricePerNodeHour: undefined }],
  ['the number of nodes changes', { totalCount: 0 }],
  [
    'the instance type, zone and eligibility change',
    { instanceType: 'x', zone: 'z', eligibleForTandemn: false },
  ],
  ['it is another node type', { id: 'T', acceleratorsPerNode: 4 }],
])('says nothing where %s', (_, after) => {
  expect(succession(after).findings).toEqual([]);
});

it('says nothing where a price becomes known', () => {
  const unknown = factsOf({ ...BEFORE, pricePerNodeHour: undefined });
  expect(checkNodeTypeSuccession(unknown, factsOf(BEFORE), { nowMs: NOW_MS }).findings).toEqual([]);
});

it('tells node types of one id in two pools apart', () => {
  const snapshot = (first: number, second: number) =>
    snapshotOf({
      capacityPools: [
        pool({ nodeTypes: [nodeType({ acceleratorsPerNode: first })] }),
        pool({ id: 'q', nodeTypes: [nodeType({ acceleratorsPerNode: second })] }),
      ],
    });
  const before = capacityFacts(snapshot(8, 4));
  expect(checkNodeTypeSuccession(before, capacityFacts(snapshot(8, 4)), { nowMs: NOW_MS }).findings).toEqual(
    [],
  );
  expect(
    checkNodeTypeSuccession(before, capacityFacts(snapshot(4, 8)), { nowMs: NOW_MS }).findings.map(
      (f) => f.path,
    ),
  ).toEqual([
    'capacity_pools[0].node_types[0].accelerators_per_node',
    'capacity_pools[1].node_types[0].accelerators_per_node',
  ]);
});
