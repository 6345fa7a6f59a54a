import { fromBinary, fromJson, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  CapacityResponseSchema,
  FitRequestSchema,
  FitResponseSchema,
  GroupKey,
} from '../../../functions/gen/resourcemap/v1/capacity_pb.ts';
import type { ClusterResourceMap } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  type ClusterInit,
  COLLECTED_AT_MS,
  cluster,
  freeNodes,
  pending,
} from '../../core/capacity/builders.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';

/** A minute after the snapshots were taken. */
const NOW_MS = COLLECTED_AT_MS + 60_000;

const TRAIN: ClusterInit = {
  id: 'arn:aws:eks:us-east-1:1:cluster/train',
  provider: 'aws',
  region: 'us-east-1',
  types: [
    {
      pool: 'train',
      type: 'p5',
      instanceType: 'p5.48xlarge',
      model: 'H100',
      price: '55.040000',
      zone: 'use1-az1',
      fabric: 'efa-1',
      idle: 1,
      nodes: [...freeNodes(8, [4, 4]), { unavailable: 1, external: 2 }],
      reserved: { serve: 1 },
    },
    { pool: 'cpu', type: 'm7i', perNode: 0, idle: 3, model: '' },
  ],
  pools: { train: { autoscaling: true, maxNodes: 6 } },
  fabrics: { 'efa-1': true },
  ranks: [pending('waits', 8, 2), { name: 'serve', pods: [{ count: 2 }] }],
};

const SITE: ClusterInit = {
  id: 'site',
  provider: 'onprem',
  site: 'basement',
  types: [
    {
      type: 'l40s',
      perNode: 2,
      model: 'L40S',
      nodes: [{ pods: [{ chain: 'a', index: 0 }] }, { pods: [{ chain: 'b', index: 0 }] }],
    },
  ],
  ranks: [{ name: 'r', pods: [{ count: 1 }], chains: [{ name: 'a' }, { name: 'b' }] }],
};

