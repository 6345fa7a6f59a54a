/** Ids of claims: UUIDs of version 7, of which Node 20 makes none. */
import { randomBytes } from 'node:crypto';

/** A new id. @param atMs milliseconds since the epoch; the service takes ids of the last two minutes */
export function newClaimId(atMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(atMs, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
