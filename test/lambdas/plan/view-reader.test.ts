import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ViewReader } from '../../../functions/lambdas/plan/view-reader.ts';
import { ViewCache } from '../../../functions/reading/view-cache.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { pushIdle, watched } from './watched-store.ts';

const silent = {
  warn: () => undefined,
  error: () => undefined,
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

  test('only what changed is read and derived again, and a refresh is no change', async () => {
    for (const id of ['a', 'b', 'c']) await push(id, 1n, 1);
    const { store: seen, contentsRead } = watched(store);
    const reader = new ViewReader(seen, silent);
    const look = async () =>
      (await reader.views(() => true)).map(({ view, counter }) => [view.clusterId, counter]);
    expect(await look()).toEqual([
      ['a', 1n],
      ['b', 1n],
      ['c', 1n],
    ]);
    expect(contentsRead()).toBe(3);
    await push('b', 2n, 1);
    expect(await look()).toEqual([
      ['a', 1n],
      ['b', 2n],
      ['c', 1n],
    ]);
    expect(contentsRead()).toBe(3);
    await push('c', 2n, 5);
    expect(await look()).toEqual([
      ['a', 1n],
      ['b', 2n],
      ['c', 2n],
    ]);
    expect(contentsRead()).toBe(4);
  });

  test('a cache that is too small costs reading again, and nothing else', async () => {
    const { store: seen, contentsRead } = watched(store);
    const reader = new ViewReader(seen, silent, new ViewCache(2));
    const first = await reader.views(() => true);
    expect(first).toHaveLength(3);
    expect(await reader.views(() => true)).toEqual(first);
    expect(contentsRead()).toBeGreaterThan(3);
  });
});
