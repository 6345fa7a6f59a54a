/** Makes ids of claims: UUIDs of version 7, of which Node 20 makes none. */
import { randomBytes } from 'node:crypto';
import { type ClaimId, claimIdOf } from './claim-id.ts';

/** @param atMs milliseconds since the epoch; the service takes ids of the last two minutes */
export function newClaimId(atMs: number): ClaimId {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.floor(atMs), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return claimIdOf(bytes);
}
