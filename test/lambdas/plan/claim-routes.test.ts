/** Claims over HTTP, on the local service with its embedded engine. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newClaimId } from '../../../functions/client/claim-id.ts';
import { type BundleService, startBundleService } from './bundle-service.ts';

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService(['aicr-eks-h100-t3']);
});
afterAll(() => service.close());

const CLUSTER = 'aicr-eks-h100';
const path = (id: string, more = '', query = ''): string =>
  `/v1/claims/${id}${more}?cluster=${CLUSTER}${query}`;
const onePod = (jobId: string, more = {}): object => ({
  jobId,
  ranks: [{ podRequirements: [{ acceleratorCount: 1 }] }],
  ...more,
});

async function freeAfterClaims(): Promise<number> {
  const { body } = await service.call('GET', '/v1/capacity');
  return body.targets.reduce(
    (sum: number, { freeHistogramAfterClaims }: { freeHistogramAfterClaims: Record<string, number> }) =>
      sum +
      Object.entries(freeHistogramAfterClaims).reduce((all, [size, nodes]) => all + Number(size) * nodes, 0),
    0,
  );
}

async function maxChains(query = '', more = {}): Promise<number> {
  const { body } = await service.call('POST', `/v1/capacity/fit${query}`, {
    shapes: [{ podRequirements: [{ acceleratorCount: 1 }] }],
    ...more,
  });
  return Number(body.shapes[0].maxChains);
}

test('a claim is accepted, is shown, keeps others out, and is released', async () => {
  const [free, chains] = [await freeAfterClaims(), await maxChains()];
  expect(chains).toBeGreaterThan(0);
  const id = newClaimId();
  const accepted = await service.call('PUT', path(id), onePod('a', { note: 'first' }));
  expect([accepted.status, accepted.body]).toEqual([
    201,
    expect.objectContaining({
      id,
      clusterId: CLUSTER,
      state: 'CLAIM_STATE_HELD',
      owner: 'anyone',
      jobId: 'a',
      note: 'first',
      backed: true,
      remainingChains: 1,
    }),
  ]);
  expect(accepted.body.placements).toEqual([
    expect.objectContaining({
      chains: 1,
      targets: [expect.objectContaining({ poolId: expect.any(String) })],
      acceleratorCounts: [1],
    }),
  ]);
  expect([await freeAfterClaims(), await maxChains()]).toEqual([free - 1, chains - 1]);
  expect(await maxChains('?claims=ignore')).toBe(chains);
  expect(await maxChains('', { withoutClaims: [id] })).toBe(chains);

  expect((await service.call('PUT', path(id), onePod('a', { ttl: '90s' }))).status).toBe(200);
  const other = await service.call('PUT', path(id), onePod('b'));
  expect([other.status, other.body.code]).toEqual([409, 'claim_exists']);

  const confirmed = await service.call('POST', path(id, '/confirm'), { ttl: '120s' });
  expect([confirmed.status, confirmed.body.state]).toEqual([200, 'CLAIM_STATE_CONFIRMED']);
  const releasing = await service.call('DELETE', path(id));
  expect([releasing.body.state, releasing.body.releasing]).toEqual(['CLAIM_STATE_CONFIRMED', true]);
  expect(await maxChains()).toBe(chains - 1);
  const renewed = await service.call('POST', path(id, '/renew'), {});
  expect([renewed.status, renewed.body.code]).toEqual([410, 'claim_ended']);

  const released = await service.call('DELETE', path(id, '', '&never_started=true'));
  expect([released.status, released.body.state]).toEqual([200, 'CLAIM_STATE_RELEASED']);
  expect([await freeAfterClaims(), await maxChains()]).toEqual([free, chains]);
  const again = await service.call('PUT', path(id), onePod('a'));
  expect([again.status, again.body.code, again.body.state]).toEqual([
    410,
    'claim_ended',
    'CLAIM_STATE_RELEASED',
  ]);
});

test('what does not fit is refused with numbers, and a dry run writes nothing', async () => {
  const chains = await maxChains();
  const whole = newClaimId();
  const all = { jobId: 'all', ranks: [{ chains, podRequirements: [{ acceleratorCount: 1 }] }] };
  expect((await service.call('PUT', path(whole, '', '&dry_run=true'), all)).status).toBe(200);
  expect(await maxChains()).toBe(chains);
  expect((await service.call('PUT', path(whole), all)).status).toBe(201);
  const refused = await service.call('PUT', path(newClaimId()), onePod('late'));
  expect([refused.status, refused.body.code, refused.body.maxChains, refused.body.blockingClaims]).toEqual([
    409,
    'claim_does_not_fit',
    0,
    [whole],
  ]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);

  const replacing = newClaimId();
  const replaced = await service.call('PUT', path(replacing), onePod('all', { replaces: whole }));
  expect([replaced.status, replaced.body.state]).toEqual([201, 'CLAIM_STATE_HELD']);
  expect((await service.call('GET', path(whole))).body).toMatchObject({
    state: 'CLAIM_STATE_RELEASED',
    replacedBy: replacing,
  });
  await service.call('DELETE', path(replacing));
  expect(await maxChains()).toBe(chains);
});

test('a release that overtakes its acceptance wins, and a stale id is not accepted', async () => {
  const id = newClaimId();
  expect((await service.call('DELETE', path(id))).status).toBe(200);
  expect((await service.call('PUT', path(id), onePod('x'))).body.code).toBe('claim_ended');
  expect((await service.call('PUT', path(newClaimId(Date.now() - 180_000)), onePod('x'))).body.code).toBe(
    'claim_ended',
  );
  expect((await service.call('PUT', path(newClaimId(Date.now() + 180_000)), onePod('x'))).body.code).toBe(
    'invalid_claim',
  );
});

test('many at once hold no more than there is', async () => {
  const chains = await maxChains();
  const ids = Array.from({ length: chains + 8 }, () => newClaimId());
  const responses = await Promise.all(
    ids.map((id, index) => service.call('PUT', path(id), onePod(`j${index}`))),
  );
  const statuses = responses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(Math.min(chains, 32));
  const { body } = await service.call('GET', '/v1/claims?owner=self&state=held');
  expect(body.claims).toHaveLength(Math.min(chains, 32));
  await Promise.all(ids.map((id) => service.call('DELETE', path(id))));
  expect(await maxChains()).toBe(chains);
});

test('the list refuses what is no id of a cluster', async () => {
  const { status, body } = await service.call('GET', '/v1/claims?cluster=');
  expect([status, body.code, body.detail]).toEqual([
    400,
    'invalid_cluster_id',
    expect.stringMatching(/^The cluster id .*\.$/),
  ]);
});

test('the list has an ETag that time alone does not change', async () => {
  const id = newClaimId();
  await service.call('PUT', path(id), onePod('tagged'));
  const first = await service.call('GET', '/v1/claims');
  const etag = first.headers.get('etag') ?? '';
  expect((await service.call('GET', '/v1/claims', undefined, { 'if-none-match': etag })).status).toBe(304);
  await service.call('POST', path(id, '/confirm'), {});
  expect((await service.call('GET', '/v1/claims', undefined, { 'if-none-match': etag })).status).toBe(200);
  await service.call('DELETE', path(id, '', '&never_started=true'));
});

test.each([
  [
    'PUT',
    `/v1/claims/nonsense?cluster=${CLUSTER}`,
    'invalid_claim',
    'The claim id in the URL is "nonsense", which is not a UUID of version 7',
  ],
  ['PUT', `/v1/claims/${newClaimId()}`, 'invalid_query', 'The URL has no query parameter cluster'],
  ['PUT', `/v1/claims/${newClaimId()}?cluster=nowhere`, 'cluster_not_found', 'No cluster "nowhere" is known'],
])('%s %s is refused with %s', async (method, url, code, detail) => {
  const { body } = await service.call(method, url, onePod('x'));
  expect([body.code, body.detail]).toEqual([code, expect.stringContaining(detail)]);
});

test.each([
  [{ jobId: '' }, 'job_id is empty; name the job whose chains are claimed.'],
  [{ jobId: 'x' }, 'ranks is empty; claim chains of at least one rank.'],
  [onePod('x', { ttl: '1s' }), 'ttl is "1s"; a held claim takes from "5s" to "600s".'],
])('%j is refused: %s', async (request, detail) => {
  const { body } = await service.call('PUT', path(newClaimId()), request);
  expect([body.code, body.detail]).toEqual(['invalid_claim', detail]);
});
