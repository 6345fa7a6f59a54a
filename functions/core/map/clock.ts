/**
 * The digest of a clock: the map's ETag, and the check that a replica is the map.
 *
 * A cluster's counter names one push, and so its content and time, so equal clocks under equal
 * filters are equal maps, plain or in gzip: hence a weak ETag. The format is part of it: a cache
 * that holds one format and is asked for the other asks us whether its etag is still current, and
 * would hand out the wrong one if we said so.
 */
import { createHash } from 'node:crypto';
import type { WireFormat } from '../snapshot/decode.ts';
import { clockDigestInput, clockEtagOf } from './clock-digest.ts';
import type { ClusterVersion } from './entry.ts';
import { isWholeMap, type MapFilter } from './filter.ts';

/** Of the whole map, by the array of its clusters: it is asked for at every request, and changes with the array. */
const wholeMapEtags = new WeakMap<readonly object[], Map<WireFormat, string>>();

/**
 * @param versions the included clusters that match the filter, in any order, each once; not changed later
 * @param filter in any order
 * @returns the entity tag, as it is in the ETag header: `W/"<43 characters of base64url>.pb"`
 *   or `.json`
 */
export function clockEtag(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
  format: WireFormat,
): string {
  if (!isWholeMap(filter)) return etagOf(versions, filter, format);
  const known = wholeMapEtags.get(versions) ?? new Map<WireFormat, string>();
  wholeMapEtags.set(versions, known);
  const etag = known.get(format) ?? etagOf(versions, filter, format);
  known.set(format, etag);
  return etag;
}

function etagOf(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
  format: WireFormat,
): string {
  const digest = createHash('sha256').update(clockDigestInput(versions, filter)).digest('base64url');
  return clockEtagOf(digest, format);
}
