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
export function watched(store: Store): { readonly store: Store; readonly bodiesRead: () => number } {
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
    bodiesRead: () => bodies,
  };
}
