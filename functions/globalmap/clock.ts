/**
 * The digest of a clock: the map's ETag, and the check that a replica is the map.
 *
 * A cluster's counter names one push, and so its content and time, so equal clocks under equal
 * filters are equal maps, plain or in gzip: hence a weak ETag. The format is part of it: a cache
 * that holds one format and is asked for the other asks us whether its etag still stands, and
 * would hand out the wrong one if we said so.
 *
 * The digest is SHA-256 over: the line `resource-map clock 1`; for each filter field (cluster,
 * provider, region, site, accelerator model) the number of values, then the values; the number
 * of clusters, then for each its id and its counter. Ids and values are sorted by their UTF-8
 * bytes, each once, and written as length and bytes; numbers and lengths are 32 bits, counters
 * 64, big-endian. Nothing in it depends on this implementation, so any client can compute it.
 */
import { createHash, type Hash } from 'node:crypto';
import type { WireFormat } from '../snapshot/decode.ts';
import { type ClusterVersion, inIdOrder } from './entry.ts';
import { FILTER_FIELDS, type MapFilter, normalFilter } from './filter.ts';

const DOMAIN = 'resource-map clock 1\n';

const FORMAT_SUFFIX: Readonly<Record<WireFormat, string>> = { protobuf: 'pb', json: 'json' };

/**
 * @param versions the included clusters that match the filter, in any order, each once
 * @param filter in any order
 * @returns the entity tag, as it stands in the ETag header: `W/"<43 characters of base64url>.pb"`
 *   or `.json`
 */
export function clockEtag(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
  format: WireFormat,
): string {
  const hash = createHash('sha256').update(DOMAIN);
  const normal = normalFilter(filter);
  for (const field of FILTER_FIELDS) {
    const values = normal[field];
    hash.update(uint32(values.length));
    for (const value of values) lengthPrefixed(hash, value);
  }
  hash.update(uint32(versions.length));
  for (const { clusterId, counter } of inIdOrder(versions)) {
    lengthPrefixed(hash, clusterId);
    hash.update(uint64(counter));
  }
  return `W/"${hash.digest('base64url')}.${FORMAT_SUFFIX[format]}"`;
}

function lengthPrefixed(hash: Hash, text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  hash.update(uint32(bytes.length)).update(bytes);
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function uint64(value: bigint): Uint8Array {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
