/** What a scheduler reads. */
import type { App } from '../../http/app-env.ts';
import { MAX_WAIT_SECONDS } from '../../http/limits.ts';
import { ChangeSignal } from '../../http/wait.ts';
import { WaitLimiter } from '../../http/wait-limiter.ts';
import { ContentCache } from '../../reading/content-cache.ts';
import { FilterFactsReader } from '../../reading/filter-facts.ts';
import { MapReader } from '../../reading/map-reader.ts';
import { clusterRoutes } from './cluster-routes.ts';
import type { MapDeps } from './deps.ts';
import { clockRoute, mapRoute } from './map-route.ts';
import { metricsRoute } from './metrics-route.ts';
import { ResponseCache } from './response-cache.ts';
import { syncRoute } from './sync-route.ts';

/** Of the memory, for finished responses: a few forms of one map. Bodies serve every response, these only equal ones. */
const RESPONSES_SHARE = 0.2;

export function mapRoutes(app: App, deps: MapDeps): void {
  const { store, telemetry, cacheBytes, maxResponseBytes, changes = new ChangeSignal() } = deps;
  const responses = new ResponseCache(cacheBytes * RESPONSES_SHARE);
  const map = new MapReader(store, new ContentCache(cacheBytes * (1 - RESPONSES_SHARE)), telemetry);
  const waits = new WaitLimiter();
  const facts = new FilterFactsReader(map);
  const common = { map, facts, responses, changes, waits, maxResponseBytes };
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
  clusterRoutes(app, { map, facts }, deps);
  metricsRoute(app, { map, facts }, maxResponseBytes);
}
