/** Ids of claims: UUIDs of version 7, whose first 48 bits are the time at which they were made. */
import { ResourceMapError } from '../errors.ts';
import { quote } from '../quote.ts';
import { MAX_ID_AHEAD_MS, TOMBSTONE_MS } from './limits.ts';

/** An id as a URL and as a ledger have it. */
export interface ClaimId {
  /** Lower case, with hyphens. */
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Milliseconds since the epoch by the clock that made it. */
  readonly madeAtMs: number;
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** @throws ResourceMapError `invalid_claim` */
export function parseClaimId(text: string, what = 'The claim id'): ClaimId {
  const lower = text.toLowerCase();
  if (!UUID_V7.test(lower)) {
    throw new ResourceMapError(
      'invalid_claim',
      `${what} is ${quote(text)}, which is not a UUID of version 7; make a new one for each claim, ` +
        'such as 01976b2e-7c00-7abc-8def-0123456789ab.',
    );
  }
  return claimIdOf(Buffer.from(lower.replaceAll('-', ''), 'hex'));
}

/** The id that a ledger has as these 16 bytes. */
export function claimIdOf(bytes: Uint8Array): ClaimId {
  const hex = Buffer.from(bytes).toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return { text: parts.join('-'), bytes, madeAtMs: Number.parseInt(hex.slice(0, 12), 16) };
}

/**
 * Refuses an id that the ledger does not know and that it may have known: its tombstone lives as long
 * as an id is young, so what is older may be the replay of a claim that ended.
 *
 * @param floorMs ids made up to then may have ended, whatever their age
 * @throws ResourceMapError `claim_ended`, `invalid_claim` for one from the future
 */
export function refuseStaleId({ text, madeAtMs }: ClaimId, floorMs: number, nowMs: number): void {
  if (madeAtMs > nowMs + MAX_ID_AHEAD_MS) {
    throw new ResourceMapError(
      'invalid_claim',
      `The claim id ${text} was made at ${isoTime(madeAtMs)}, which is more than ${MAX_ID_AHEAD_MS / 1_000} s ahead of ` +
        `the service's clock, ${isoTime(nowMs)}; set the clock of the machine that makes the ids.`,
    );
  }
  if (madeAtMs > nowMs - TOMBSTONE_MS && madeAtMs > floorMs) return;
  throw new ResourceMapError(
    'claim_ended',
    `No claim ${text} is known, and its id was made at ${isoTime(madeAtMs)}, so it may be one that ended ` +
      `(the service's clock says ${isoTime(nowMs)}); make a new id.`,
  );
}

function isoTime(ms: number): string {
  return ms < 8.64e15 ? new Date(ms).toISOString() : `${ms} ms`;
}
