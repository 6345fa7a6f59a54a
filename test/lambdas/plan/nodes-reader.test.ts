import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NodesReader } from '../../../functions/lambdas/plan/nodes-reader.ts';
import { contentKey } from '../../../functions/storage/contents.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { pushIdle, watched } from './watched-store.ts';

const errors: string[] = [];
const telemetry = {
  warn: () => undefined,
  error: (message: string) => void errors.push(message),
  count: () => undefined,
  gauge: () => undefined,
};

describe.each(engines.slice(0, 1))('on $name', (engine) => {
  let store: TestStore;
  let service: TestService;
  beforeAll(async () => {
    store = await freshStore(engine);
    service = await serveStore(store);
  });
  afterAll(async () => {
    await service.close();
    store.client.destroy();
  });

  const push = (id: string, counter: bigint, idle: number) => pushIdle(service, id, counter, idle);
  const mapEtag = async () => (await fetch(`${service.url}/v1/map`)).headers.get('etag');

  test('a refresh is another map with the same nodes, and nothing is derived of it', async () => {
    const { store: seen, contentsRead } = watched(store);
    const reader = new NodesReader(seen, telemetry);
    await push('a', 1n, 1);
    await push('b', 1n, 2);
    const first = await reader.read('json');
    expect([first.clusters.length, first.etag, contentsRead()]).toEqual([2, await mapEtag(), 2]);
    await push('a', 2n, 1);
    const refreshed = await reader.read('json');
    expect(refreshed.clusters).toEqual(first.clusters);
    expect(refreshed.etag).not.toBe(first.etag);
    expect([refreshed.etag, contentsRead()]).toEqual([await mapEtag(), 2]);
    await push('b', 2n, 3);
    expect((await reader.read('json')).clusters[1]?.targets[0]?.nodes).toBe(3);
    expect(contentsRead()).toBe(3);
  });

  test('a cluster that cannot be read is left out, of the etag too, as the map does it', async () => {
    await push('gone', 1n, 7);
    const head = await store.heads.read('gone');
    if (head === undefined) throw new Error('It was pushed.');
    await store.client.send(
      new DeleteItemCommand({
        TableName: store.tables.contents,
        Key: { bodyId: { B: contentKey(head.body) }, part: { N: '0' } },
      }),
    );
    const { clusters, etag } = await new NodesReader(store, telemetry).read('json');
    expect([clusters.length, etag]).toEqual([2, await mapEtag()]);
    expect(errors).toContain('cluster left out of the map');
  });
});
