/** Plans over HTTP leave alone what live claims hold. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newClaimId } from '../../../functions/client/claim-id.ts';
import { type BundleService, startBundleService } from './bundle-service.ts';

const CLUSTER = 'aicr-eks-h100';

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService(['aicr-eks-h100-t3']);
});
afterAll(() => service.close());

test('a plan leaves alone what is claimed, says so, and can be asked without claims', async () => {
  await service.call('PUT', '/v1/pools/p', { tiers: [{ cluster: { clusterId: [CLUSTER] } }] });
  const plan = async (count: number, query = '') => {
    const requirements = { requiredCapabilities: [{ name: 'resource-map/accelerator', count }] };
    const bundle = { bundleId: 'b', pool: 'p', jobs: [{ jobName: 'x', requirements }] };
    return (await service.call('POST', `/v1/bundles/plan${query}`, { bundles: [bundle] })).body;
  };
  const mapEtag = (await service.call('GET', '/v1/map')).headers.get('etag');
  expect(await plan(8)).toMatchObject({ etag: mapEtag, bundles: [{ outcome: 'placed' }] });

  const path = `/v1/claims/${newClaimId()}?cluster=${CLUSTER}`;
  const claim = { jobId: 'llm', ranks: [{ podRequirements: [{ acceleratorCount: 8 }] }] };
  expect((await service.call('PUT', path, claim)).status).toBe(201);
  const behind = await plan(8);
  expect(behind.bundles[0]).toMatchObject({
    outcome: 'unplaced',
    message: expect.stringContaining('demand and claims come first on node type'),
    copies: [{ unplaced: [{ filter: 'demand' }] }],
  });
  // The etag is over the claims as well, and the same for the same claims.
  expect(behind.etag).toMatch(/^W\/"[\w-]{43}\.[\w-]{16}\.json"$/);
  expect((await plan(1)).etag).toBe(behind.etag);
  expect(await plan(8, '?claims=ignore')).toMatchObject({ etag: mapEtag, bundles: [{ outcome: 'placed' }] });
  const refused = await service.call('POST', '/v1/bundles/plan?claims=maybe', {});
  expect([refused.status, refused.body.detail]).toEqual([
    400,
    'The query parameter claims is "maybe"; it can be "ignore" or "subtract".',
  ]);

  await service.call('DELETE', path);
  expect(await plan(8)).toMatchObject({ etag: mapEtag, bundles: [{ outcome: 'placed' }] });
});
