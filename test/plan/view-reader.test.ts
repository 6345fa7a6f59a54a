import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ViewCache } from '../../functions/capacity/view-cache.ts';
import { ViewReader } from '../../functions/plan/view-reader.ts';
import type { Store } from '../../functions/store/commit.ts';
import { cluster } from '../capacity/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { serveStore, type TestService } from './service.ts';

const silent = {
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
};

/** The store, and how many bodies were read of it. */
function counted(store: Store): { readonly store: Store; readonly read: () => number } {
  let bodies = 0;
  return {
    store: {
      ...store,
      bodies: Object.assign(Object.create(store.bodies) as Store['bodies'], {
        read: (refs: Parameters<Store['bodies']['read']>[0]) => {
          bodies += refs.length;
          return store.bodies.read(refs);
        },
      }),
    },
    read: () => bodies,
  };
}

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

  const push = (id: string, counter: bigint, idle: number) => {
    const snapshot = cluster({ id, types: [{ idle }] });
    snapshot.logicalCounter = counter;
    return service.client.push(snapshot);
  };

  test('only what changed is read and derived anew, and a refresh is no change', async () => {
    for (const id of ['a', 'b', 'c']) await push(id, 1n, 1);
    const { store: watched, read } = counted(store);
    const reader = new ViewReader(watched, silent);
    const look = async () =>
      (await reader.views(() => true)).map(({ view, counter }) => [view.clusterId, counter]);
    expect(await look()).toEqual([
      ['a', 1n],
      ['b', 1n],
      ['c', 1n],
    ]);
    expect(read()).toBe(3);
    await push('b', 2n, 1);
    expect(await look()).toEqual([
      ['a', 1n],
      ['b', 2n],
      ['c', 1n],
    ]);
    expect(read()).toBe(3);
    await push('c', 2n, 5);
    expect(await look()).toEqual([
      ['a', 1n],
      ['b', 2n],
      ['c', 2n],
    ]);
    expect(read()).toBe(4);
  });

  test('a cache that is too small costs reading again, and nothing else', async () => {
    const { store: watched, read } = counted(store);
    const reader = new ViewReader(watched, silent, new ViewCache(2));
    const first = await reader.views(() => true);
    expect(first).toHaveLength(3);
    expect(await reader.views(() => true)).toEqual(first);
    expect(read()).toBeGreaterThan(3);
  });
});
