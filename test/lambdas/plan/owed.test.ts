/** One node of 8 that is owed to a pending or reserved chain: fit and plan over HTTP say the same. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BundleService, startBundleService } from './bundle-service.ts';

let service: BundleService;

beforeAll(async () => {
  service = await startBundleService();
});
afterAll(() => service.close());

const NODE_TYPE = {
  id: 'nt',
  acceleratorModel: 'H100',
  acceleratorsPerNode: 8,
  totalCount: 1,
  eligibleForTandemn: true,
  purchaseModel: 'PURCHASE_MODEL_ON_DEMAND',
};
const RANK = { rankId: 'r', podRequirements: [{ poolId: 'p', nodeTypeId: 'nt', acceleratorCount: 8 }] };

const PENDING = {
  capacityPools: [{ id: 'p', nodeTypes: [NODE_TYPE] }],
  jobs: [
    {
      jobId: 'a',
      workloadKind: 'WORKLOAD_KIND_BATCH',
      ranks: [
        {
          ...RANK,
          chains: [
            {
              chainId: 'c1',
              pods: [{ podIndex: 0, status: { phase: 'WORKLOAD_PHASE_PENDING' } }],
              status: { phase: 'WORKLOAD_PHASE_PENDING' },
            },
          ],
        },
      ],
    },
  ],
};

const RESERVED = {
  capacityPools: [
    {
      id: 'p',
      nodeTypes: [
        { ...NODE_TYPE, reservedForAutoscaling: [{ jobId: 'a', rankId: 'r', additionalChains: 1 }] },
      ],
    },
  ],
  jobs: [{ jobId: 'a', workloadKind: 'WORKLOAD_KIND_ONLINE', ranks: [{ ...RANK, maxChains: 1 }] }],
};

test.each([
  ['pending', PENDING],
  ['reserved', RESERVED],
])('fit and plan refuse a node that is owed to a %s chain', async (id, content) => {
  const collectedAt = new Date().toISOString();
  const snapshot = { cluster: { clusterId: id }, collectedAt, logicalCounter: '1', ...content };
  expect((await service.call('PUT', `/v1/clusters/${id}/snapshot`, snapshot)).status).toBe(200);
  await service.call('PUT', `/v1/pools/${id}`, { tiers: [{ cluster: { clusterId: [id] } }] });

  const fit = await service.call('POST', '/v1/capacity/fit', {
    filter: { cluster: [id] },
    shapes: [{ podRequirements: [{ acceleratorCount: 8 }] }],
  });
  expect(fit.body.shapes[0]).toMatchObject({
    fits: false,
    reason: 'needs 1 node with 8 free; 1 has 8, before demand that comes first: 1 pod of 8',
  });
  const plan = await service.call('POST', '/v1/bundles/plan', {
    bundles: [
      {
        bundleId: 'b',
        pool: id,
        jobs: [
          {
            jobName: 'x',
            requirements: { requiredCapabilities: [{ name: 'resource-map/accelerator', count: 8 }] },
          },
        ],
      },
    ],
  });
  expect(plan.body.bundles[0]).toMatchObject({
    outcome: 'unplaced',
    message: `There is no plan for the bundle. Job "x": None of the 1 node that is left of pool "${id}" can be had: demand comes first on node type "nt" of capacity pool "p" of cluster "${id}": 1 pod of 8.`,
    copies: [{ unplaced: [{ filter: 'demand' }] }],
  });
});
