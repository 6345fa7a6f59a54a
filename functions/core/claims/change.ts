/** What an owner does with a claim that was accepted: confirm, renew, release. Pure; each gives the next ledger. */
import { ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import type { Hold, Ledger } from '../../gen/resourcemap/v1/ledger_pb.ts';
import { ResourceMapError } from '../errors.ts';
import { quote } from '../quote.ts';
import { type ClaimId, claimIdOf } from './claim-id.ts';
import { compact, emptyTombstone, trimmed } from './compact.ts';
import {
  type ClaimContent,
  type ClaimHead,
  type ClaimSettings,
  type End,
  type EvaluatedHold,
  type Evaluation,
  evaluate,
  isLive,
  podsByKey,
} from './evaluate.ts';
import { MAX_CONFIRMED_S, MAX_HELD_S } from './limits.ts';

/** A ledger and all that it is evaluated by. */
export interface ClaimSituation {
  readonly ledger: Ledger;
  /** Absent: the cluster was retired. */
  readonly head: ClaimHead | undefined;
  /** Absent: the cluster is out of the map, or its snapshot cannot be read. */
  readonly content: ClaimContent | undefined;
  readonly nowMs: number;
  readonly settings: ClaimSettings;
}

/** The ledger after a change, and what the claim is in it. */
export interface ClaimChanged {
  readonly ledger: Ledger;
  readonly claim: FoundClaim;
}

/** A claim of a ledger: live or evaluated as ended now, or a tombstone. */
export type FoundClaim =
  | { readonly kind: 'evaluated'; readonly claim: EvaluatedHold }
  | { readonly kind: 'tombstone'; readonly hold: Hold };

export function evaluateSituation({ ledger, head, content, nowMs, settings }: ClaimSituation): Evaluation {
  return evaluate(ledger.holds, head, content, nowMs, settings);
}

export function holdOf({ holds }: Ledger, id: ClaimId): Hold | undefined {
  return holds.find((hold) => claimIdOf(hold.id).text === id.text);
}

/** The claim as it is now. @throws ResourceMapError `claim_not_found` */
export function findClaim(ledger: Ledger, evaluation: Evaluation, id: ClaimId): FoundClaim {
  const hold = holdOf(ledger, id);
  if (hold === undefined) throw notFound(id);
  const claim = isLive(hold) ? evaluation.claims.find((one) => one.hold.fence === hold.fence) : undefined;
  return claim === undefined ? { kind: 'tombstone', hold } : { kind: 'evaluated', claim };
}

/** How a claim ended; absent: it is live. */
export function endOfClaim(
  found: FoundClaim,
): { readonly state: ClaimState; readonly reason: string } | undefined {
  return found.kind === 'tombstone' ? found.hold : found.claim.end;
}

/**
 * Confirms a claim for so long, judged on the newest snapshot: from now on work may be started on it. A
 * claim that was confirmed before lives on for so long.
 *
 * @throws ResourceMapError `claim_not_found`, `claim_of_another`, `claim_ended`, `claim_unbacked`,
 *   `claim_undecided`
 */
export function confirmClaim(
  situation: ClaimSituation,
  id: ClaimId,
  owner: string,
  ttlMs: number,
): ClaimChanged {
  const evaluation = evaluateSituation(situation);
  const claim = ownLive(situation.ledger, evaluation, id, owner);
  refuseUnbacked(claim, evaluation);
  return changed(situation, evaluation, claim, (hold) => ({
    ...hold,
    state: ClaimState.CONFIRMED,
    confirmedAtMs: hold.confirmedAtMs || situation.nowMs,
    expiresAtMs: prolonged(hold, situation.nowMs + ttlMs, MAX_CONFIRMED_S),
  }));
}

/**
 * Lets a claim live for so long from now on, at most until its state's limit after the acceptance. A time
 * that was promised is never shortened.
 *
 * @throws ResourceMapError `claim_not_found`, `claim_of_another`, `claim_ended`
 */
export function renewClaim(
  situation: ClaimSituation,
  id: ClaimId,
  owner: string,
  ttlMsOf: (state: ClaimState) => number,
): ClaimChanged {
  const evaluation = evaluateSituation(situation);
  const claim = ownLive(situation.ledger, evaluation, id, owner);
  const confirmed = claim.hold.state === ClaimState.CONFIRMED;
  const untilMs = situation.nowMs + ttlMsOf(claim.hold.state);
  return changed(situation, evaluation, claim, (hold) => ({
    ...hold,
    expiresAtMs: prolonged(hold, untilMs, confirmed ? MAX_CONFIRMED_S : MAX_HELD_S),
  }));
}

function prolonged({ acceptedAtMs, expiresAtMs }: Hold, untilMs: number, mostS: number): number {
  return Math.max(expiresAtMs, Math.min(untilMs, acceptedAtMs + mostS * 1_000));
}

export interface Release {
  readonly owner: string;
  /** Whether the caller may release claims of others. */
  readonly mayReleaseAny: boolean;
  /** The owner's word that nobody was told of the confirmed claim. */
  readonly neverStarted: boolean;
  readonly reason: string;
}

/**
 * Gives a claim up. A confirmed one counts until a start before its end can be ruled out, unless nobody
 * was told of it. What had ended, or never was, stays so.
 *
 * @param fence of the tombstone that is left of a claim which is not known
 * @throws ResourceMapError `claim_of_another`
 */
export function releaseClaim(
  situation: ClaimSituation,
  id: ClaimId,
  release: Release,
  fence: bigint,
): ClaimChanged {
  const { ledger, nowMs } = situation;
  const evaluation = evaluateSituation(situation);
  if (holdOf(ledger, id) === undefined) {
    const hold = emptyTombstone(id.bytes, fence, release.reason, nowMs);
    const compacted = compact(ledger, evaluation, nowMs);
    return {
      ledger: trimmed({ ...compacted, holds: [...compacted.holds, hold] }, nowMs),
      claim: { kind: 'tombstone', hold },
    };
  }
  const found = findClaim(ledger, evaluation, id);
  if (found.kind === 'tombstone' || found.claim.end !== undefined) {
    return { ledger: compact(ledger, evaluation, nowMs), claim: found };
  }
  const { claim } = found;
  const isOwn = claim.hold.owner === release.owner;
  if (!isOwn && (!release.mayReleaseAny || release.neverStarted)) throw ofAnother(id, claim.hold);
  if (claim.hold.state === ClaimState.CONFIRMED && !release.neverStarted) {
    return changed(situation, evaluation, claim, (hold) => ({
      ...hold,
      releasedAtMs: hold.releasedAtMs || nowMs,
      reason: release.reason,
    }));
  }
  const end: End = { state: ClaimState.RELEASED, reason: release.reason };
  const after = evaluate(
    ledger.holds,
    situation.head,
    situation.content,
    nowMs,
    situation.settings,
    new Map([[claim.hold.fence, end]]),
  );
  const ended = after.claims.find(({ hold }) => hold.fence === claim.hold.fence) ?? claim;
  return { ledger: compact(ledger, after, nowMs), claim: { kind: 'evaluated', claim: ended } };
}

function changed(
  { ledger, nowMs }: ClaimSituation,
  evaluation: Evaluation,
  { hold: { fence } }: EvaluatedHold,
  change: (hold: Hold) => Hold,
): ClaimChanged {
  const compacted = compact(ledger, evaluation, nowMs);
  const holds = compacted.holds.map((hold) => (hold.fence === fence ? change(hold) : hold));
  const hold = holds.find((one) => one.fence === fence);
  const claim = evaluation.claims.find((one) => one.hold.fence === fence);
  if (hold === undefined || claim === undefined) throw new Error('A claim was lost in its own change.');
  return {
    ledger: { ...compacted, holds },
    claim: { kind: 'evaluated', claim: { ...claim, hold, lapsed: nowMs >= hold.expiresAtMs } },
  };
}

function ownLive(ledger: Ledger, evaluation: Evaluation, id: ClaimId, owner: string): EvaluatedHold {
  const found = findClaim(ledger, evaluation, id);
  const end = endOfClaim(found);
  if (found.kind === 'tombstone' || end !== undefined) throw claimEnded(id, end);
  const { claim } = found;
  if (claim.hold.owner !== owner) throw ofAnother(id, claim.hold);
  if (claim.hold.releasedAtMs > 0) {
    throw claimEnded(id, { state: ClaimState.RELEASED, reason: claim.hold.reason });
  }
  return claim;
}

/** A claim that was confirmed and is not backed goes first: what is there is not promised a second time. */
function refuseUnbacked(claim: EvaluatedHold, { claims }: Evaluation): void {
  const id = claimIdOf(claim.hold.id).text;
  if (claim.backed === undefined) {
    throw new ResourceMapError(
      'claim_undecided',
      `Whether claim ${id} still fits was not decided within the bound on work; try again with the next snapshot.`,
    );
  }
  if (claim.backed === false) throw unbacked(id, claim.unbackedReason);
  const keys = new Set(podsByKey(claim).keys());
  for (const other of claims) {
    if (other.end !== undefined || other.backed !== false || other.hold.state !== ClaimState.CONFIRMED)
      continue;
    const shared = [...podsByKey(other).keys()].find((key) => keys.has(key));
    if (shared === undefined) continue;
    throw unbacked(
      id,
      `the confirmed claim ${claimIdOf(other.hold.id).text} is short of room on ${shared.replace('\u0000', '/')}`,
    );
  }
}

function unbacked(id: string, why: string): ResourceMapError {
  return new ResourceMapError(
    'claim_unbacked',
    `Claim ${id} cannot be confirmed: ${why}. Renew it and try again with the next snapshot, or claim elsewhere.`,
  );
}

export function notFound({ text }: ClaimId): ResourceMapError {
  return new ResourceMapError(
    'claim_not_found',
    `No claim ${text} is known in this cluster; GET /v1/claims lists those that are live. Ended ones are forgotten after 2 minutes.`,
    { field: 'claim', value: text },
  );
}

function ofAnother({ text }: ClaimId, { owner }: Hold): ResourceMapError {
  return new ResourceMapError(
    'claim_of_another',
    `Claim ${text} is of ${quote(owner)}; only its owner, or to release it an administrator, can change it.`,
  );
}

/** @param end how, where that is known */
export function claimEnded(
  { text }: ClaimId,
  end: { readonly state: ClaimState; readonly reason: string } | undefined,
): ResourceMapError {
  const state = end === undefined ? 'ended' : ClaimState[end.state]?.toLowerCase();
  const why = end === undefined || end.reason === '' ? '' : ` (${end.reason})`;
  return new ResourceMapError(
    'claim_ended',
    `Claim ${text} is ${state}${why}; nothing may be started on it. Make a new claim.`,
    {
      claim: end === undefined ? {} : { state: `CLAIM_STATE_${ClaimState[end.state]}` },
    },
  );
}
