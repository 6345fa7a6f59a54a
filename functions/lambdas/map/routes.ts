/** What a scheduler reads. */
import type { App } from '../../http/app.ts';
import { MAX_WAIT_SECONDS } from '../../http/limits.ts';
import { ChangeSignal } from '../../http/wait.ts';
import { WaitLimiter } from '../../http/wait-limiter.ts';
import { ContentCache } from '../../reading/content-cache.ts';
import { MapReader } from '../../reading/map-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import { clusterRoutes } from './cluster-routes.ts';
import { clockRoute, mapRoute } from './map-route.ts';
import { metricsRoute } from './metrics-route.ts';
import { ResponseCache } from './response-cache.ts';
import { syncRoute } from './sync-route.ts';

export interface MapDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Memory for bodies and finished answers. */
  readonly cacheBytes: number;
  /** The largest body of an answer that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
  /** Notified where this process makes changes; others' are found by looking. */
  readonly changes?: ChangeSignal;
  /**
   * Which routes: by default all, and `Prefer: wait` is granted on each that can wait. Deployed, one
   * function has the `plain` ones, where it is ignored, and another the `waits`.
   */
  readonly serves?: 'all' | 'plain' | 'waits';
  readonly longestWaitSeconds?: number;
}

/** Of the memory, for finished answers: a few forms of one map. Bodies serve every answer, these only equal ones. */
const RESPONSES_SHARE = 0.2;

export function mapRoutes(app: App, deps: MapDeps): void {
  const { store, telemetry, cacheBytes, maxResponseBytes, changes = new ChangeSignal() } = deps;
  const responses = new ResponseCache(cacheBytes * RESPONSES_SHARE);
  const map = new MapReader(store, new ContentCache(cacheBytes * (1 - RESPONSES_SHARE)), telemetry);
  const waits = new WaitLimiter();
  const common = { map, responses, changes, waits, maxResponseBytes };
  const { serves = 'all', longestWaitSeconds = MAX_WAIT_SECONDS } = deps;
  if (serves !== 'plain') {
    mapRoute(app, { path: '/v1/wait/map', longestWaitSeconds }, common);
    syncRoute(app, { path: '/v1/wait/map/sync', longestWaitSeconds }, common);
  }
  if (serves === 'waits') return;
  const plainWaitSeconds = serves === 'plain' ? 0 : longestWaitSeconds;
  mapRoute(app, { path: '/v1/map', longestWaitSeconds: plainWaitSeconds }, common);
  clockRoute(app, common);
  syncRoute(app, { path: '/v1/map/sync', longestWaitSeconds: plainWaitSeconds }, common);
  clusterRoutes(app, map, deps);
  metricsRoute(app, map, maxResponseBytes);
}
