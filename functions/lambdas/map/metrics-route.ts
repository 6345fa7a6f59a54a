/** GET /metrics: from the heads alone, as a poll of the map costs, unless a filter looks at what a head left out. */
import { narrow } from '../../core/map/filter.ts';
import type { App } from '../../http/app-env.ts';
import { sendExposition } from '../../http/send-exposition.ts';
import type { FilterFactsReader } from '../../reading/filter-facts.ts';
import type { MapReader } from '../../reading/map-reader.ts';
import { clusterMetrics } from './cluster-metrics.ts';
import { filterOf } from './map-request.ts';

export function metricsRoute(
  app: App,
  { map, facts }: { readonly map: MapReader; readonly facts: FilterFactsReader },
  maxResponseBytes: number | undefined,
): void {
  app.get('/metrics', async (c) => {
    const filter = filterOf(c);
    const all = await map.allHeads();
    const heads = narrow(all, filter, await facts.read(all, filter));
    return sendExposition(c, clusterMetrics(heads), maxResponseBytes);
  });
}
