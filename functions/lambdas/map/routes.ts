/** What a scheduler reads. */
import type { App } from '../../http/app.ts';
import { ChangeSignal } from '../../http/wait.ts';
import { WaitLimiter } from '../../http/wait-limiter.ts';
import { ContentCache } from '../../reading/content-cache.ts';
import { MapReader } from '../../reading/map-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import { clusterRoutes } from './cluster-routes.ts';
import { mapRoute } from './map-route.ts';
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
}

/** Of the memory, for finished answers: a few forms of one map. Bodies serve every answer, these only equal ones. */
const RESPONSES_SHARE = 0.2;

export function mapRoutes(app: App, deps: MapDeps): void {
  const { store, telemetry, cacheBytes, maxResponseBytes, changes = new ChangeSignal() } = deps;
  const responses = new ResponseCache(cacheBytes * RESPONSES_SHARE);
  const map = new MapReader(store, new ContentCache(cacheBytes * (1 - RESPONSES_SHARE)), telemetry);
  const waits = new WaitLimiter();
  mapRoute(app, { map, responses, changes, waits, maxResponseBytes });
  syncRoute(app, { map, changes, waits, maxResponseBytes });
  clusterRoutes(app, map, deps);
  metricsRoute(app, map, maxResponseBytes);
}
