import { request as httpRequest } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { create, fromBinary, fromJsonString, toJson } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClusterResourceMap,
  GlobalResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { VectorClockSchema } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { contentKey } from '../../../functions/storage/contents.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { clusterSnapshot } from './snapshots.ts';

interface OperationResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A request by Node's own client, which leaves encodings alone. */
function send(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<OperationResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject).end();
  });
}

const PROTOBUF = { accept: 'application/x-protobuf' };
const GZIP = { 'accept-encoding': 'gzip' };

/** Ids whose order differs between UTF-16 and bytes, and one that needs percent-encoding. */
const EU = clusterSnapshot('arn:aws:eks:eu-west-1:1:cluster/a', { nodes: 3 });
const US = clusterSnapshot('us', { region: 'us-east-1', model: 'L4', counter: 7n });
const EMOJI = clusterSnapshot('😀', { counter: 3n });
const LAST_IN_UTF16 = clusterSnapshot('\uffee', { counter: 2n ** 60n });

function mapOf(snapshots: readonly ClusterResourceMap[]) {
  return toJson(
    GlobalResourceMapSchema,
    create(GlobalResourceMapSchema, {
      clusterResourceMaps: [...snapshots],
      vectorClock: Object.fromEntries(
        snapshots.map((each) => [each.cluster?.clusterId ?? '', each.logicalCounter]),
      ),
    }),
  );
}

