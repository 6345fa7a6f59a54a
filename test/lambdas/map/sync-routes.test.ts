import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { clockEtag } from '../../../functions/core/map/clock.ts';
import { WHOLE_MAP } from '../../../functions/core/map/filter.ts';
import { SyncRequestSchema, SyncResponseSchema } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { clusterSnapshot } from './snapshots.ts';

async function sync(
  service: TestService,
  body: string | Uint8Array<ArrayBuffer> | object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}/v1/map/sync`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

interface Changed {
  readonly changed: readonly { readonly cluster?: { readonly clusterId?: string } | undefined }[];
}

function ids(answer: Changed): (string | undefined)[] {
  return answer.changed.map((each) => each.cluster?.clusterId);
}

/** Until a response is held, so that what comes next is what ends it. */
const isHeld = ({ changes }: TestService): Promise<void> =>
  vi.waitFor(() => expect(changes.waiting).toBe(1), { timeout: 10_000, interval: 5 });

describe.each(engines)('POST /v1/map/sync on $name', (engine) => {
  let store: TestStore;
  let service: TestService;
  beforeAll(async () => {
    store = await freshStore(engine);
    service = await serveStore(store);
    await service.client.push(clusterSnapshot('refreshed', { counter: 1n }));
    await service.client.push(clusterSnapshot('refreshed', { counter: 2n }));
    await service.client.push(clusterSnapshot('changed', { counter: 1n, nodes: 1 }));
    await service.client.push(clusterSnapshot('changed', { counter: 2n, nodes: 2 }));
    await service.client.push(clusterSnapshot('new', { counter: 5n, region: 'us-east-1' }));
    await service.client.push(clusterSnapshot('gone'));
    await service.client.omit('gone');
  });
  afterAll(() => service.close());

  const clock = { refreshed: '1', changed: '1', gone: '1' };

  it('tells in JSON what changed, what was only refreshed, and what is gone', async () => {
    const response = await sync(service, { vectorClock: clock });
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('private, no-cache');
    const answer = (await response.json()) as Changed;
    expect(ids(answer).sort()).toStrictEqual(['changed', 'new']);
    expect(answer).toMatchObject({
      refreshed: [{ clusterId: 'refreshed', collectedAt: '2026-01-01T00:00:00.002Z', logicalCounter: '2' }],
      omitted: ['gone'],
      complete: true,
      etag: clockEtag(
        [
          { clusterId: 'refreshed', counter: 2n },
          { clusterId: 'changed', counter: 2n },
          { clusterId: 'new', counter: 5n },
        ],
        WHOLE_MAP,
        'json',
      ),
    });
  });

  it('tells the same in Protobuf', async () => {
    const answer = await service.client.sync({
      clock: new Map(Object.entries(clock).map(([id, counter]) => [id, BigInt(counter)])),
    });
    expect(ids(answer).sort()).toStrictEqual(['changed', 'new']);
    expect(answer.changed.find((each) => each.cluster?.clusterId === 'new')).toStrictEqual(
      (await service.client.snapshot('new')) as unknown,
    );
    expect(answer.refreshed.map((each) => [each.clusterId, each.logicalCounter])).toStrictEqual([
      ['refreshed', 2n],
    ]);
    expect(answer.omitted).toStrictEqual(['gone']);
    expect(answer.complete).toBe(true);
  });

  it('gives the etag of the map, under the same filter', async () => {
    for (const filter of [{}, { region: ['us-east-1'] }]) {
      const map = await service.client.map({ filter });
      const answer = await service.client.sync({ clock: new Map(), filter });
      expect(answer.etag).toBe(map.etag);
      expect(ids(answer)).toStrictEqual(
        map.kind === 'map' && 'region' in filter ? ['new'] : expect.arrayContaining(['changed', 'refreshed']),
      );
    }
  });

  it('takes no bytes at all for the question of a caller that has nothing, as Protobuf writes it', async () => {
    const bytes = toBinary(SyncRequestSchema, create(SyncRequestSchema));
    expect(bytes).toHaveLength(0);
    const response = await sync(service, bytes, {
      'content-type': 'application/x-protobuf',
      accept: 'application/x-protobuf',
    });
    const answer = fromBinary(SyncResponseSchema, new Uint8Array(await response.arrayBuffer()));
    expect(answer.changed).toHaveLength(3);
  });

  it('sends what fits, and says that there is more', async () => {
    const first = await service.client.sync({ clock: new Map(), maxBytes: 1 });
    expect(first.changed).toHaveLength(1);
    expect(first.complete).toBe(false);
  });

  it('refuses what it cannot read, by name', async () => {
    const refused = async (body: string | object) => {
      const response = await sync(service, body);
      expect(response.status).toBe(400);
      return (await response.json()) as { code: string; detail: string };
    };
    expect(await refused('')).toMatchObject({ code: 'empty_body' });
    expect(await refused({ vectorClock: { a: '-1' } })).toMatchObject({ code: 'malformed_json' });
    expect(await refused({ clock: {} })).toMatchObject({
      code: 'malformed_json',
      detail: expect.stringContaining('"clock"'),
    });
  });

  it('answers for ids that every object has, as it does for others', async () => {
    const response = await sync(
      service,
      '{"vectorClock":{"constructor":"1","toString":"2"},"filter":{"cluster":["new"]}}',
    );
    expect(await response.json()).toMatchObject({ omitted: ['constructor', 'toString'] });
  });

  it('goes on with a continuation, and rejects one that no response had', async () => {
    const sent: string[] = [];
    let continuation = '';
    for (let i = 0; i < 4 && (i === 0 || continuation !== ''); i++) {
      const part = await service.client.sync({ clock: new Map(), maxBytes: 1, continuation });
      sent.push(...part.changed.map((each) => each.cluster?.clusterId ?? ''));
      continuation = part.continuation ?? '';
    }
    // The caller's clock stays empty; only the continuation goes on.
    expect(new Set(sent.slice(1)).size).toBe(3);
    await expect(service.client.sync({ clock: new Map(), continuation: 'iÄ' })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_query',
      message: expect.stringContaining(
        'The continuation "iÄ" is not one that a response had; send it as it was, or leave it out.',
      ),
    });
  });

  it('cuts the budget to what the front can carry, and is 413 where one snapshot is larger', async () => {
    const small = await serveStore(store, { maxResponseBytes: 300 });
    const answer = await small.client.sync({ clock: new Map() });
    expect(answer.changed).toHaveLength(1);
    expect(answer.complete).toBe(false);
    await small.close();

    const tiny = await serveStore(store, { maxResponseBytes: 60 });
    await expect(tiny.client.sync({ clock: new Map() })).rejects.toMatchObject({
      status: 413,
      code: 'map_too_large',
      message: expect.stringMatching(
        /this deployment can carry 60; leave its largest cluster out with a filter\.$/,
      ),
    });
    await tiny.close();
  });

  describe('with Prefer: wait', () => {
    const current = new Map([
      ['refreshed', 2n],
      ['changed', 2n],
      ['new', 5n],
    ]);

    it('is held until something changes, and says how long it was allowed to take', async () => {
      const asked = sync(
        service,
        { vectorClock: Object.fromEntries([...current].map(([id, counter]) => [id, String(counter)])) },
        { prefer: 'wait=20' },
      );
      const startedMs = performance.now();
      await isHeld(service);
      await service.client.push(clusterSnapshot('new', { counter: 6n, region: 'us-east-1' }));
      const response = await asked;
      expect(response.headers.get('preference-applied')).toBe('wait=20');
      expect(await response.json()).toMatchObject({ refreshed: [{ clusterId: 'new' }], complete: true });
      expect(performance.now() - startedMs).toBeLessThan(10_000);
    });

    it('says that nothing changed when the time is up', async () => {
      const { map } = (await service.client.map()) as { map: { vectorClock: Record<string, bigint> } };
      const answer = await service.client.sync({
        clock: new Map(Object.entries(map.vectorClock)),
        waitMs: 1_000,
      });
      expect(answer).toMatchObject({ changed: [], refreshed: [], omitted: [], complete: true });
    });

    it('is answered at once when the service stops', async () => {
      const stopping = await serveStore(store);
      const { map } = (await stopping.client.map()) as { map: { vectorClock: Record<string, bigint> } };
      const clock = new Map(Object.entries(map.vectorClock));
      const held = stopping.client.sync({ clock, waitMs: 20_000 });
      await isHeld(stopping);
      stopping.changes.end();
      expect((await held).complete).toBe(true);
      await stopping.close();
    });

    it('holds GET /v1/map for whoever has the map, until it is another', async () => {
      const { etag } = await service.client.map();
      const asked = service.client.map({ ifNoneMatch: etag, waitMs: 20_000 });
      await isHeld(service);
      await service.client.push(clusterSnapshot('new', { counter: 7n, region: 'us-east-1' }));
      expect(await asked).toMatchObject({ kind: 'map', map: { vectorClock: { new: 7n } } });
      const { etag: now } = await service.client.map();
      expect(await service.client.map({ ifNoneMatch: now, waitMs: 1_000 })).toStrictEqual({
        kind: 'not-modified',
        etag: now,
      });
    });
  });
});
