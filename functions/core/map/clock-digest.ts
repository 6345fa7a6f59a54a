/**
 * What the digest of a clock is made over, and how it is written: all but the hash itself, which a browser has
 * under another name than Node ({@link clockEtag} in `clock.ts` and in `client/clock-etag.ts`).
 *
 * SHA-256 over: the line `resource-map clock 1`; for each filter field (cluster,
 * provider, region, site, accelerator model) the number of values, then the values; the number
 * of clusters, then for each its id and its counter. Ids and values are sorted by their UTF-8
 * bytes, each once, and written as length and bytes; numbers and lengths are 32 bits, counters
 * 64, big-endian. Nothing in it depends on this implementation, so any client can compute it.
 */
import type { WireFormat } from '../snapshot/decode.ts';
import { type ClusterVersion, inIdOrder } from './entry.ts';
import { FILTER_FIELDS, type MapFilter, normalFilter } from './filter.ts';

const DOMAIN = 'resource-map clock 1\n';

const FORMAT_SUFFIX: Readonly<Record<WireFormat, string>> = { protobuf: 'pb', json: 'json' };

/**
 * The bytes that are hashed.
 * @param versions the included clusters that match the filter, in any order, each once
 * @param filter in any order
 */
export function clockDigestInput(
  versions: readonly Pick<ClusterVersion, 'clusterId' | 'counter'>[],
  filter: MapFilter,
): Uint8Array<ArrayBuffer> {
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
  return input.bytes();
}

/** The entity tag, as the ETag header has it. @param digest base64url without padding */
export function clockEtagOf(digest: string, format: WireFormat): string {
  return `W/"${digest}.${FORMAT_SUFFIX[format]}"`;
}

const encoder = new TextEncoder();

/** Bytes to be digested, gathered first: one call of the hash for all of them, not four a cluster. */
class DigestInput {
  #bytes = new Uint8Array(4_096);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  constructor() {
    this.#length = encoder.encodeInto(DOMAIN, this.#bytes).written;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value);
    this.#length += 4;
  }

  uint64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#length, value);
    this.#length += 8;
  }

  lengthPrefixed(text: string): void {
    // A UTF-16 unit takes three bytes of UTF-8 at most.
    this.#reserve(4 + 3 * text.length);
    const { written } = encoder.encodeInto(text, this.#bytes.subarray(this.#length + 4));
    this.#view.setUint32(this.#length, written);
    this.#length += 4 + written;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + bytes));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}
