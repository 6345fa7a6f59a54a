/** GET /metrics: from the heads alone, as a poll of the map costs. */
import { narrow } from '../../core/map/filter.ts';
import type { App } from '../../http/app-env.ts';
import { sendExposition } from '../../http/send-exposition.ts';
import { filterFacts, type MapReader } from '../../reading/map-reader.ts';
import { clusterMetrics } from './cluster-metrics.ts';
import { filterOf } from './map-request.ts';

export function metricsRoute(app: App, map: MapReader, maxResponseBytes: number | undefined): void {
  app.get('/metrics', async (c) => {
    const heads = narrow(await map.allHeads(), filterOf(c), filterFacts);
    return sendExposition(c, clusterMetrics(heads), maxResponseBytes);
  });
}
