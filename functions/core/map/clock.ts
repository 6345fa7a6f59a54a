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
import { createHash } from 'node:crypto';
import type { WireFormat } from '../snapshot/decode.ts';
import { type ClusterVersion, inIdOrder } from './entry.ts';
import { FILTER_FIELDS, isWholeMap, type MapFilter, normalFilter } from './filter.ts';

const DOMAIN = 'resource-map clock 1\n';

const FORMAT_SUFFIX: Readonly<Record<WireFormat, string>> = { protobuf: 'pb', json: 'json' };

/** Of the whole map, by the array of its clusters: it is asked for at every request, and changes with the array. */
const wholeMapEtags = new WeakMap<readonly object[], Map<WireFormat, string>>();

/**
 * @param versions the included clusters that match the filter, in any order, each once; not changed later
 * @param filter in any order
 * @returns the entity tag, as it stands in the ETag header: `W/"<43 characters of base64url>.pb"`
 *   or `.json`
 */
export function clockEtag(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
  format: WireFormat,
): string {
  if (!isWholeMap(filter)) return digestOf(versions, filter, format);
  const known = wholeMapEtags.get(versions) ?? new Map<WireFormat, string>();
  wholeMapEtags.set(versions, known);
  const etag = known.get(format) ?? digestOf(versions, filter, format);
  known.set(format, etag);
  return etag;
}

function digestOf(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
  format: WireFormat,
): string {
  const normal = normalFilter(filter);
  const sorted = inIdOrder(versions);
  const input = new DigestInput();
  for (const field of FILTER_FIELDS) {
    const values = normal[field];
    input.uint32(values.length);
    for (const value of values) input.lengthPrefixed(value);
  }
  input.uint32(sorted.length);
  for (const { clusterId, counter } of sorted) {
    input.lengthPrefixed(clusterId);
    input.uint64(counter);
  }
  const digest = createHash('sha256').update(DOMAIN).update(input.bytes()).digest('base64url');
  return `W/"${digest}.${FORMAT_SUFFIX[format]}"`;
}

/** Bytes to be digested, gathered first: one call of the hash for all of them, not four a cluster. */
class DigestInput {
  #bytes = Buffer.allocUnsafe(4_096);
  #length = 0;

  uint32(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32BE(value, this.#length);
  }

  uint64(value: bigint): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeBigUInt64BE(value, this.#length);
  }

  lengthPrefixed(text: string): void {
    // A UTF-16 unit takes three bytes of UTF-8 at most.
    this.#reserve(4 + 3 * text.length);
    const written = this.#bytes.write(text, this.#length + 4, 'utf8');
    this.#bytes.writeUInt32BE(written, this.#length);
    this.#length += 4 + written;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
