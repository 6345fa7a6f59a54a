/** Changes of pools whose first response was lost, through a proxy in front of the whole local service. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../functions/client/client.ts';
import { ConnectionError } from '../../functions/client/errors.ts';
import type { PoolSchema } from '../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';
import { type Fate, type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';

let service: LocalService;
let proxy: FaultyProxy;
let client: Client;
/** Another client, whose responses are not lost. */
let other: Client;
beforeAll(async () => {
  service = await startService({
    engine: { kind: 'memory' },
    port: 0,
    host: '127.0.0.1',
    telemetry: new RecordedTelemetry(),
  });
  proxy = await startFaultyProxy(service.url);
  client = createClient({ baseUrl: proxy.url, retry: { attempts: 3, baseMs: 1, capMs: 2 } });
  other = createClient({ baseUrl: service.url });
});
beforeEach(() => {
  proxy.fates.length = 0;
  proxy.seen.length = 0;
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

/** A pool that differs by a word. Its map has entries in an order that is not that of their keys. */
function pool(poolName: string, tierName: string): MessageInitShape<typeof PoolSchema> {
  const attributes = { zone: 'z', accelerator: 'a', model: 'm' };
  const profile = { capabilities: [{ name: 'n', count: 1, attributes }] };
  return {
    poolName,
    tiers: [
      {
        tierName,
        source: { case: 'elastic', value: { instanceTypes: [{ instanceType: 't', profile }] } },
      },
    ],
  };
}

const methods = (): readonly string[] => proxy.seen.map(({ method }) => method);
const LOST: readonly Fate[] = ['lose-answer', 'break-answer', 'time-out'];
const CHANGED = { status: 412, code: 'pool_changed' };

describe('A pool that is only to be created', () => {
  it.each(LOST)('is created after %s, though the second try finds it there', async (fate) => {
    proxy.fates.push(fate);
    const made = await client.putPool(pool(`made ${fate}`, 'a'), { onlyCreate: true });
    expect(made).toEqual(await other.pool(`made ${fate}`));
    expect(methods()).toEqual(['PUT', 'PUT', 'GET']);
  });

  it.each(LOST)('is not created after %s where there is another one', async (fate) => {
    await other.putPool(pool(`taken ${fate}`, 'b'));
    proxy.fates.push(fate);
    const creating = client.putPool(pool(`taken ${fate}`, 'a'), { onlyCreate: true });
    await expect(creating).rejects.toMatchObject({ ...CHANGED, possiblyApplied: true });
    expect((await other.pool(`taken ${fate}`)).pool?.tiers[0]?.tierName).toBe('b');
  });

  it('is not created where there is the same, as long as no response was lost', async () => {
    await other.putPool(pool('same', 'a'));
    for (const status of [408, 429, 429]) proxy.fates.push({ status }, { status }, 'pass');
    for (let call = 0; call < 3; call++) {
      const creating = client.putPool(pool('same', 'a'), { onlyCreate: true });
      await expect(creating).rejects.toMatchObject({ ...CHANGED, possiblyApplied: false });
    }
    expect(methods()).not.toContain('GET');
  });

  it('is looked at once, where it was created by the second try', async () => {
    proxy.fates.push('lose-request');
    await client.putPool(pool('second', 'a'), { onlyCreate: true });
    expect(methods()).toEqual(['PUT', 'PUT']);
  });

  it('is in doubt where it cannot be looked at', async () => {
    proxy.fates.push('lose-answer', 'pass', 'lose-request', 'lose-request', 'lose-request');
    const creating = client.putPool(pool('doubt', 'a'), { onlyCreate: true });
    await expect(creating).rejects.toThrow(ConnectionError);
    expect(methods()).toEqual(['PUT', 'PUT', 'GET', 'GET', 'GET']);
  });
});

describe('A pool that is to be replaced', () => {
  it.each(LOST)('is replaced after %s', async (fate) => {
    const name = `replaced ${fate}`;
    const { etag } = await other.putPool(pool(name, 'a'));
    proxy.fates.push(fate);
    const put = await client.putPool(pool(name, 'b'), { ifMatch: etag });
    expect(put.pool?.tiers[0]?.tierName).toBe('b');
    proxy.fates.push(fate);
    expect(await client.putPool(pool(name, 'b'), { ifMatch: '*' })).toEqual(put);
    expect(methods()).not.toContain('GET');
  });
});

describe('A pool that is to be removed', () => {
  const conditions: readonly [string, (etag: string) => { ifMatch?: string }][] = [
    ['its etag', (etag) => ({ ifMatch: etag })],
    ['any etag', () => ({ ifMatch: '*' })],
    ['no condition', () => ({})],
  ];
  const cases = LOST.flatMap((fate) => conditions.map(([name, options]) => [name, fate, options] as const));

  it.each(cases)(
    'with %s is removed after %s, though the second try finds none',
    async (name, fate, options) => {
      const { etag } = await other.putPool(pool(`gone ${name} ${fate}`, 'a'));
      proxy.fates.push(fate);
      await client.deletePool(`gone ${name} ${fate}`, options(etag));
      await expect(other.pool(`gone ${name} ${fate}`)).rejects.toMatchObject({ code: 'pool_not_found' });
    },
  );

  it.each(LOST)('is left after %s where it is another one by now', async (fate) => {
    const { etag } = await other.putPool(pool(`left ${fate}`, 'a'));
    await other.putPool(pool(`left ${fate}`, 'b'), { ifMatch: etag });
    proxy.fates.push(fate);
    await expect(client.deletePool(`left ${fate}`, { ifMatch: etag })).rejects.toMatchObject(CHANGED);
    expect((await other.pool(`left ${fate}`)).pool?.tiers[0]?.tierName).toBe('b');
  });

  it('is missed where it is not there and no response was lost', async () => {
    await expect(client.deletePool('never')).rejects.toMatchObject({ status: 404, code: 'pool_not_found' });
    await expect(client.deletePool('never', { ifMatch: '*' })).rejects.toMatchObject(CHANGED);
    proxy.fates.push({ status: 429 });
    await expect(client.deletePool('never')).rejects.toMatchObject({ status: 404, possiblyApplied: false });
  });
});
