import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../functions/client/client.ts';
import { engines, freshStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { clusterSnapshot } from './snapshots.ts';

const engine = engines[0];
if (engine === undefined) throw new Error('No engine runs.');

/** Sends sync with a clock that is the map's. */
function sync(service: TestService, path: string, waitSeconds: number): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: `wait=${waitSeconds}` },
    body: '{"vectorClock":{"a":"1"}}',
  });
}

describe('A deployed service, whose functions have some of the routes each', () => {
  let plain: TestService;
  let waits: TestService;
  beforeAll(async () => {
    const store = await freshStore(engine);
    plain = await serveStore(store, { serves: 'plain' });
    waits = await serveStore(store, { serves: 'waits', longestWaitSeconds: 1 });
    await plain.client.push(clusterSnapshot('a'));
  });
  afterAll(() => Promise.all([plain.close(), waits.close()]));

  it.each(['/v1/map/sync', '/v1/wait/map/sync'])('has %s at one function only', async (path) => {
    const statuses = await Promise.all([sync(plain, path, 0), sync(waits, path, 0)]);
    const expected = path.includes('wait') ? [404, 200] : [200, 404];
    expect(statuses.map(({ status }) => status)).toEqual(expected);
  });

  it('ignores Prefer: wait beside the wait routes', async () => {
    const startedAtMs = performance.now();
    const response = await sync(plain, '/v1/map/sync', 20);
    expect(response.headers.get('preference-applied')).toBeNull();
    const { headers } = await fetch(`${plain.url}/v1/map`);
    const unchanged = await fetch(`${plain.url}/v1/map`, {
      headers: { prefer: 'wait=20', 'if-none-match': String(headers.get('etag')) },
    });
    expect(unchanged.status).toBe(304);
    expect(unchanged.headers.get('preference-applied')).toBeNull();
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
  });

  it('holds a response there, for as long as the deployment allows', async () => {
    const startedAtMs = performance.now();
    const response = await sync(waits, '/v1/wait/map/sync', 20);
    expect(response.headers.get('preference-applied')).toBe('wait=1');
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(999);
    expect(await response.json()).toMatchObject({ changed: [], refreshed: [], omitted: [], complete: true });
  });

  it('holds none where the longest wait is 0', async () => {
    const off = await serveStore(await freshStore(engine), { serves: 'waits', longestWaitSeconds: 0 });
    await off.client.push(clusterSnapshot('a')).catch(() => undefined);
    const response = await sync(off, '/v1/wait/map/sync', 20);
    expect(response.headers.get('preference-applied')).toBeNull();
    await off.close();
  });
});

describe('The client', () => {
  /** Records the paths of the requests that a client makes. */
  function recording(service: TestService) {
    const paths: string[] = [];
    const client = createClient({
      baseUrl: service.url,
      fetch: (input, init) => {
        paths.push(new URL(String(input)).pathname);
        return fetch(input, init);
      },
    });
    return { client, paths };
  }

  it('asks the wait routes where it waits, and the others where it does not', async () => {
    const service = await serveStore(await freshStore(engine));
    await service.client.push(clusterSnapshot('a'));
    const { client, paths } = recording(service);
    await client.sync({ clock: new Map(), waitMs: 1_000 });
    await client.sync({ clock: new Map() });
    const whole = await client.map();
    await client.map({ ifNoneMatch: whole.etag, waitMs: 1_000 });
    await service.close();
    expect(paths).toEqual(['/v1/wait/map/sync', '/v1/map/sync', '/v1/map', '/v1/wait/map']);
  });

  it('falls back, once and for all, where the service has no such routes', async () => {
    const service = await serveStore(await freshStore(engine), { serves: 'plain' });
    await service.client.push(clusterSnapshot('a'));
    const { client, paths } = recording(service);
    await client.sync({ clock: new Map(), waitMs: 1_000 });
    await client.sync({ clock: new Map(), waitMs: 1_000 });
    await client.map({ waitMs: 1_000 });
    await service.close();
    expect(paths).toEqual(['/v1/wait/map/sync', '/v1/map/sync', '/v1/map/sync', '/v1/map']);
  });
});
