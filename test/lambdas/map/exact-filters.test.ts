/** Filters look at the whole content where the head had to leave something out. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BundleService, startBundleService } from '../plan/bundle-service.ts';

let service: BundleService;

const MODELS = Array.from({ length: 30 }, (_, index) => `NVIDIA-H100-80GB-HBM3-MIG-${index}g.10gb`);
const REGION = 'x'.repeat(256);

beforeAll(async () => {
  service = await startBundleService();
  const snapshot = {
    cluster: { clusterId: 'mig', region: REGION },
    collectedAt: new Date().toISOString(),
    logicalCounter: '1',
    capacityPools: [
      {
        id: 'p',
        nodeTypes: MODELS.map((acceleratorModel, index) => ({
          id: `n${index}`,
          acceleratorModel,
          acceleratorsPerNode: 2,
          totalCount: 1,
          purchaseModel: 'PURCHASE_MODEL_ON_DEMAND',
        })),
      },
    ],
  };
  expect((await service.call('PUT', '/v1/clusters/mig/snapshot', snapshot)).status).toBe(200);
});
afterAll(() => service.close());

const found = async (query: string): Promise<readonly boolean[]> => {
  const parameters = new URLSearchParams(query);
  const filter = Object.fromEntries(
    [...parameters].map(([name, value]) => [
      name === 'accelerator_model' ? 'acceleratorModel' : name,
      [value],
    ]),
  );
  const responses = [
    await service.call('GET', `/v1/map?${query}`),
    await service.call('GET', `/v1/map/clock?${query}`),
    await service.call('POST', '/v1/map/sync', { filter }),
    await service.call('GET', `/v1/capacity?${query}`),
  ];
  return responses.map(({ body }) => JSON.stringify(body).includes('"mig"'));
};

test('a model that the cluster does not have does not match it', async () => {
  expect(await found('accelerator_model=AMD-MI300X')).toEqual([false, false, false, false]);
});

test('every model that it has matches it, also one that its head left out', async () => {
  for (const model of [MODELS[0], MODELS.at(-1)]) {
    expect(await found(`accelerator_model=${model}`)).toEqual([true, true, true, true]);
  }
});

test('a region that is too long for the head matches whole, and not as it was cut', async () => {
  expect(await found(`region=${REGION}`)).toEqual([true, true, true, true]);
  expect(await found(`region=${REGION.slice(0, 253)}`)).toEqual([false, false, false, false]);
});
