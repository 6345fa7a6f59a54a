/** Bundles over HTTP, on a real store behind a real server. What readers refuse is tested in test/core/bundle/wire. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILT_IN_CATALOGUE } from '../../../functions/core/bundle/model/catalogue.ts';
import {
  ValidateBundleRequestSchema,
  ValidationResultSchema,
} from '../../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import {
  PlanRequestSchema,
  PlanResponseSchema,
} from '../../../functions/gen/resourcemap/bundle/v1/plan_pb.ts';
import { createApp } from '../../../functions/http/app.ts';
import { type BundleDeps, bundleRoutes } from '../../../functions/lambdas/plan/routes-bundle.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';
import { type BundleService, startBundleService } from './bundle-service.ts';

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService(['aicr-eks-h100-t3', 'kops-l4-t3', 'openb-instant-t2']);
});
afterAll(() => service.close());

const call: BundleService['call'] = (...request) => service.call(...request);
const validate = (question: unknown) => call('POST', '/v1/bundles/validate', question);
const plan = (question: unknown) => call('POST', '/v1/bundles/plan', question);
const mapEtag = async () => (await call('GET', '/v1/map')).headers.get('etag');

const H100 = { tiers: [{ tierName: 'reserved', cluster: { acceleratorModel: ['NVIDIA-H100-80GB-HBM3'] } }] };
const needsH100 = (count: number) => ({
  requiredCapabilities: [{ name: 'resource-map/accelerator', count }],
  priorityBand: 'gold',
});
const bundle = (jobs: readonly unknown[], more: object = {}) => ({
  bundleId: 'b1',
  pool: 'h100',
  jobs,
  ...more,
});

const ELASTIC = {
  poolName: 'p',
  kind: 'elastic',
  nodeProfiles: [
    { totalCapacity: 16, totalCores: 8, capabilities: [{ name: 'norsk.io/st2110-nic', count: 2 }] },
  ],
  clouds: ['aws'],
};

describe('POST /v1/bundles/validate, with pools of the request', () => {
  it('answers with errors, warnings and advice, empty ones too, in the values of the contract', async () => {
    const jobs = [{ jobName: 'a', requirements: { requiredCapacity: 16, priorityBand: 'gold' } }];
    const { status, body } = await validate({
      bundle: bundle(jobs, { pool: 'p', state: 'live' }),
      pools: [ELASTIC],
    });
    expect([status, body]).toEqual([200, { errors: [], warnings: [], advice: [], etag: '' }]);
  });

  it('plans on no cluster that is older than maxAge, and lists them', async () => {
    const request = {
      bundles: [{ bundleId: 'b', pool: 'p', jobs: [{ jobName: 'a', requirements: {} }] }],
      pools: [],
    };
    await call('PUT', '/v1/pools/p', { tiers: [{ cluster: {} }] });
    const { body: any } = await plan({ ...request, maxAge: '1000000000s' });
    expect([any.bundles[0].outcome, any.staleClusters]).toEqual(['placed', []]);
    // The samples were collected in the past.
    const { body: fresh } = await plan({ ...request, maxAge: '1s' });
    expect([fresh.bundles[0].outcome, fresh.staleClusters]).toEqual([
      'unplaced',
      ['aicr-eks-h100', 'kops-l4', 'openb-instant'],
    ]);
    expect((await plan({ ...request, maxAge: '0s' })).body.detail).toBe(
      'max_age must be above 0, such as 90s.',
    );
    await call('DELETE', '/v1/pools/p');
  });

  it('finds what cannot be', async () => {
    const jobs = [
      { jobName: 'a', requirements: { requiredCapacity: 17 }, coLocateWith: ['a'] },
      { jobName: 'a', requirements: { requiredCapabilities: [{ name: 'n/x', count: 1 }] } },
    ];
    const policy = { sameNode: 'allow', sameAz: 'allow', sameCloud: 'forbid' };
    const { body } = await validate({
      bundle: bundle(jobs, { pool: 'p', resiliencePolicy: policy }),
      pools: [ELASTIC],
    });
    expect(body.errors.map((e: { code: string }) => e.code)).toEqual([
      'resilienceUnsatisfiable',
      'duplicateJobName',
      'selfReferenceInPlacement',
      'unsatisfiableCapacity',
      'unsatisfiableCapability',
    ]);
    expect(body.errors[3]).toEqual({
      code: 'unsatisfiableCapacity',
      message: 'Job "a" needs capacity 17, and the best profile of pool "p" offers 16.',
    });
  });

  it('takes NaN and infinite needs as ProtoJSON writes them, and advises', async () => {
    const jobs = [{ jobName: 'a', requirements: { requiredCapacity: 'NaN', requiredCores: '-Infinity' } }];
    const { status, body } = await validate({ bundle: bundle(jobs, { pool: 'p' }), pools: [ELASTIC] });
    expect(status).toBe(200);
    expect(body.errors).toEqual([]);
    expect(body.advice.map((a: { code: string }) => a.code)).toEqual(['invalidNumber', 'invalidNumber']);
  });

  it('tells an absent resilience pool from an empty one', async () => {
    const codes = async (policy: object) =>
      (
        await validate({ bundle: bundle([], { pool: 'p', resiliencePolicy: policy }), pools: [ELASTIC] })
      ).body.errors.map((e: { code: string }) => e.code);
    expect(await codes({})).toEqual([]);
    expect(await codes({ pool: '' })).toEqual(['unknownResiliencePool']);
  });

  it('tells an unknown amount of a profile from 0', async () => {
    const jobs = [{ jobName: 'a', requirements: { requiredCapacity: 1e6 } }];
    const errors = async (profile: object) =>
      (
        await validate({
          bundle: bundle(jobs, { pool: 'p' }),
          pools: [{ ...ELASTIC, nodeProfiles: [profile] }],
        })
      ).body.errors.length;
    expect([await errors({}), await errors({ totalCapacity: 0 })]).toEqual([0, 1]);
  });

  it('passes opaque parts on unread, and takes launch times and tags', async () => {
    const launch = {
      productTemplate: {
        ref: 'r',
        parameters: { deep: { list: [1, null, 'x'] } },
        startDateTime: '2026-01-31T12:00:00Z',
        tags: { team: 'x', __stopDateTime: 'y' },
      },
    };
    const jobs = [
      { jobName: 'a', launch },
      { jobName: 'b', launch: { legacy: { job: { anything: [{}] } } } },
    ];
    expect((await validate({ bundle: bundle(jobs, { pool: 'p' }), pools: [ELASTIC] })).status).toBe(200);
  });

  it('answers in Protobuf as in JSON', async () => {
    const question = create(ValidateBundleRequestSchema, {
      bundle: { pool: 'p', jobs: [{ jobName: 'a', requirements: { requiredCapacity: 99 } }] },
      pools: [{ poolName: 'p', kind: 'cluster', nodeProfiles: [{ totalCapacity: 1 }] }],
    });
    const response = await fetch(`${service.url}/v1/bundles/validate`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', accept: 'application/x-protobuf' },
      body: toBinary(ValidateBundleRequestSchema, question) as Uint8Array<ArrayBuffer>,
    });
    const result = fromBinary(ValidationResultSchema, new Uint8Array(await response.arrayBuffer()));
    expect(result.warnings.map((w) => w.code)).toEqual(['unsatisfiableCapacity']);
  });

  it('names every fault, not just the first', async () => {
    const jobs = [
      { jobName: 'a', requirements: { priorityBand: 'x' } },
      { jobName: 'b', requirements: { priorityBand: 'y' } },
    ];
    const { body } = await validate({ bundle: bundle(jobs) });
    expect(body.detail).toMatch(/ And 1 more, see findings\.$/);
    expect(body.findings.map((f: { path: string }) => f.path)).toEqual([
      'bundle.jobs[0].requirements.priority_band',
      'bundle.jobs[1].requirements.priority_band',
    ]);
  });
});

describe('over the live map', () => {
  beforeAll(async () => {
    await call('PUT', '/v1/pools/h100', H100);
    await call('PUT', '/v1/pools/any', { tiers: [{ cluster: {} }] });
  });

  it('validates against the configured pools, and says which map that was', async () => {
    const { body } = await validate({ bundle: bundle([{ jobName: 'a', requirements: needsH100(9) }]) });
    expect(body).toEqual({
      errors: [],
      warnings: [
        {
          code: 'unsatisfiableCapability',
          message:
            'Job "a" needs 9 × "resource-map/accelerator", and the best profile of pool "h100" offers 8.',
        },
      ],
      advice: [],
      etag: await mapEtag(),
    });
  });

  it('plans on anonymous slots, and says which map that was', async () => {
    const { status, body } = await plan({
      bundles: [bundle([{ jobName: 'a', requirements: needsH100(6) }])],
    });
    expect([status, body.etag]).toEqual([200, await mapEtag()]);
    expect(body.bundles[0]).toMatchObject({ bundleId: 'b1', outcome: 'placed' });
    expect(body.bundles[0].copies[0].placements[0]).toMatchObject({
      jobName: 'a',
      poolName: 'h100',
      tier: 0,
      tierName: 'reserved',
      node: {
        clusterId: 'aicr-eks-h100',
        poolId: 'gpu-worker',
        nodeTypeId: 'p5.48xlarge-us-east-1e',
        slot: { number: 0, freeAccelerators: 6 },
      },
      gpuIndexes: [2, 3, 4, 5, 6, 7],
    });
  });

  it('plans a hundred bundles until nothing is left, and says why not', async () => {
    const bundles = Array.from({ length: 100 }, (_, i) => ({
      ...bundle([{ jobName: 'a', requirements: needsH100(1) }]),
      bundleId: `b${i}`,
    }));
    const { body } = await plan({ bundles });
    const placed = body.bundles.filter((b: { outcome: string }) => b.outcome === 'placed');
    expect(placed.map((b: { bundleId: string }) => b.bundleId)).toEqual(
      bundles.slice(0, 14).map((b) => b.bundleId),
    );
    expect(body.bundles[14].copies[0].unplaced[0].filter).toBe('gpu');
  });

  it('takes cores of the built-in catalogue, and capacity of that which the operator gives', async () => {
    const { body } = await validate({
      bundle: bundle([{ jobName: 'a', requirements: { requiredCapacity: 500, requiredCores: 193 } }]),
    });
    expect(body.warnings.map((w: { message: string }) => w.message)).toEqual([
      'Job "a" needs capacity 500, and the best profile of pool "h100" offers 400.',
      'Job "a" needs cores 193, and the best profile of pool "h100" offers 192.',
    ]);
  });

  it('names the configured pools, and takes the first clouds of the map for a resilience policy', async () => {
    const policy = { sameCloud: 'forbid' };
    const { body } = await validate({ bundle: bundle([], { resiliencePolicy: policy }) });
    expect(body.errors.map((e: { message: string }) => e.message)).toEqual([
      'The resilience policy has sameCloud "forbid", and the backup shares the pool "h100", which spans one cloud, "aws"; it takes two. ' +
        'Allow sameCloud, or name a resilience pool in another cloud.',
    ]);
    const unknown = await validate({ bundle: bundle([], { pool: 'h1000' }) });
    expect(unknown.body.errors[0].message).toBe(
      'The bundle\'s pool "h1000" is not configured; name one that is configured: "any", "h100".',
    );
  });

  it('sees a pool and a snapshot that came just before', async () => {
    const before = await mapEtag();
    await service.client.omit('kops-l4');
    const after = (await validate({ bundle: bundle([]) })).body.etag;
    expect(after).toBe(await mapEtag());
    expect(after).not.toBe(before);
    await call(
      'PUT',
      '/v1/pools/any',
      { tiers: [{ cluster: { region: ['nowhere'] } }] },
      { 'if-match': '*' },
    );
    const { body } = await plan({ bundles: [bundle([{ jobName: 'a' }], { pool: 'any' })] });
    expect(body.bundles[0].copies[0].unplaced[0].filter).toBe('pool');
  });

  it('plans node services on the map before bundles', async () => {
    const { body } = await plan({ services: [{ serviceId: 's', pools: ['h100'], lifecycle: 'eager' }] });
    expect(body.services[0]).toMatchObject({ serviceId: 's', outcome: 'planned', unknownPools: [] });
    expect(body.services[0].placements.map((p: { nodes: number }) => p.nodes)).toEqual([1, 1]);
  });

  it('can be asked through the client', async () => {
    const result = await service.client.validateBundle({ bundle: { pool: 'nowhere' } });
    expect(result.errors.map((e) => e.code)).toEqual(['unknownPoolName']);
    const response = await service.client.planBundles({
      bundles: [{ bundleId: 'x', pool: 'h100', state: 'deleting' }],
    });
    expect(response.bundles.map((b) => b.outcome)).toEqual(['skipped']);
  });
});

describe('POST /v1/bundles/plan, with inventories of the request', () => {
  const inventory = { totalCapacity: 10, utilizationCap: 0.8, totalCores: 8, reachable: true };
  const pools = [{ poolName: 'h100', tiers: [{ tierName: 'mine', cluster: {} }] }];
  const asks = (requiredCapacity: number) => bundle([{ jobName: 'a', requirements: { requiredCapacity } }]);

  it("names the inventory's node, and no map", async () => {
    const { body } = await plan({
      bundles: [asks(8)],
      pools,
      candidates: [{ nodeId: 'n1', clusterId: 'c1', inventory }],
    });
    expect(body.etag).toBe('');
    expect(body.bundles[0].copies[0].placements[0].node).toEqual({
      clusterId: 'c1',
      poolId: '',
      nodeTypeId: '',
      nodeId: 'n1',
    });
  });

  it('has no candidates but those of the request where the pools are its own', async () => {
    const { body } = await plan({ bundles: [asks(1)], pools });
    expect(body.bundles[0].copies[0].unplaced[0].message).toBe('There are no nodes to place it on.');
  });

  it('says for each job which filter left no node, with counts', async () => {
    const { body } = await plan({
      bundles: [asks(9)],
      pools,
      candidates: [
        { nodeId: 'n1', inventory },
        { nodeId: 'n2', inventory: { ...inventory, cordoned: true } },
      ],
    });
    expect(body.bundles[0]).toMatchObject({ outcome: 'unplaced' });
    expect(body.bundles[0].copies[0].unplaced[0]).toEqual({
      jobName: 'a',
      filter: 'capacity',
      counts: [
        { filter: 'pool', left: 2 },
        { filter: 'eligible', left: 2 },
        { filter: 'reachable', left: 2 },
        { filter: 'cordoned', left: 1 },
        { filter: 'capacity', left: 0 },
      ],
      message: 'None of the 1 node that is left of pool "h100" has capacity 9 left; the most is 8.',
      wouldFit: [],
    });
  });

  it('plans services before bundles', async () => {
    const { body } = await plan({
      services: [
        { serviceId: 's', pools: ['h100'], lifecycle: 'eager' },
        { serviceId: 'l', pools: [], lifecycle: 'lazy' },
      ],
      pools,
      candidates: [{ nodeId: 'n1', inventory }],
    });
    expect(body.services.map((s: { outcome: string }) => s.outcome)).toEqual(['planned', 'deferred']);
    expect(body.services[0].placements[0].node.nodeId).toBe('n1');
  });

  it('answers in Protobuf as in JSON', async () => {
    const question = create(PlanRequestSchema, {
      bundles: [{ bundleId: 'x', pool: 'h100', jobs: [{ jobName: 'a' }] }],
    });
    const response = await fetch(`${service.url}/v1/bundles/plan`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', accept: 'application/x-protobuf' },
      body: toBinary(PlanRequestSchema, question) as Uint8Array<ArrayBuffer>,
    });
    const { bundles, etag } = fromBinary(PlanResponseSchema, new Uint8Array(await response.arrayBuffer()));
    expect(bundles[0]?.outcome).toBe('placed');
    expect(etag).toMatch(/\.pb"$/);
  });
});

describe('with pools of the request', () => {
  const never = <T extends object>(what: string): T =>
    new Proxy({} as T, {
      get: () => {
        throw new Error(`The ${what} was looked at.`);
      },
    });
  /** An app that fails as soon as it looks at what is kept. */
  function pure(more: Partial<BundleDeps> = {}) {
    const app = createApp(
      jsonLinesTelemetry(() => undefined),
      { kind: 'open' },
    );
    bundleRoutes(app, {
      store: { heads: never('heads'), contents: never('bodies') },
      pools: never('pools'),
      catalogue: BUILT_IN_CATALOGUE,
      telemetry: jsonLinesTelemetry(() => undefined),
      now: Date.now,
      ...more,
    });
    return async (path: string, question: object, headers: Record<string, string> = {}) => {
      const response = await app.request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(question),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
  }
  const pools = [{ poolName: 'p', tiers: [{ cluster: {} }] }];
  const asked = bundle([{ jobName: 'a' }], { pool: 'p' });

  it('nothing that is kept is read', async () => {
    const ask = pure();
    expect(await ask('/v1/bundles/validate', { bundle: asked, pools: [ELASTIC] })).toMatchObject({
      status: 200,
    });
    expect(await ask('/v1/bundles/plan', { bundles: [asked], pools })).toMatchObject({ status: 200 });
    // And the app would have failed, had it looked.
    expect(await ask('/v1/bundles/validate', { bundle: asked })).toMatchObject({ status: 500 });
    expect(await ask('/v1/bundles/plan', { bundles: [asked] })).toMatchObject({ status: 500 });
  });

  it('with nodes of the request and configured pools the pools are read, and not the map', async () => {
    const kept = { list: async () => [] };
    const ask = pure({ pools: kept as unknown as BundleDeps['pools'] });
    const { status, body } = await ask('/v1/bundles/plan', {
      bundles: [asked],
      candidates: [{ nodeId: 'n', inventory: { utilizationCap: 1 } }],
    });
    expect([status, body.etag]).toEqual([200, '']);
  });

  it('what does not fit in a response is refused, and says what to do', async () => {
    const ask = pure({ maxResponseBytes: 100 });
    expect(await ask('/v1/bundles/plan', { bundles: [asked], pools })).toMatchObject({
      status: 413,
      body: {
        code: 'map_too_large',
        detail: expect.stringMatching(
          /^The response has \d+ bytes, and this deployment can carry 100; send Accept-Encoding: gzip, or plan fewer bundles at a time\.$/,
        ),
      },
    });
  });

  it('a body beyond the limit is refused before it is read', async () => {
    const ask = pure();
    const { status, body } = await ask(
      '/v1/bundles/plan',
      {},
      { 'content-length': String(17 * 1024 * 1024) },
    );
    expect([status, body.code]).toEqual([413, 'body_too_large']);
  });

  it('a query parameter is refused, since there is none', async () => {
    expect(await pure()('/v1/bundles/plan?pool=x', {})).toMatchObject({
      status: 400,
      body: { code: 'invalid_query' },
    });
  });
});

describe('A question about bundles without fields', () => {
  it.each(['validate', 'plan'])(
    'is answered alike in JSON and in Protobuf, where it has no bytes: %s',
    async (what) => {
      const path = `/v1/bundles/${what}`;
      const json = await call('POST', path, {});
      const protobuf = await fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', accept: 'application/json' },
        body: '',
      });
      const { requestId: _one, ...said } = json.body as Record<string, unknown>;
      const { requestId: _other, ...saidToo } = (await protobuf.json()) as Record<string, unknown>;
      expect([protobuf.status, saidToo]).toEqual([json.status, said]);
      expect(said.code).toBe('invalid_bundle_request');
    },
  );
});
