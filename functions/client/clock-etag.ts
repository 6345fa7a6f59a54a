/** The digest of a clock by Web Crypto, which Node, Deno, Bun and browsers have. */
import { clockDigestInput, clockEtagOf } from '../core/map/clock-digest.ts';
import type { ClusterVersion } from '../core/map/entry.ts';
import type { MapFilter } from '../core/map/filter.ts';
import type { WireFormat } from '../core/snapshot/decode.ts';

/**
 * The entity tag of the map that has these clusters: what the service has sent as ETag of the map and as `etag` of
 * sync if both have the same.
 *
 * @param versions the clusters that match the filter, in any order, each once
 * @param filter of the request; `WHOLE_MAP` for none
 * @param format of the response; this client's own requests are `protobuf`
 * @throws Error in a browser whose page is not in a secure context (https or localhost), which has no digests
 *
 * @example
 * ```ts
 * import { clockEtag, WHOLE_MAP } from '@resource-map/client';
 *
 * const etag = await clockEtag([{ clusterId: 'a', counter: 7n }], WHOLE_MAP, 'protobuf');
 * ```
 */
export async function clockEtag(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
  format: WireFormat,
): Promise<string> {
  const { subtle } = globalThis.crypto;
  if (subtle === undefined)
    throw new Error(
      'Web Crypto has no digests here: a browser has them in a secure context only. Open the page by https or on localhost.',
    );
  const digest = await subtle.digest('SHA-256', clockDigestInput(versions, filter));
  return clockEtagOf(base64url(new Uint8Array(digest)), format);
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
