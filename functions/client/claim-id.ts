/** Ids of claims: UUIDs of version 7, of which Node 20 and browsers make none. */

const TIME_BYTES = 6;

/**
 * A new id of a claim. Write it down before the claim is put if the process may crash in between.
 *
 * @param atMs milliseconds since the epoch; the service accepts ids of the last two minutes
 *
 * @example
 * ```ts
 * import { newClaimId } from '@resource-map/client';
 *
 * const id = newClaimId();
 * ```
 */
export function newClaimId(atMs = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let at = 0; at < TIME_BYTES; at++) bytes[at] = Math.floor(atMs / 256 ** (TIME_BYTES - 1 - at)) % 256;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
