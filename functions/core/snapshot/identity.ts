/**
 * The identity that a head carries. Only ids are bounded by the rules, so what is longer
 * is cut here: a head must fit in an item, and should in one write unit. The body has
 * the whole text.
 */
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';

/** Who the cluster says it is, beside its id. */
export interface Identity {
  readonly displayName: string;
  readonly provider: string;
  readonly region: string;
  readonly site: string;
}

/** Longer than any provider's, region's or site's name that filters could be about. */
export const MAX_IDENTITY_BYTES = 253;
/** For people to read. */
export const MAX_DISPLAY_NAME_BYTES = 128;

export function identityOf({ cluster }: Pick<ClusterResourceMap, 'cluster'>): Identity {
  return {
    displayName: cutUtf8(cluster?.displayName ?? '', MAX_DISPLAY_NAME_BYTES),
    provider: cutUtf8(cluster?.provider ?? '', MAX_IDENTITY_BYTES),
    region: cutUtf8(cluster?.region ?? '', MAX_IDENTITY_BYTES),
    site: cutUtf8(cluster?.site ?? '', MAX_IDENTITY_BYTES),
  };
}

/** Bytes of the longest character. */
const MAX_CHARACTER_BYTES = 4;

/** Whether a provider, region or site may have been cut for the head. */
export function isCutIdentity(text: string): boolean {
  return Buffer.byteLength(text, 'utf8') > MAX_IDENTITY_BYTES - MAX_CHARACTER_BYTES;
}

/** The longest prefix of whole characters within `maxBytes` of UTF-8. */
export function cutUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString('utf8');
}
