/**
 * Writes down what was only derived: ends become tombstones, chains that were seen stay seen, goals
 * are lowered by what ended claims lacked. It changes no response: a ledger and its compaction
 * evaluate alike.
 */
import { clone, create, toBinary } from '@bufbuild/protobuf';
import { ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import { type Hold, HoldSchema, type Ledger, LedgerSchema } from '../../gen/resourcemap/v1/ledger_pb.ts';
import { claimIdOf } from './claim-id.ts';
import type { End, EvaluatedHold, Evaluation } from './evaluate.ts';
import { isLive } from './evaluate.ts';
import { MAX_TOMBSTONE_BYTES, TOMBSTONE_MS } from './limits.ts';

/** Bytes of a reason in a tombstone. */
const MAX_REASON_CHARS = 120;

/** The ledger with everything that was derived of it. Holds keep fields that this version does not know. */
export function compact(ledger: Ledger, evaluation: Evaluation, nowMs: number): Ledger {
  const derived = new Map(evaluation.claims.map((claim) => [claim.hold.fence, claim]));
  const holds = ledger.holds.map((hold) => {
    const claim = isLive(hold) ? derived.get(hold.fence) : undefined;
    return claim === undefined ? hold : recorded(claim, nowMs);
  });
  return trimmed({ ...ledger, holds }, nowMs);
}

/** Whether writing the compaction would say anything new of a claim; tombstones that are due wait for another write. */
export function isNews(ledger: Ledger, compacted: Ledger): boolean {
  const bytes = (holds: readonly Hold[]): Buffer =>
    Buffer.from(toBinary(LedgerSchema, create(LedgerSchema, { holds: [...holds] })));
  const kept = new Set(compacted.holds.map(({ fence, id }) => key(fence, id)));
  return !bytes(ledger.holds.filter(({ fence, id }) => kept.has(key(fence, id)))).equals(
    bytes(compacted.holds),
  );
}

function key(fence: bigint, id: Uint8Array): string {
  return `${fence}:${Buffer.from(id).toString('hex')}`;
}

function recorded(claim: EvaluatedHold, nowMs: number): Hold {
  if (claim.end !== undefined) return tombstone(claim.hold, claim.end, claim.fulfilled, nowMs);
  const hold = clone(HoldSchema, claim.hold);
  for (const [index, rank] of hold.ranks.entries()) {
    rank.fulfilled = claim.counts[index]?.fulfilled ?? rank.fulfilled;
  }
  if (claim.backed === false) hold.unbackedSinceMs ||= nowMs;
  if (claim.backed === true) hold.unbackedSinceMs = 0;
  return hold;
}

/** What is left of a claim that ended: enough to keep it from coming back, and to say how it ended. */
export function tombstone(hold: Hold, { state, reason }: End, fulfilled: number, nowMs: number): Hold {
  const { id, fence, replacedBy } = hold;
  return create(HoldSchema, {
    id,
    fence,
    state,
    reason: reason.slice(0, MAX_REASON_CHARS),
    replacedBy,
    endedAtMs: nowMs,
    fulfilledChains: fulfilled,
  });
}

/** The tombstone of a claim that never was: its acceptance may still be on its way, and must not come to life. */
export function emptyTombstone(id: Uint8Array, fence: bigint, reason: string, nowMs: number): Hold {
  return tombstone(create(HoldSchema, { id, fence }), { state: ClaimState.RELEASED, reason }, 0, nowMs);
}

/** Drops tombstones that no request can outlive, and the oldest beyond their bytes, up to which ids are then taken for ended. */
export function trimmed(ledger: Ledger, nowMs: number): Ledger {
  const due = (hold: Hold): boolean =>
    nowMs >= Math.max(hold.endedAtMs, claimIdOf(hold.id).madeAtMs) + TOMBSTONE_MS;
  const kept = ledger.holds.filter((hold) => isLive(hold) || !due(hold));
  const tombstones = kept.filter((hold) => !isLive(hold)).sort((a, b) => a.endedAtMs - b.endedAtMs);
  let bytes = tombstones.reduce((sum, hold) => sum + holdBytes(hold), 0);
  let { endedFloorMs } = ledger;
  const dropped = new Set<Hold>();
  for (const hold of tombstones) {
    if (bytes <= MAX_TOMBSTONE_BYTES) break;
    bytes -= holdBytes(hold);
    dropped.add(hold);
    endedFloorMs = Math.max(endedFloorMs, claimIdOf(hold.id).madeAtMs);
  }
  return { ...ledger, holds: kept.filter((hold) => !dropped.has(hold)), endedFloorMs };
}

/** Bytes of a claim in its ledger, with the tag and length before it. */
export function holdBytes(hold: Hold): number {
  return toBinary(HoldSchema, hold).length + 4;
}