async function responseOf(response: Promise<Response>) {
  const answer = await response;
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

describe.each(engines)('on $name', (engine) => {
  let store: TestStore;
  let service: TestService;

  const push = (snapshot: ClusterResourceMap) => service.client.push(snapshot);
  const get = (query: string) => responseOf(fetch(`${service.url}/v1/capacity${query}`));
  const post = (request: unknown) =>
    responseOf(
      fetch(`${service.url}/v1/capacity/fit`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      }),
    );

  beforeAll(async () => {
    store = await freshStore(engine);
    service = await serveStore(store, { now: () => NOW_MS });
    await push(cluster(TRAIN));
    await push(cluster(SITE));
  });
  afterAll(async () => {
    await service.close();
    store.client.destroy();
  });

  describe('GET /v1/capacity', () => {
    test('has a row for each node type, with every figure that is known, 0 too', async () => {
      const { status, body } = await get('?cluster=arn:aws:eks:us-east-1:1:cluster/train&pool=train');
      expect(status).toBe(200);
      expect(body).toEqual({
        groups: [],
        staleClusters: [],
        targets: [
          {
            clusterId: 'arn:aws:eks:us-east-1:1:cluster/train',
            poolId: 'train',
            nodeTypeId: 'p5',
            provider: 'aws',
            region: 'us-east-1',
            site: '',
            instanceType: 'p5.48xlarge',
            acceleratorModel: 'H100',
            acceleratorsPerNode: 8,
            purchaseModel: 'PURCHASE_MODEL_ON_DEMAND',
            zone: 'use1-az1',
            fabricId: 'efa-1',
            rdmaReady: true,
            eligible: true,
            pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '55.040000' },
            nodes: 4,
            idleNodes: 1,
            accelerators: '32',
            allocated: '0',
            external: '10',
            unavailable: '1',
            free: '21',
            freeHistogram: { 8: 1, 5: 1, 4: 2 },
            freeHistogramAfterDemand: { 5: 1, 4: 1, 2: 1 },
            pendingDemand: '16',
            reservedDemand: '2',
            deficit: '8',
            pendingPods: { 8: '2' },
            reservedPods: { 2: '1' },
            pendingDeficitPods: { 8: '1' },
            reservedDeficitPods: {},
            deficitUndecided: false,
            headroomNodes: '2',
            logicalCounter: '1',
            collectedAt: '2026-01-01T00:00:00Z',
            age: '60s',
            claimed: '0',
            claimedPods: {},
            freeHistogramAfterClaims: { 5: 1, 4: 1, 2: 1 },
            claims: 0,
            unbackedClaims: 0,
          },
        ],
      });
    });

    test('leaves what is unknown out: price, fabric, nodes on their way, headroom', async () => {
      const { body } = await get('?cluster=site');
      const [row] = body.targets as Record<string, unknown>[];
      expect(Object.keys(row ?? {})).not.toContain('pricePerNodeHour');
      expect(Object.keys(row ?? {})).not.toContain('rdmaReady');
      expect(Object.keys(row ?? {})).not.toContain('pendingNodes');
      expect(row?.headroomNodes).toBe('0');
    });

    test.each([
      ['', 3],
      ['?provider=onprem', 1],
      ['?provider=onprem&provider=aws', 3],
      ['?accelerator_model=H100', 1],
      ['?instance_type=p5.48xlarge', 1],
      ['?purchase_model=on_demand', 3],
      ['?purchase_model=spot', 0],
      ['?zone=use1-az1', 1],
      ['?fabric=efa-1', 1],
      ['?rdma_ready=true', 1],
      ['?rdma_ready=false', 0],
      ['?eligible=false', 0],
      ['?site=basement&region=us-east-1', 0],
      ['?node_type=m7i', 1],
    ])('%s leaves %i rows', async (query, rows) => {
      expect((await get(query)).body.targets).toHaveLength(rows);
    });

    test('adds up by any property, in the order asked for', async () => {
      const { body } = await get('?group_by=provider,accelerator_model&eligible=true');
      const groups = body.groups as { values: unknown; free: string; targets: number; deficit: string }[];
      expect(
        groups.map(({ values, free, targets, deficit }) => ({ values, free, targets, deficit })),
      ).toEqual([
        {
          values: [
            { key: 'GROUP_KEY_PROVIDER', value: 'aws' },
            { key: 'GROUP_KEY_ACCELERATOR_MODEL', value: '' },
          ],
          free: '0',
          targets: 1,
          deficit: '0',
        },
        {
          values: [
            { key: 'GROUP_KEY_PROVIDER', value: 'aws' },
            { key: 'GROUP_KEY_ACCELERATOR_MODEL', value: 'H100' },
          ],
          free: '21',
          targets: 1,
          deficit: '8',
        },
        {
          values: [
            { key: 'GROUP_KEY_PROVIDER', value: 'onprem' },
            { key: 'GROUP_KEY_ACCELERATOR_MODEL', value: 'L40S' },
          ],
          free: '2',
          targets: 1,
          deficit: '0',
        },
      ]);
      expect(body.targets).toEqual([]);
    });

    test('is the same in Protobuf and in JSON, gzip or not', async () => {
      const url = `${service.url}/v1/capacity?group_by=cluster`;
      const json = fromJson(CapacityResponseSchema, (await responseOf(fetch(url))).body as never);
      const protobuf = await fetch(url, {
        headers: { accept: 'application/x-protobuf', 'accept-encoding': 'identity' },
      });
      expect(protobuf.headers.get('content-type')).toBe('application/x-protobuf');
      expect(fromBinary(CapacityResponseSchema, new Uint8Array(await protobuf.arrayBuffer()))).toEqual(json);
      expect(await service.client.capacity({ groupBy: [GroupKey.CLUSTER] })).toEqual(json);
    });

    test.each([
      [
        '?acelerator_model=x',
        'There is no query parameter "acelerator_model"; did you mean "accelerator_model"?',
      ],
      ['?group_by=zoen', 'The query parameter group_by is "zoen"; did you mean "zone"?'],
      ['?eligible=yes', 'The query parameter eligible is "yes"; it can be true, false.'],
      ['?purchase_model=Spott', 'The query parameter purchase_model is "Spott"; did you mean "spot"?'],
      [
        '?max_age=1m',
        'The query parameter max_age is "1m"; it must be a duration in whole seconds, such as 90s.',
      ],
      ['?max_age=0s', 'The query parameter max_age is "0s"; it must be above 0, such as 90s.'],
    ])('%s is refused with the value and the remedy', async (query, detail) => {
      expect(await get(query)).toMatchObject({ status: 400, body: { code: 'invalid_query', detail } });
    });

    describe('has an ETag', () => {
      const head = (query = '', more: Record<string, string> = {}) =>
        fetch(`${service.url}/v1/capacity${query}`, { headers: more });
      /** The tests that follow are about the other clusters. */
      afterAll(() => Promise.all(['tagged', 'waited'].map((id) => service.client.omit(id))));
      const tagOf = async (query = ''): Promise<string> => (await head(query)).headers.get('etag') ?? '';

      test('that a refresh leaves as it is, and with which nothing is sent again', async () => {
        await push(cluster({ ...SITE, id: 'tagged', provider: 'p1' }));
        const etag = await tagOf('?cluster=tagged');
        expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
        const refreshed = cluster({ ...SITE, id: 'tagged', provider: 'p1' });
        refreshed.logicalCounter += 1n;
        await push(refreshed);
        const same = await head('?cluster=tagged', { 'if-none-match': etag });
        expect([same.status, same.headers.get('etag'), await same.text()]).toEqual([304, etag, '']);
        const changed = cluster({ ...SITE, id: 'tagged', provider: 'p1', ranks: [] });
        changed.logicalCounter += 2n;
        for (const pool of changed.capacityPools) for (const type of pool.nodeTypes) type.inUse = [];
        await push(changed);
        const other = await head('?cluster=tagged', { 'if-none-match': etag });
        expect(other.status).toBe(200);
        expect(other.headers.get('etag')).not.toBe(etag);
      });

      test('of its own for each filter and grouping', async () => {
        const tags = await Promise.all(
          ['', '?provider=aws', '?group_by=cluster', '?group_by=region', '?claims=ignore'].map(tagOf),
        );
        expect(new Set(tags).size).toBe(5);
      });

      test('and can be waited for', async () => {
        const waiter = await serveStore(store, { changes: service.changes });
        const url = `${waiter.url}/v1/capacity?cluster=waited`;
        const etag = (await fetch(url)).headers.get('etag') ?? '';
        const waiting = fetch(url, { headers: { 'if-none-match': etag, prefer: 'wait=20' } });
        await vi.waitFor(() => expect(service.changes.waiting).toBe(1), { timeout: 10_000, interval: 5 });
        await push(cluster({ ...SITE, id: 'waited' }));
        service.changes.notify();
        const response = await waiting;
        expect([response.status, response.headers.get('preference-applied')]).toEqual([200, 'wait=20']);
        expect(((await response.json()) as { targets: unknown[] }).targets).toHaveLength(1);
        await waiter.close();
      });
    });

    test('leaves clusters out that are older than max_age, and lists them', async () => {
      // The snapshots are a minute old.
      const { body: fresh } = await get('?cluster=site&max_age=60s');
      expect([fresh.staleClusters, (fresh.targets as unknown[]).length]).toEqual([[], 1]);
      const { body: stale } = await get('?cluster=site&max_age=59s');
      expect([stale.staleClusters, stale.targets]).toEqual([['site'], []]);
    });

    test('what does not fit in a response is refused, and says what to do', async () => {
      const small = await serveStore(store, { maxResponseBytes: 300 });
      const { status, body } = await responseOf(
        fetch(`${small.url}/v1/capacity`, { headers: { 'accept-encoding': 'gzip' } }),
      );
      await small.close();
      expect(status).toBe(413);
      expect(body.detail).toMatch(
        /^The response has \d+ bytes of gzip, and this deployment can carry 300; narrow it with a filter, or add it up with group_by\.$/,
      );
    });
  });

  describe('POST /v1/capacity/fit', () => {
    test('does not count clusters that are older than maxAge, and lists them', async () => {
      const shapes = [{ podRequirements: [{ acceleratorModel: 'H100', acceleratorCount: 4 }] }];
      const { body: fresh } = await post({ shapes, maxAge: '60s' });
      expect([fresh.staleClusters, (fresh.shapes as { fits: boolean }[])[0]?.fits]).toEqual([[], true]);
      const { body: stale } = await post({ shapes, maxAge: '59s', filter: { provider: ['aws'] } });
      expect([stale.staleClusters, (stale.shapes as { fits: boolean }[])[0]?.fits]).toEqual([
        ['arn:aws:eks:us-east-1:1:cluster/train'],
        false,
      ]);
      expect(await post({ shapes, maxAge: '-1s' })).toMatchObject({
        status: 422,
        body: { code: 'invalid_fit_request', detail: 'max_age must be above 0, such as 90s.' },
      });
    });

    test('answers with the best candidate first, a witness, a price, and why not for the others', async () => {
      const { status, body } = await post({
        shapes: [{ podRequirements: [{ acceleratorCount: 2 }, { acceleratorCount: 2 }], name: 'pair' }],
      });
      expect(status).toBe(200);
      const [shape] = body.shapes as { candidates: Record<string, unknown>[] }[];
      expect(shape).toMatchObject({ name: 'pair', chains: 1, fits: true, maxChains: '2', reason: '' });
      expect(shape?.candidates[0]).toEqual({
        clusterId: 'arn:aws:eks:us-east-1:1:cluster/train',
        fabricId: '',
        zone: '',
        targets: [{ poolId: 'train', nodeTypeId: 'p5' }],
        fits: true,
        maxChains: '2',
        fitsWithScaleOut: true,
        maxChainsWithScaleOut: '4',
        scaleOutNodes: [],
        witness: [
          {
            poolId: 'train',
            nodeTypeId: 'p5',
            nodes: '1',
            free: 4,
            demandPods: { 2: 1 },
            pods: [{ podIndex: 0, acceleratorCount: 2, pods: 1 }],
          },
          {
            poolId: 'train',
            nodeTypeId: 'p5',
            nodes: '1',
            free: 4,
            demandPods: {},
            pods: [{ podIndex: 0, acceleratorCount: 2, pods: 1 }],
          },
        ],
        pricePerHour: { currencyCode: 'USD', decimalAmount: '27.52' },
        priceRoundedUp: false,
        reason: '',
        logicalCounter: '1',
        collectedAt: '2026-01-01T00:00:00Z',
      });
      expect(shape?.candidates[1]).toMatchObject({
        clusterId: 'site',
        fits: false,
        maxChains: '0',
        reason: 'needs 2 nodes with 2 free; 0 have 2, 2 have 1',
      });
    });

    test('takes a shape as the map writes it, by pool and node type', async () => {
      const { body } = await post({
        shapes: [
          { podRequirements: [{ poolId: 'gpu', nodeTypeId: 'l40s', acceleratorCount: 1 }], chains: 3 },
        ],
      });
      const [shape] = body.shapes as Record<string, unknown>[];
      expect(shape).toMatchObject({
        fits: false,
        maxChains: '2',
        reason: 'needs 3 nodes with 1 free; 2 have 1; at most 2 chains fit',
      });
    });

    test('answers for a swap as if the chains were gone', async () => {
      const request = { shapes: [{ podRequirements: [{ acceleratorModel: 'L40S', acceleratorCount: 2 }] }] };
      const released = [{ clusterId: 'site', jobId: 'r', rankId: 'r', chainId: 'a' }];
      const without = (await post(request)).body.shapes as Record<string, unknown>[];
      const swapped = (await post({ ...request, released })).body.shapes as Record<string, unknown>[];
      expect([without[0]?.fits, swapped[0]?.fits]).toEqual([false, true]);
      // And nothing of it is kept.
      const after = (await post(request)).body.shapes as Record<string, unknown>[];
      expect(after[0]?.fits).toBe(false);
    });

    test('narrows by the filters of the map and more', async () => {
      const ask = async (filter: object) => {
        const { body } = await post({ shapes: [{ podRequirements: [{ acceleratorCount: 1 }] }], filter });
        const [shape] = body.shapes as { candidates: { clusterId: string }[] }[];
        return shape?.candidates.map(({ clusterId }) => clusterId);
      };
      expect(await ask({ cluster: ['site'] })).toEqual(['site']);
      expect(await ask({ rdmaReady: true })).toEqual(['arn:aws:eks:us-east-1:1:cluster/train']);
      expect(await ask({ purchaseModel: ['PURCHASE_MODEL_SPOT'] })).toEqual([]);
    });

    test('says how many candidates were left out', async () => {
      const { body } = await post({
        shapes: [{ podRequirements: [{ acceleratorCount: 1 }] }],
        maxCandidates: 1,
      });
      const [shape] = body.shapes as { candidates: unknown[]; omittedCandidates: number }[];
      expect([shape?.candidates.length, shape?.omittedCandidates]).toEqual([1, 1]);
    });

    test('says how many new nodes it would take', async () => {
      const { body } = await post({
        shapes: [{ podRequirements: [{ acceleratorModel: 'H100', acceleratorCount: 8 }] }],
      });
      const [shape] = body.shapes as { fits: boolean; candidates: Record<string, unknown>[] }[];
      expect(shape?.fits).toBe(false);
      // One for the pod that waits, one for this.
      expect(shape?.candidates[0]).toMatchObject({
        fits: false,
        fitsWithScaleOut: true,
        maxChainsWithScaleOut: '1',
        scaleOutNodes: [{ poolId: 'train', nodeTypeId: 'p5', nodes: '2' }],
        pricePerHour: { currencyCode: 'USD', decimalAmount: '55.04' },
        reason:
          'needs 1 node with 8 free; 1 has 8, 1 has 5, 2 have 4, before demand that comes first: 1 pod of 8, 1 pod of 2',
      });
    });

    test('is the same in Protobuf and in JSON', async () => {
      const request = { shapes: [{ podRequirements: [{ acceleratorCount: 2 }], chains: 2 }] };
      const json = fromJson(FitResponseSchema, (await post(request)).body as never);
      const protobuf = await fetch(`${service.url}/v1/capacity/fit`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', accept: 'application/x-protobuf' },
        body: toBinary(FitRequestSchema, fromJson(FitRequestSchema, request)),
      });
      expect(fromBinary(FitResponseSchema, new Uint8Array(await protobuf.arrayBuffer()))).toEqual(json);
      expect(await service.client.fit(fromJson(FitRequestSchema, request))).toEqual(json);
    });

    const pod = { acceleratorCount: 1 };
    const price = (currencyCode: string, decimalAmount: string) => ({
      shapes: [{ podRequirements: [{ ...pod, maxPricePerNodeHour: { currencyCode, decimalAmount } }] }],
    });
    test.each([
      [{}, 'shapes is empty; ask for at least one shape.'],
      [{ shapes: [{}] }, 'shapes[0].pod_requirements is empty; name each pod of one chain.'],
      [
        { shapes: [{ podRequirements: [pod, {}] }] },
        'shapes[0].pod_requirements[1].accelerator_count is 0; a pod that needs no accelerator fits anywhere and is not asked for.',
      ],
      [
        { shapes: [{ podRequirements: [pod], chains: 0 }] },
        'shapes[0].chains is 0; ask for at least 1, or leave it out for 1.',
      ],
      [
        price('usd', '1'),
        'shapes[0].pod_requirements[0].max_price_per_node_hour.currency_code is "usd"; write three capital letters such as USD.',
      ],
      [
        price('USD', '1e3'),
        'shapes[0].pod_requirements[0].max_price_per_node_hour.decimal_amount is "1e3"; write plain digits with at most one point, such as "12.50".',
      ],
      [
        { shapes: [{ podRequirements: [pod] }], released: [{ clusterId: 'site', jobId: 'r', rankId: 'r' }] },
        'released[0].chain_id is empty; a chain is named by cluster, job, rank and chain id.',
      ],
      [
        { shapes: [{ podRequirements: [pod] }], maxCandidates: 1_001 },
        'max_candidates is 1001; at most 1000 are given.',
      ],
      [
        { shapes: new Array(65).fill({ podRequirements: [pod] }) },
        'shapes has 65 entries; at most 64 are answered.',
      ],
    ])('%j is refused with the value and the remedy', async (request, detail) => {
      expect(await post(request)).toMatchObject({
        status: 422,
        body: { code: 'invalid_fit_request', detail },
      });
    });

    test('a question without fields is refused alike in Protobuf, where it has no bytes', async () => {
      await expect(service.client.fit({})).rejects.toMatchObject({
        code: 'invalid_fit_request',
        problem: { detail: 'shapes is empty; ask for at least one shape.' },
      });
    });

    test('a chain that is not there cannot be released', async () => {
      const ask = (clusterId: string, chainId: string) =>
        post({
          shapes: [{ podRequirements: [pod] }],
          released: [{ clusterId, jobId: 'r', rankId: 'r', chainId }],
        });
      expect(await ask('site', 'z')).toMatchObject({
        status: 422,
        body: {
          code: 'unknown_chain',
          detail:
            'Chain "z" of rank "r" of job "r" cannot be released: the snapshot of cluster "site" at counter 1 does not have it. ' +
            'Leave it out, or ask again with what the map says now.',
        },
      });
      expect((await ask('nowhere', 'a')).body.detail).toBe(
        'Chain "a" of rank "r" of job "r" cannot be released: no cluster "nowhere" is in the map. ' +
          'Leave it out, or ask again with what the map says now.',
      );
    });

    test('a field that there is not is named', async () => {
      const { status, body } = await post({ shapes: [{ podRequirements: [{ acceleratorCont: 1 }] }] });
      expect(status).toBe(400);
      expect(body.detail).toContain('acceleratorCont');
    });
  });

  test('a response follows the push before it, and a cluster that left is in none', async () => {
    const own = await freshStore(engine);
    const fresh = await serveStore(own, { now: () => NOW_MS });
    const free = async () =>
      (await fresh.client.capacity()).targets.map(({ clusterId, free }) => [clusterId, free]);
    const snapshot = (counter: bigint, idle: number) => {
      const built = cluster({ id: 'c', types: [{ idle }] });
      built.logicalCounter = counter;
      return built;
    };
    expect(await free()).toEqual([]);
    await fresh.client.push(snapshot(1n, 1));
    expect(await free()).toEqual([['c', 8n]]);
    await fresh.client.push(snapshot(2n, 2));
    expect(await free()).toEqual([['c', 16n]]);
    await fresh.client.omit('c');
    expect(await free()).toEqual([]);
    await fresh.close();
    own.client.destroy();
  });
});
