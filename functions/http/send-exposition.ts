/** Sends metrics in the format that the scraper prefers. */
import type { Context } from 'hono';
import { parseAccept } from 'hono/utils/accept';
import { Fragment } from '../core/map/fragment.ts';
import {
  CONTENT_TYPES,
  type ExpositionFormat,
  exposition,
  type MetricFamily,
} from '../core/metrics/exposition.ts';
import { acceptsGzip } from './media-type.ts';
import { encodePieces, sendEncoded } from './send-pieces.ts';

/**
 * @param maxBytes the largest body of a response that the front can carry; absent where it has no bound
 * @throws ResourceMapError `map_too_large`
 */
export function sendExposition(
  c: Context,
  families: Iterable<MetricFamily>,
  maxBytes: number | undefined,
): Response {
  const format = formatOf(c);
  const bytes = Buffer.from(exposition(families, format));
  const zipped = acceptsGzip(c);
  return sendEncoded(c, encodePieces([zipped ? Fragment.compress(bytes) : bytes], zipped), {
    zipped,
    headers: { 'content-type': CONTENT_TYPES[format] },
    maxBytes,
    remedy: zipped
      ? 'ask for fewer clusters with cluster, provider, region or site'
      : 'send Accept-Encoding: gzip',
  });
}

/** Prometheus sends both, OpenMetrics first; a request that names neither gets what every scraper reads. */
function formatOf(c: Context): ExpositionFormat {
  const ranges = parseAccept(c.req.header('accept') ?? '');
  const quality = (type: string): number =>
    Math.max(0, ...ranges.filter((each) => each.type.toLowerCase() === type).map(({ q }) => q));
  const openMetrics = quality('application/openmetrics-text');
  return openMetrics > 0 && openMetrics >= quality('text/plain') ? 'openmetrics' : 'prometheus';
}