describe.each(engines)('on $name', (engine) => {
  let store: TestStore;
  let service: TestService;
  beforeAll(async () => {
    store = await freshStore(engine);
    service = await serveStore(store);
    for (const snapshot of [US, EMOJI, LAST_IN_UTF16, EU])
      await service.client.push(snapshot, { allowJump: true });
  });
  afterAll(() => service.close());

  describe('GET /v1/map', () => {
    it('is every snapshot as it was pushed, in the order of the ids’ bytes, and the clock', async () => {
      const { body } = await send(`${service.url}/v1/map`, PROTOBUF);
      const map = toJson(GlobalResourceMapSchema, fromBinary(GlobalResourceMapSchema, body));
      expect(map).toStrictEqual(mapOf([EU, US, LAST_IN_UTF16, EMOJI]));
    });

    it('is the same in JSON, which is the default', async () => {
      const { headers, body } = await send(`${service.url}/v1/map`);
      expect(headers['content-type']).toBe('application/json');
      expect(JSON.parse(body.toString())).toStrictEqual(mapOf([EU, US, LAST_IN_UTF16, EMOJI]));
      fromJsonString(GlobalResourceMapSchema, body.toString());
    });

    it.each([
      ['Protobuf', PROTOBUF],
      ['JSON', {}],
    ])(
      'is the same bytes in %s with and without gzip, their number told in both',
      async (_format, accept) => {
        const plain = await send(`${service.url}/v1/map`, accept);
        const zipped = await send(`${service.url}/v1/map`, { ...accept, ...GZIP });
        expect(plain.headers['content-encoding']).toBeUndefined();
        expect(zipped.headers['content-encoding']).toBe('gzip');
        expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
        expect(plain.headers['content-length']).toBe(String(plain.body.length));
        expect(zipped.headers['content-length']).toBe(String(zipped.body.length));
      },
    );

    it('has an etag for each format, may be kept and must be asked about', async () => {
      const plain = await send(`${service.url}/v1/map`);
      const zipped = await send(`${service.url}/v1/map`, GZIP);
      const binary = await send(`${service.url}/v1/map`, PROTOBUF);
      expect(plain.headers.etag).toMatch(/^W\/"[\w-]{43}\.json"$/);
      expect(zipped.headers.etag).toBe(plain.headers.etag);
      expect(binary.headers.etag).toBe(String(plain.headers.etag).replace('.json', '.pb'));
      expect(plain.headers['cache-control']).toBe('private, no-cache');
      expect(plain.headers.vary).toBe('accept, accept-encoding');
    });

    it('is 304 for whoever has it, without a body, with the headers that a cache needs', async () => {
      const { headers } = await send(`${service.url}/v1/map`);
      const etag = String(headers.etag);
      for (const header of [etag, `"other", ${etag}`, etag.slice(2), '*']) {
        const again = await send(`${service.url}/v1/map`, { 'if-none-match': header });
        expect(again.status, header).toBe(304);
        expect(again.body).toHaveLength(0);
        expect(again.headers).toMatchObject({ etag, 'cache-control': 'private, no-cache' });
      }
      expect((await send(`${service.url}/v1/map`, { 'if-none-match': '"other"' })).status).toBe(200);
    });

    it('is 400 for who sends no tags, who would be sent the whole map forever', async () => {
      const etag = String((await send(`${service.url}/v1/map`)).headers.etag);
      for (const path of ['/v1/map', '/v1/map/clock']) {
        const { status, body } = await send(`${service.url}${path}`, {
          'if-none-match': etag.replaceAll('"', ''),
        });
        expect([status, JSON.parse(body.toString()).code]).toEqual([400, 'invalid_precondition']);
      }
    });

    it('is no 304 for a cache that holds the other format', async () => {
      const { headers } = await send(`${service.url}/v1/map`, PROTOBUF);
      const json = await send(`${service.url}/v1/map`, { 'if-none-match': String(headers.etag) });
      expect(json.status).toBe(200);
    });

    it('answers HEAD with the headers of GET and nothing else', async () => {
      const get = await send(`${service.url}/v1/map`, GZIP);
      const head = await send(`${service.url}/v1/map`, GZIP, 'HEAD');
      expect(head.status).toBe(200);
      expect(head.body).toHaveLength(0);
      for (const name of ['etag', 'content-length', 'content-type', 'content-encoding']) {
        expect(head.headers[name], name).toBe(get.headers[name]);
      }
    });

    it.each([
      ['cluster=us', [US]],
      ['cluster=us&cluster=arn:aws:eks:eu-west-1:1:cluster/a', [EU, US]],
      ['region=us-east-1', [US]],
      ['region=us-east-1&region=eu-west-1&accelerator_model=L4', [US]],
      ['provider=gcp', []],
      ['site=', [EU, US, LAST_IN_UTF16, EMOJI]],
    ])('?%s holds the clusters that match, and no others in its clock', async (query, expected) => {
      const { body } = await send(`${service.url}/v1/map?${query}`);
      expect(JSON.parse(body.toString())).toStrictEqual({
        clusterResourceMaps: [],
        vectorClock: {},
        ...(mapOf(expected) as object),
      });
    });

    it('has another etag under a filter, even where the filter takes every cluster', async () => {
      const whole = await send(`${service.url}/v1/map`);
      const filtered = await send(`${service.url}/v1/map?provider=aws`, {
        'if-none-match': String(whole.headers.etag),
      });
      expect(filtered.status).toBe(200);
      expect(filtered.headers.etag).not.toBe(whole.headers.etag);
    });

    it('refuses a filter that it does not know, and names the nearest', async () => {
      const { status, body } = await send(`${service.url}/v1/map?acceleratorModel=L4`);
      expect(status).toBe(400);
      expect(JSON.parse(body.toString())).toMatchObject({
        code: 'invalid_query',
        detail: 'There is no query parameter "acceleratorModel"; did you mean "accelerator_model"?',
      });
    });
  });

  describe('GET /v1/map/clock', () => {
    it('is the clock of the map, under the map’s etag', async () => {
      const map = await send(`${service.url}/v1/map?cluster=us&cluster=😀`);
      const clock = await send(`${service.url}/v1/map/clock?cluster=😀&cluster=us`);
      expect(JSON.parse(clock.body.toString())).toStrictEqual({ vectorClock: { us: '7', '😀': '3' } });
      expect(clock.headers.etag).toBe(map.headers.etag);
      const binary = await send(`${service.url}/v1/map/clock?cluster=us`, { ...PROTOBUF, ...GZIP });
      expect(fromBinary(VectorClockSchema, gunzipSync(binary.body)).vectorClock).toStrictEqual({ us: 7n });
      const again = await send(`${service.url}/v1/map/clock`, { 'if-none-match': '*' });
      expect(again.status).toBe(304);
    });
  });

  describe('a response that the front cannot carry', () => {
    it('is 413 map_too_large, which says what can be done', async () => {
      const small = await serveStore(store, { maxResponseBytes: 100 });
      const plain = await send(`${small.url}/v1/map`);
      expect(plain.status).toBe(413);
      expect(plain.headers['content-type']).toBe('application/problem+json');
      expect(JSON.parse(plain.body.toString())).toMatchObject({
        code: 'map_too_large',
        detail: expect.stringMatching(
          /^The response has \d+ bytes, and this deployment can carry 100; send Accept-Encoding: gzip, fetch it in parts with POST \/v1\/map\/sync, or narrow it with a filter\.$/,
        ),
      });
      const zipped = await send(`${small.url}/v1/map`, GZIP);
      expect(JSON.parse(zipped.body.toString()).detail).toMatch(
        /bytes of gzip, .*; fetch it in parts with POST \/v1\/map\/sync, or narrow it with a filter\.$/,
      );
      await small.close();
    });
  });
});

