/** Stored bundles over real HTTP, on the real engine: what an owner, a deployer and an agent see of one another. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BundleService, startBundleService } from './bundle-service.ts';
import { PushedCluster } from './pushed-cluster.ts';

let service: BundleService;
let agent: PushedCluster;

beforeAll(async () => {
  service = await startBundleService();
  agent = new PushedCluster(service.client, 'c1', 2, 8);
  await agent.push();
  const pool = { tiers: [{ tierName: 'all', cluster: {} }] };
  expect((await service.call('PUT', '/v1/pools/p', pool)).status).toBe(201);
});
afterAll(() => service.close());

const GPU = 'resource-map/accelerator';

function bundle(count: number, more: object = {}) {
  return {
    pool: 'p',
    jobs: [
      {
        jobName: 'train',
        requirements: { requiredCapabilities: [{ name: GPU, count }], priorityBand: 'gold' },
      },
    ],
    ...more,
  };
}

async function removed(id: string): Promise<void> {
  await service.call('DELETE', `/v1/bundles/${id}?force=true`);
  for (const claim of (await service.call('GET', '/v1/claims')).body.claims ?? []) {
    await service.call('DELETE', `/v1/claims/${claim.id}?cluster=c1`);
  }
}

describe('a bundle', () => {
  test('is placed when it is put, runs once the snapshot shows it, and is gone once nothing of it is left', async () => {
    const put = await service.call('PUT', '/v1/bundles/live-1', bundle(8));
    expect([put.status, put.body.state]).toEqual([201, 'live']);
    const [copy] = put.body.copies;
    expect(copy).toMatchObject({
      copy: 'primary',
      phase: 'placed',
      jobId: `live-1.primary.${copy.generation}`,
    });
    expect(copy.ranks).toEqual([
      {
        rankId: 'train',
        jobNames: ['train'],
        clusterId: 'c1',
        poolId: 'gpu',
        nodeTypeId: 'h100',
        accelerators: 8,
        apartFrom: [],
      },
    ]);
    const claims = (await service.call('GET', `/v1/claims?job=${copy.jobId}`)).body.claims;
    expect(claims).toMatchObject([
      { id: copy.claims[0].id, state: 'CLAIM_STATE_CONFIRMED', owner: 'bundle:live-1' },
    ]);

    agent.start(copy.jobId, 'train', 8);
    await agent.push();
    const again = await service.call('PUT', '/v1/bundles/live-1', bundle(8));
    expect([again.status, again.body.copies[0].phase]).toEqual([200, 'running']);

    const deleted = await service.call('DELETE', '/v1/bundles/live-1?reason=over');
    expect([deleted.status, deleted.body.state, deleted.body.reason]).toEqual([200, 'deleting', 'over']);
    expect(deleted.body.copies[0].ending).toMatchObject([{ jobId: copy.jobId, clusterIds: ['c1'] }]);
    agent.stop(copy.jobId);
    await agent.push();
    expect((await service.call('DELETE', '/v1/bundles/live-1')).status).toBe(204);
    expect((await service.call('GET', '/v1/bundles/live-1')).body.code).toBe('bundle_not_found');
  });

  test('that has no place says why in numbers, and is placed when there is room', async () => {
    const put = await service.call('PUT', '/v1/bundles/big', {
      ...bundle(8),
      jobs: ['a', 'b', 'c'].map((jobName) => ({
        jobName,
        requirements: { requiredCapabilities: [{ name: GPU, count: 8 }] },
      })),
    });
    expect([put.status, put.body.copies[0].phase]).toEqual([201, 'pending']);
    expect(put.body.copies[0].unplaced).toHaveLength(3);
    expect(put.body.copies[0].reason).not.toBe('');
    agent.nodes = 3;
    await agent.push();
    const moved = await service.call('POST', '/v1/bundles/big/copies/primary/move');
    expect(moved.body.copies[0].failures).toBe(1);
    agent.nodes = 2;
    await removed('big');
  });

  test('is not replaced unseen, nor while it runs', async () => {
    const first = await service.call('PUT', '/v1/bundles/w', bundle(1));
    expect((await service.call('PUT', '/v1/bundles/w', bundle(2))).body.code).toBe('precondition_required');
    const stale = { 'if-match': '"00000000000000000000000000000000.json"' };
    expect((await service.call('PUT', '/v1/bundles/w', bundle(2), stale)).body.code).toBe('bundle_changed');
    const etag = { 'if-match': first.headers.get('etag') ?? '' };
    expect((await service.call('PUT', '/v1/bundles/w', bundle(2), etag)).body.code).toBe('bundle_running');
    const replaced = await service.call('PUT', '/v1/bundles/w?replace=true', bundle(2), etag);
    expect(replaced.status).toBe(200);
    expect(Number(replaced.body.copies[0].generation)).toBe(Number(first.body.copies[0].generation) + 1);
    expect(replaced.body.copies[0].ending[0].generation).toBe(first.body.copies[0].generation);
    await removed('w');
  });

  test('previews without writing, waits while paused, and takes a stop time', async () => {
    const dry = await service.call('PUT', '/v1/bundles/d?dry_run=true', bundle(1));
    expect([dry.status, dry.body.copies[0].phase, dry.body.copies[0].ranks.length]).toEqual([
      200,
      'acquiring',
      1,
    ]);
    expect((await service.call('GET', '/v1/bundles/d')).status).toBe(404);
    const paused = await service.call('PUT', '/v1/bundles/d?paused=true', bundle(1));
    expect([paused.body.paused, paused.body.copies[0].phase]).toEqual([true, 'pending']);
    const stop = await service.call('POST', '/v1/bundles/d/stop-time', { stopAt: '2100-01-01T00:00:00Z' });
    expect(stop.body.stopAt).toBe('2100-01-01T00:00:00Z');
    const past = await service.call('POST', '/v1/bundles/d/stop-time', { stopAt: '2020-01-01T00:00:00Z' });
    expect([past.status, past.body.state]).toEqual([200, 'deleting']);
    expect((await service.call('GET', '/v1/bundles/d')).status).toBe(404);
  });

  test('with a bad id or option is refused with the value and the remedy', async () => {
    expect((await service.call('PUT', '/v1/bundles/Live', bundle(1))).body.detail).toBe(
      'bundle_id: "Live" can have only a to z, 0 to 9, "." and "-".',
    );
    expect((await service.call('PUT', '/v1/bundles/x?replace_unknown_after=1h', bundle(1))).body.detail).toBe(
      'The query parameter replace_unknown_after is "1h"; it must be 0s or from 60s to 604800s, such as 1800s.',
    );
    expect((await service.call('PUT', '/v1/bundles/x', { pool: 'p' })).body.detail).toBe(
      'bundle.jobs: There are none; a stored bundle has at least one.',
    );
    for (const method of ['PUT', 'GET', 'DELETE']) {
      const { status, body } = await service.call(
        method,
        '/v1/bundles/plan',
        method === 'PUT' ? bundle(1) : undefined,
      );
      expect([status, body.detail]).toEqual([
        405,
        `${method} is not allowed for /v1/bundles/plan; allowed: POST.`,
      ]);
    }
    expect((await service.call('GET', '/v1/bundles?phase=lost')).body.code).toBe('invalid_query');
  });
});
