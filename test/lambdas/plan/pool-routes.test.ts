import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PoolSchema, StoredPoolSchema } from '../../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { createApp } from '../../../functions/http/app.ts';
import { poolRoutes } from '../../../functions/lambdas/plan/routes-pools.ts';
import type { PoolStore } from '../../../functions/storage/pools.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';
import { type BundleService, startBundleService } from './bundle-service.ts';

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService();
});
afterAll(() => service.close());

const call: BundleService['call'] = (...request) => service.call(...request);

/** A pool as a client writes it, that differs by a word. */
const pool = (tierName: string) => ({ tiers: [{ tierName, cluster: { acceleratorModel: ['L4'] } }] });

/** Creates a pool and gives its ETag. */
async function created(name: string, word: string): Promise<string> {
  const response = await call('PUT', `/v1/pools/${name}`, pool(word));
  expect(response.status).toBe(201);
  return response.headers.get('etag') ?? '';
}

describe('PUT /v1/pools/{name}', () => {
  it('creates a pool and answers with what is kept and its ETag', async () => {
    const { status, headers, body } = await call('PUT', '/v1/pools/new', pool('a'));
    expect(status).toBe(201);
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]{32}\.json"$/);
    expect(body).toEqual({
      pool: {
        poolName: 'new',
        tiers: [
          {
            tierName: 'a',
            cluster: {
              provider: [],
              region: [],
              clusterId: [],
              poolId: [],
              nodeTypeId: [],
              acceleratorModel: ['L4'],
            },
          },
        ],
      },
      etag: headers.get('etag'),
    });
    const [message, fields] = service.warnings.at(-1) ?? [];
    expect([message, fields]).toMatchObject(['pool created', { pool: 'new', by: 'anyone' }]);
  });

  it('replaces the pool that If-Match names, and no other', async () => {
    const etag = await created('match', 'a');
    const replaced = await call('PUT', '/v1/pools/match', pool('b'), { 'if-match': etag });
    expect(replaced.status).toBe(200);
    expect(await call('PUT', '/v1/pools/match', pool('c'), { 'if-match': etag })).toMatchObject({
      status: 412,
      body: {
        code: 'pool_changed',
        detail:
          'Pool "match" is not what the request expects to be there, and nothing was changed; GET /v1/pools/match has what is, with its ETag.',
      },
    });
    const now = replaced.headers.get('etag') ?? '';
    const several = await call('PUT', '/v1/pools/match', pool('c'), { 'if-match': `"other", ${now}` });
    expect(several.status).toBe(200);
  });

  it('takes the ETag of either format', async () => {
    const etag = await created('format', 'a');
    const changed = await call('PUT', '/v1/pools/format', pool('b'), {
      'if-match': etag.replace('json', 'pb'),
    });
    expect(changed.status).toBe(200);
  });

  it.each(['PUT', 'DELETE'])(
    'reads every tag of If-Match for a %s, however many there are',
    async (method) => {
      const etag = await created(`many-${method}`, 'a');
      const other = (n: number) => `"${String(n).padStart(32, '0')}.json"`;
      // As many as a request has room for.
      const before = Array.from({ length: 400 }, (_, n) => other(n));
      const call400 = (...last: readonly string[]) =>
        call(method, `/v1/pools/many-${method}`, method === 'PUT' ? pool('b') : undefined, {
          'if-match': [...before, ...last].join(','),
        });
      expect((await call400()).status).toBe(412);
      expect((await call400(etag)).status).toBe(method === 'PUT' ? 200 : 204);
    },
  );

  it('takes a comma within the quotes of a tag for a part of it, and passes over empty elements', async () => {
    const etag = await created('commas', 'a');
    const put = (word: string, list: string) =>
      call('PUT', '/v1/pools/commas', pool(word), { 'if-match': list });
    const [opaque] = etag.split('"').filter((part) => part !== '');
    expect((await put('b', `"x,${opaque}"`)).status).toBe(412);
    expect((await put('b', `,, "x,y" ,\t${etag} ,`)).status).toBe(200);
  });

  it('takes a tag for what it is, whatever it begins with', async () => {
    const etag = await created('exactly', 'a');
    for (const tag of [etag.replace('.json', ''), etag.replace('.json', '.xml')]) {
      expect((await call('PUT', '/v1/pools/exactly', pool('b'), { 'if-match': tag })).status).toBe(412);
    }
  });

  it('takes no weak ETag, which says too little to write on', async () => {
    const etag = await created('weak', 'a');
    for (const method of ['PUT', 'DELETE']) {
      const body = method === 'PUT' ? pool('b') : undefined;
      expect(await call(method, '/v1/pools/weak', body, { 'if-match': `W/${etag}` })).toMatchObject({
        status: 412,
        body: {
          code: 'pool_changed',
          detail:
            'If-Match has a weak tag, W/"…", which never matches, and nothing was changed. The service gives strong tags: something between, a proxy that compresses as a rule, has weakened this one. Send the `etag` in the body of GET /v1/pools/weak, which is the strong one.',
        },
      });
    }
  });

  it('overwrites nothing for who does not say what they have seen', async () => {
    await created('unseen', 'a');
    expect(await call('PUT', '/v1/pools/unseen', pool('b'))).toMatchObject({
      status: 428,
      body: {
        code: 'precondition_required',
        detail:
          'Pool "unseen" is there already, and not as it was sent; to replace it send If-Match with the ETag of GET /v1/pools/unseen, or If-Match: * for whatever it is by then.',
      },
    });
    expect((await call('GET', '/v1/pools/unseen')).body.pool.tiers[0].tierName).toBe('a');
    expect((await call('PUT', '/v1/pools/unseen', pool('b'), { 'if-match': '*' })).status).toBe(200);
  });

  it('takes the same change again for a success, whose answer may have been lost', async () => {
    const etag = await created('again', 'a');
    expect((await call('PUT', '/v1/pools/again', pool('a'))).status).toBe(200);
    for (let i = 0; i < 2; i++) {
      expect((await call('PUT', '/v1/pools/again', pool('b'), { 'if-match': etag })).status).toBe(200);
    }
  });

  it('creates with If-None-Match: * only where nothing is, and replaces with If-Match: * only what is', async () => {
    const onlyNew = { 'if-none-match': '*' };
    expect((await call('PUT', '/v1/pools/only', pool('a'), { 'if-match': '*' })).status).toBe(412);
    expect((await call('PUT', '/v1/pools/only', pool('a'), onlyNew)).status).toBe(201);
    expect((await call('PUT', '/v1/pools/only', pool('a'), onlyNew)).status).toBe(412);
  });

  it('lets one of two writers of one version win', async () => {
    const etag = await created('race', 'start');
    const responses = await Promise.all(
      ['x', 'y'].map((word) => call('PUT', '/v1/pools/race', pool(word), { 'if-match': etag })),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 412]);
    const winner = responses.find(({ status }) => status === 200);
    expect((await call('GET', '/v1/pools/race')).body).toEqual(winner?.body);
  });

  it.each([
    [
      { 'if-none-match': '"a"' },
      'If-None-Match is "\\"a\\""; a write takes "*", for where there must be nothing, and no tags.',
    ],
    [
      { 'if-match': 'nonsense' },
      'If-Match is "nonsense"; send the ETag of a response as it came, with its quotes, or several with commas between, or "*".',
    ],
    [
      { 'if-match': ' , ' },
      'If-Match is ","; send the ETag of a response as it came, with its quotes, or several with commas between, or "*".',
    ],
    [
      { 'if-match': `"a" ${'b'.repeat(97)}` },
      `If-Match is "\\"a\\" ${'b'.repeat(96)}"…; send the ETag of a response as it came, with its quotes, or several with commas between, or "*".`,
    ],
    [
      { 'if-match': '*', 'if-none-match': '*' },
      'The request has both If-Match and If-None-Match; send one of them.',
    ],
  ])('refuses a condition that it cannot hold to: %#', async (headers, detail) => {
    expect(await call('PUT', '/v1/pools/odd', pool('a'), headers)).toMatchObject({
      status: 400,
      body: { code: 'invalid_precondition', detail },
    });
  });

  it.each([
    ['no tier', { tiers: [] }, 'pool.tiers: It is empty; give at least one tier, cluster or elastic.'],
    [
      'another name than the URL',
      { ...pool('a'), poolName: 'y' },
      'pool.pool_name: "y" is not the name in the URL, "refused"; leave it out.',
    ],
  ])('keeps no pool with %s', async (_, body, detail) => {
    const refused = await call('PUT', '/v1/pools/refused', body);
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_bundle_request', detail } });
    expect((await call('GET', '/v1/pools/refused')).status).toBe(404);
  });

  it('keeps no pool under a name with a "?", and lets one that has it be removed', async () => {
    expect(await call('PUT', '/v1/pools/a%3Fb', pool('a'))).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_pool_name',
        detail: 'The pool name "a?b" has a "?", at which gateways cut the path of a URL; choose another.',
      },
    });
    expect(await call('GET', '/v1/pools/a%3Fb')).toMatchObject({ body: { code: 'pool_not_found' } });
    expect(await call('DELETE', '/v1/pools/a%3Fb')).toMatchObject({ body: { code: 'pool_not_found' } });
  });

  it.each([
    ['a%2Fb', 'The pool name "a/b" cannot stand in a URL; choose one without "/" that is not "." or "..".'],
    ['a%00', 'The pool name "a\\u0000" has a control character; it can have none.'],
    ['%ff', 'The pool name "%ff" is not percent-encoded UTF-8; encode a "%" as "%25".'],
    [
      'x'.repeat(254),
      `The pool name "${'x'.repeat(128)}"… (254 characters) has 254 bytes; at most 253 are taken.`,
    ],
  ])('takes no name that a URL or a person cannot carry: %s', async (name, detail) => {
    for (const method of ['PUT', 'GET', 'DELETE']) {
      expect(await call(method, `/v1/pools/${name}`, method === 'PUT' ? pool('a') : undefined)).toMatchObject(
        {
          status: 400,
          body: { code: 'invalid_pool_name', detail },
        },
      );
    }
  });

  it('refuses a pool that is larger than can be kept', async () => {
    const { status, body } = await call('PUT', '/v1/pools/large', {
      tiers: [
        {
          elastic: {
            instanceTypes: Array.from({ length: 900 }, (_, i) => ({
              instanceType: `i${i}`,
              profile: { capabilities: [{ name: 'x', attributes: { a: 'y'.repeat(500) } }] },
            })),
          },
        },
      ],
    });
    expect([status, body.code]).toEqual([413, 'body_too_large']);
    expect(body.detail).toMatch(/^The pool has \d+ bytes in Protobuf; at most 380000 are kept\./);
  });
});

