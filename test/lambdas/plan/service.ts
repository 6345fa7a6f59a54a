/** Capacity and fit on a real store behind a real HTTP server, with pushes to fill it. */
import { type CapacityDeps, capacityRoutes } from '../../../functions/lambdas/plan/routes-capacity.ts';
import type { Store } from '../../../functions/storage/commit.ts';
import { serveStore as serveMap, type TestService } from '../map/service.ts';

export type { TestService } from '../map/service.ts';

/** Serves the store; the client does not retry, so that nothing is hidden. */
export function serveStore(store: Store, options: Partial<CapacityDeps> = {}): Promise<TestService> {
  return serveMap(store, {}, (app, deps) => capacityRoutes(app, { ...deps, ...options }));
}