describe.each(engines)('a body that is damaged, on $name', (engine) => {
  let store: TestStore;
  let service: TestService;
  beforeEach(async () => {
    store = await freshStore(engine);
    service = await serveStore(store);
    for (const id of ['a', 'b', 'c']) await service.client.push(clusterSnapshot(id));
    await damage(store, 'b');
    return service.close;
  });

  it('leaves its own cluster out of the map, its clock and its etag, and is told in the log', async () => {
    const answer = await send(`${service.url}/v1/map`);
    expect(answer.status).toBe(200);
    expect(Object.keys(JSON.parse(answer.body.toString()).vectorClock)).toStrictEqual(['a', 'c']);
    expect(service.errors).toStrictEqual([
      'body unreadable: b',
      'body unreadable: b',
      'cluster left out of the map: b',
    ]);

    const again = await send(`${service.url}/v1/map`, { 'if-none-match': String(answer.headers.etag) });
    expect(again.status).toBe(304);
  });

  it('is omitted by sync, whose etag is that of the map without it', async () => {
    const map = await service.client.map();
    const answer = await service.client.sync({ clock: new Map([['a', 1n]]) });
    expect(answer.changed.map((each) => each.cluster?.clusterId)).toStrictEqual(['c']);
    expect(answer.etag).toBe(map.etag);
    const held = await service.client.sync({ clock: new Map([['b', 5n]]) });
    expect(held.omitted).toStrictEqual(['b']);
  });

  it('is back with the next push that brings other content', async () => {
    await service.client.push(clusterSnapshot('b', { counter: 2n, nodes: 2 }));
    const clock = (await service.client.map()) as { map: { vectorClock: Record<string, bigint> } };
    expect(clock.map.vectorClock).toStrictEqual({ a: 1n, b: 2n, c: 1n });
  });
});

/** Replaces a cluster's stored body by bytes of the same length that are not it. */
async function damage(store: TestStore, clusterId: string): Promise<void> {
  const head = await store.heads.read(clusterId);
  if (head === undefined) throw new Error(`there is no cluster ${clusterId}`);
  await store.client.send(
    new UpdateItemCommand({
      TableName: store.tables.contents,
      Key: { bodyId: { B: contentKey(head.body) }, part: { N: '0' } },
      UpdateExpression: 'SET #data = :data',
      ExpressionAttributeNames: { '#data': 'data' },
      ExpressionAttributeValues: { ':data': { B: Buffer.alloc(head.body.storedBytes, 7) } },
    }),
  );
}