describe('GET /v1/pools', () => {
  it('lists pools in the order of their names, each as it is got by itself', async () => {
    for (const name of ['zz%20ü', 'aa', '__proto__']) await created(name, 'a');
    const { pools } = (await call('GET', '/v1/pools')).body;
    const names = pools.map((kept: { pool: { poolName: string } }) => kept.pool.poolName);
    expect(names).toEqual([...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    expect(names).toEqual(expect.arrayContaining(['__proto__', 'aa', 'zz ü']));
    for (const kept of pools) {
      const path = `/v1/pools/${encodeURIComponent(kept.pool.poolName)}`;
      expect((await call('GET', path)).body).toEqual(kept);
    }
  });

  it('is refused where the front cannot carry it, and says what to do', async () => {
    const telemetry = new RecordedTelemetry();
    const app = createApp(telemetry, { kind: 'open' });
    const kept = { pool: create(PoolSchema, { poolName: 'p' }), version: 'v' };
    const pools = { list: async () => [kept] } as unknown as PoolStore;
    poolRoutes(app, { pools, telemetry, maxResponseBytes: 40 });
    const response = await app.request('/v1/pools');
    expect([response.status, await response.json()]).toMatchObject([
      413,
      {
        code: 'map_too_large',
        detail:
          'The response has 68 bytes, and this deployment can carry 40; send Accept-Encoding: gzip, or read the pools one by one.',
      },
    ]);
  });

  it('answers that nothing changed for the ETag of the present pool, in each format', async () => {
    const etag = await created('etag', 'a');
    const notModified = await call('GET', '/v1/pools/etag', undefined, { 'if-none-match': etag });
    expect([notModified.status, notModified.headers.get('etag')]).toEqual([304, etag]);
    // A cache that holds JSON must not hand it out as Protobuf.
    const other = await fetch(`${service.url}/v1/pools/etag`, {
      headers: { accept: 'application/x-protobuf', 'if-none-match': etag },
    });
    expect([other.status, other.headers.get('etag')]).toEqual([200, etag.replace('json', 'pb')]);
  });

  it('finds its ETag among all that If-None-Match lists, weak or strong', async () => {
    const etag = await created('known', 'a');
    const get = (list: string) => call('GET', '/v1/pools/known', undefined, { 'if-none-match': list });
    const many = '"a,b",'.repeat(1_000);
    expect((await get(many)).status).toBe(200);
    expect((await get(`${many}W/${etag}`)).status).toBe(304);
    expect((await get('')).status).toBe(200);
    expect((await get(etag.slice(1))).body).toMatchObject({
      code: 'invalid_precondition',
      detail: `If-None-Match is ${JSON.stringify(etag.slice(1))}; send the ETag of a response as it came, with its quotes, or several with commas between, or "*".`,
    });
  });

  it('says so where there is no such pool', async () => {
    expect((await call('GET', '/v1/pools/nowhere')).body).toMatchObject({
      status: 404,
      code: 'pool_not_found',
      detail: 'No pool "nowhere" is configured; GET /v1/pools lists those that are.',
    });
  });
});

describe('DELETE /v1/pools/{name}', () => {
  it('removes the pool that If-Match names, and no other', async () => {
    const etag = await created('gone', 'a');
    await call('PUT', '/v1/pools/gone', pool('b'), { 'if-match': etag });
    expect((await call('DELETE', '/v1/pools/gone', undefined, { 'if-match': etag })).status).toBe(412);
    const now = (await call('GET', '/v1/pools/gone')).headers.get('etag') ?? '';
    expect((await call('DELETE', '/v1/pools/gone', undefined, { 'if-match': now })).status).toBe(204);
    expect(service.warnings.at(-1)).toMatchObject(['pool removed', { pool: 'gone' }]);
    expect((await call('DELETE', '/v1/pools/gone', undefined, { 'if-match': '*' })).status).toBe(412);
    expect((await call('DELETE', '/v1/pools/gone')).status).toBe(404);
  });

  it('removes whatever is there where nothing is expected', async () => {
    await created('any', 'a');
    expect((await call('DELETE', '/v1/pools/any')).status).toBe(204);
  });

  it('does not take a condition under which it would remove nothing', async () => {
    const response = await call('DELETE', '/v1/pools/any', undefined, { 'if-none-match': '*' });
    expect([response.status, response.body.code]).toEqual([400, 'invalid_precondition']);
  });
});

it('speaks Protobuf as well', async () => {
  const sent = create(PoolSchema, { tiers: [{ source: { case: 'cluster', value: {} } }] });
  const response = await fetch(`${service.url}/v1/pools/binary`, {
    method: 'PUT',
    headers: { 'content-type': 'application/x-protobuf', accept: 'application/x-protobuf' },
    body: toBinary(PoolSchema, sent),
  });
  const kept = fromBinary(StoredPoolSchema, new Uint8Array(await response.arrayBuffer()));
  expect(kept).toEqual(
    create(StoredPoolSchema, {
      pool: { ...sent, poolName: 'binary' },
      etag: response.headers.get('etag') ?? '',
    }),
  );
  expect(kept.etag).toMatch(/\.pb"$/);
});

describe('the client', () => {
  const kept = (tierName: string) =>
    create(PoolSchema, {
      poolName: 'by client',
      tiers: [
        { tierName, source: { case: 'elastic', value: { instanceTypes: [{ instanceType: 'g6.xlarge' }] } } },
      ],
    });

  it('creates, replaces, lists and removes pools, and takes no pool by surprise', async () => {
    const { client } = service;
    const { etag } = await client.putPool(kept('a'), { onlyCreate: true });
    await expect(client.putPool(kept('b'))).rejects.toMatchObject({ status: 428 });
    await expect(client.putPool(kept('a'), { onlyCreate: true })).rejects.toMatchObject({ status: 412 });
    const replaced = await client.putPool(kept('b'), { ifMatch: etag });
    expect(await client.pool('by client')).toEqual(replaced);
    expect((await client.pools()).find(({ pool }) => pool?.poolName === 'by client')).toEqual(replaced);
    await expect(client.deletePool('by client', { ifMatch: etag })).rejects.toMatchObject({
      code: 'pool_changed',
    });
    await client.deletePool('by client', { ifMatch: replaced.etag });
    await expect(client.pool('by client')).rejects.toMatchObject({ code: 'pool_not_found' });
  });
});
