/** What readers of the store are tested with: pushes that fill it, and a count of the bodies they read. */
import type { Store } from '../../../functions/storage/commit.ts';
import { cluster } from '../../core/capacity/builders.ts';
import type { TestService } from './service.ts';

/** Pushes a cluster of one type that has so many idle nodes. */
export function pushIdle(service: TestService, id: string, counter: bigint, idle: number) {
  const snapshot = cluster({ id, types: [{ idle }] });
  snapshot.logicalCounter = counter;
  return service.client.push(snapshot);
}

/** The store, and how many bodies were read of it. */
export function watched(store: Store): { readonly store: Store; readonly contentsRead: () => number } {
  let contents = 0;
  return {
    store: {
      ...store,
      contents: Object.assign(Object.create(store.contents) as Store['contents'], {
        read: (refs: Parameters<Store['contents']['read']>[0]) => {
          contents += refs.length;
          return store.contents.read(refs);
        },
      }),
    },
    contentsRead: () => contents,
  };
}
