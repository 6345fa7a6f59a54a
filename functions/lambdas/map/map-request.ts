/** What a reader of the map asks for, and the parts of the responses that all of them share. */
import type { Context } from 'hono';
import type { MapFilter } from '../../core/map/filter.ts';
import { acceptsGzip, type ResponseFormat, responseFormat } from '../../http/media-type.ts';
import { preferredWaitSeconds } from '../../http/prefer.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import { REVALIDATE } from '../../http/send-pieces.ts';
import type { ChangeSignal, WaitOptions } from '../../http/wait.ts';
import type { ContentFormat } from '../../reading/map-reader.ts';

const FILTER_PARAMETERS = ['cluster', 'provider', 'region', 'site', 'accelerator_model'] as const;

/**
 * The filter of a URL.
 *
 * @param more parameters that the route has beside those of the filter
 * @throws ResourceMapError `invalid_query` for any other parameter
 */
export function filterOf(c: Context, more: readonly string[] = []): MapFilter {
  refuseUnknownParameters(c, [...FILTER_PARAMETERS, ...more]);
  const values = (name: (typeof FILTER_PARAMETERS)[number]): readonly string[] => c.req.queries(name) ?? [];
  return {
    cluster: values('cluster'),
    provider: values('provider'),
    region: values('region'),
    site: values('site'),
    acceleratorModel: values('accelerator_model'),
  };
}

/**
 * Format and encoding of the response.
 *
 * @throws ResourceMapError `not_acceptable`
 */
export function wantedForm(c: Context): ContentFormat & ResponseFormat {
  return { ...responseFormat(c), zipped: acceptsGzip(c) };
}

/** How long the client lets us wait, and the header that says how long we took it to be. */
export function waitOptionsOf(
  c: Context,
  changes: ChangeSignal,
  longestSeconds: number,
): { readonly waitOptions: WaitOptions; readonly headers: Readonly<Record<string, string>> } {
  const seconds = preferredWaitSeconds(c, longestSeconds);
  return {
    waitOptions: { changes, waitMs: seconds * 1_000, signal: c.req.raw.signal },
    headers: seconds === 0 ? {} : { 'preference-applied': `wait=${seconds}` },
  };
}

/** 304, with what RFC 9110 wants of it. */
export function notModified(
  c: Context,
  etag: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return c.body(null, 304, { ...REVALIDATE, ...headers, etag });
}
