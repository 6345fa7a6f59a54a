import { expect, test } from 'vitest';
import { purchaseModelOf } from '../../../functions/agent/mapping/platform.ts';
import { PurchaseModel } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

test.each([
  ['karpenter.sh/capacity-type', 'spot', PurchaseModel.SPOT],
  ['eks.amazonaws.com/capacityType', 'SPOT', PurchaseModel.SPOT],
  ['eks.amazonaws.com/capacityType', 'ON_DEMAND', PurchaseModel.ON_DEMAND],
  ['eks.amazonaws.com/capacityType', 'CAPACITY_BLOCK', PurchaseModel.RESERVED],
  ['karpenter.sh/capacity-type', 'reserved', PurchaseModel.RESERVED],
  ['cloud.google.com/gke-flex-start', 'true', PurchaseModel.FLEX_START],
  ['cloud.google.com/gke-flex-start', 'false', PurchaseModel.UNSPECIFIED],
  ['eks.amazonaws.com/capacityType', 'SOMETHING_NEW', PurchaseModel.UNSPECIFIED],
])('%s=%s says how a node is paid for', (label, value, expected) => {
  expect(purchaseModelOf({ [label]: value })).toBe(expected);
});
