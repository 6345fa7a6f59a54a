/**
 * Whether a new claim is accepted, and the ledger with it. The test is the exact packing of a fit request:
 * demand that is served first, then the claims that keep others out, then the new one.
 */
import { create } from '@bufbuild/protobuf';
import { ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import { type Hold, HoldSchema, type Ledger } from '../../gen/resourcemap/v1/ledger_pb.ts';
import { evaluateShapes, type ShapeFit } from '../capacity/fit/fit.ts';
import type { Taken } from '../capacity/fit/room.ts';
import { STEPS_PER_VIEW } from '../capacity/packing/limits.ts';
import { Work } from '../capacity/packing/work.ts';
import { volume } from '../capacity/view/histogram.ts';
import { targetKey } from '../capacity/view/pods.ts';
import type { ClusterView } from '../capacity/view/view.ts';
import { ResourceMapError } from '../errors.ts';
import { quote } from '../quote.ts';
import type { Stepwise } from '../stepwise.ts';
import { type ChainFact, type ChainFacts, livingChains } from './chain-facts.ts';
import { type ClaimId, claimIdOf } from './claim-id.ts';
import type { ParsedClaim, ParsedRank } from './claim-request.ts';
import { compact, holdBytes } from './compact.ts';
import {
  blockingPods,
  blocks,
  type ClaimContent,
  type ClaimHead,
  type ClaimSettings,
  type End,
  type Ends,
  type EvaluatedHold,
  type Evaluation,
  evaluate,
  isLive,
  podsByKey,
  ranksOverlap,
  withoutDemand,
} from './evaluate.ts';
import {
  MAX_CLAIMS_PER_OWNER,
  MAX_HELD_S,
  MAX_HOLD_BYTES,
  MAX_LEDGER_BYTES,
  MAX_LIVE_CLAIMS,
} from './limits.ts';
import { type Placement, placementOf, shapeOf } from './placement.ts';

/** A claim that asks to be accepted, and all that decides it. */
export interface ClaimCandidate {
  readonly id: ClaimId;
  readonly owner: string;
  readonly request: ParsedClaim;
  readonly ledger: Ledger;
  /** Number of the write that would accept it: its fence. */
  readonly fence: bigint;
  readonly head: ClaimHead;
  readonly content: ClaimContent;
  readonly nowMs: number;
  readonly settings: ClaimSettings & OwnerLimit;
}

export interface OwnerLimit {
  /** Accelerators that one owner may hold in one cluster; absent: no bound. */
  readonly maxOwnerAccelerators?: number | undefined;
}

export type Admission =
  /** The ledger with the claim in it, and with everything that was not counted recorded as ended. */
  | { readonly kind: 'accepted'; readonly ledger: Ledger; readonly hold: Hold }
  /** The snapshot has all of its chains already: nothing is held. */
  | { readonly kind: 'fulfilled'; readonly chains: number };

/**
 * @throws ResourceMapError `claim_does_not_fit`, `claim_undecided`, `claim_exists`, `claim_not_found`,
 *   `claim_of_another`, `too_many_claims`, `invalid_claim`
 */
export function* admit(candidate: ClaimCandidate): Stepwise<Admission> {
  const { id, owner, request, ledger, fence, head, content, nowMs, settings } = candidate;
  const evaluated = (ends: Ends): Evaluation => evaluate(ledger.holds, head, content, nowMs, settings, ends);
  const replaced = replacedClaim(candidate, evaluated(new Map()));
  // A held claim that is replaced is gone; one that was confirmed may still be started on.
  const ends = new Map<bigint, End>();
  if (replaced?.hold.state === ClaimState.HELD) ends.set(replaced.hold.fence, REPLACED);
  const before = evaluated(ends);
  const effective = before.claims.filter(({ end }) => end === undefined);
  refuseSharedChains(request, effective, replaced);
  refuseMovingNumbers(request, content.facts);
  const open = openRanks(request, content.facts);
  if (open.length === 0) {
    return { kind: 'fulfilled', chains: request.ranks.reduce((sum, rank) => sum + rank.chains, 0) };
  }
  refuseTooMany(candidate, effective);
  const view = before.view ?? content.view;
  const waiting = open.flatMap((rank) => waitingById(rank, request.jobId, content.facts));
  const placed = yield* place(candidate, { ...before, view }, open, waiting);

  for (const [broken, end] of brokenBy(id, placed, before)) ends.set(broken, end);
  const after = evaluated(ends);
  const counting = after.claims.filter(({ end }) => end === undefined);
  const hold = create(HoldSchema, {
    id: id.bytes,
    owner,
    fence,
    state: ClaimState.HELD,
    acceptedAtMs: nowMs,
    expiresAtMs: nowMs + Math.min(request.ttlMs, MAX_HELD_S * 1_000),
    jobId: request.jobId,
    ranks: placed.ranks.map((rank) => ({
      ...rank,
      goal: goalOf(rank, request.jobId, content.facts, counting),
    })),
    targets: [...placed.targets],
    judgedCounter: head.counter,
    digest: request.digest,
    note: request.note,
  });
  if (holdBytes(hold) > MAX_HOLD_BYTES) {
    throw new ResourceMapError(
      'invalid_claim',
      `The claim takes ${holdBytes(hold)} bytes in its cluster's ledger; at most ${MAX_HOLD_BYTES} are kept. Make several claims of it, or claim by number instead of by chain ids.`,
    );
  }
  const recorded = compact(ledger, after, nowMs);
  const holds = recorded.holds.map((other) =>
    other.fence === replaced?.hold.fence ? replacedBy(other, hold, nowMs) : other,
  );
  const next = { ...recorded, holds: [...holds, hold] };
  refuseTooLarge(next);
  return { kind: 'accepted', ledger: next, hold };
}

const REPLACED: End = { state: ClaimState.RELEASED, reason: 'it was replaced' };

/** A held claim is a tombstone by now; a confirmed one is marked, and its time is not moved. */
function replacedBy(hold: Hold, by: Hold, nowMs: number): Hold {
  const replaced = { ...hold, replacedBy: by.id };
  if (!isLive(hold)) return replaced;
  return { ...replaced, releasedAtMs: hold.releasedAtMs || nowMs, reason: REPLACED.reason };
}

function replacedClaim(
  { request, owner }: ClaimCandidate,
  { claims }: Evaluation,
): EvaluatedHold | undefined {
  const { replaces } = request;
  if (replaces === undefined) return undefined;
  const claim = claims.find(
    ({ hold, end }) => end === undefined && claimIdOf(hold.id).text === replaces.text,
  );
  if (claim === undefined) {
    throw new ResourceMapError(
      'claim_not_found',
      `The claim ${replaces.text}, which is to be replaced, is not live in this cluster; leave it out.`,
      { field: 'replaces', value: replaces.text },
    );
  }
  if (claim.hold.owner === owner) return claim;
  throw new ResourceMapError(
    'claim_of_another',
    `The claim ${replaces.text} is of ${quote(claim.hold.owner)}; only its owner can replace it.`,
  );
}

/** A chain that two claims name would fulfil both, and claims by number cannot tell which chains others named. */
function refuseSharedChains(
  request: ParsedClaim,
  effective: readonly EvaluatedHold[],
  replaced: EvaluatedHold | undefined,
): void {
  for (const { hold } of effective) {
    if (hold.jobId !== request.jobId || hold.fence === replaced?.hold.fence) continue;
    for (const rank of request.ranks) {
      for (const other of hold.ranks) {
        if (!ranksOverlap(rank.rankId, other.rankId)) continue;
        const numbered = rank.chainIds.length === 0;
        if (numbered !== (other.chainIds.length === 0)) {
          throw new ResourceMapError(
            'claim_exists',
            `The live claim ${claimIdOf(hold.id).text} counts chains of job ${quote(request.jobId)} ${numbered ? 'by their ids' : 'by their number'}, ` +
              `and this one ${numbered ? 'by their number' : 'by their ids'}; while it lives count the same way.`,
          );
        }
        const shared = rank.chainIds.find((chainId) => other.chainIds.includes(chainId));
        if (shared === undefined) continue;
        throw new ResourceMapError(
          'claim_exists',
          `The live claim ${claimIdOf(hold.id).text} has chain ${quote(shared)} of job ${quote(request.jobId)} already; name it in "replaces", or release it.`,
        );
      }
    }
  }
}

/** Where an autoscaler moves the number of chains, it says nothing of the claim's. */
function refuseMovingNumbers({ jobId, ranks }: ParsedClaim, facts: ChainFacts): void {
  for (const [index, { rankId, chainIds }] of ranks.entries()) {
    if (chainIds.length > 0) continue;
    for (const [name, { minChains, maxChains }] of facts.get(jobId) ?? []) {
      if ((rankId !== '' && rankId !== name) || minChains === maxChains) continue;
      throw new ResourceMapError(
        'invalid_claim',
        `ranks[${index}] counts chains of rank ${quote(name)} by their number, which an autoscaler moves from ${minChains ?? 'no bound'} to ${maxChains ?? 'no bound'}; give chain_ids.`,
      );
    }
  }
}

/** The ranks with the chains that the snapshot does not have whole. */
function openRanks({ jobId, ranks }: ParsedClaim, facts: ChainFacts): readonly ParsedRank[] {
  return ranks.flatMap((rank) => {
    if (rank.chainIds.length === 0) return rank;
    const whole = new Set(
      livingChains(facts, jobId, rank.rankId)
        .filter(({ waiting }) => waiting.length === 0)
        .map(({ chainId }) => chainId),
    );
    const chainIds = rank.chainIds.filter((id) => !whole.has(id));
    return chainIds.length === 0 ? [] : { ...rank, chainIds, chains: chainIds.length };
  });
}

function waitingById(
  { rankId, chainIds }: ParsedRank,
  jobId: string,
  facts: ChainFacts,
): readonly ChainFact[] {
  if (chainIds.length === 0) return [];
  return livingChains(facts, jobId, rankId).filter(
    ({ chainId, waiting }) => chainIds.includes(chainId) && waiting.length > 0,
  );
}

/** Living chains, with those that earlier claims still lack, and the new ones. */
function goalOf(
  {
    rankId,
    chains,
    chainIds,
  }: { readonly rankId: string; readonly chains: number; readonly chainIds: readonly string[] },
  jobId: string,
  facts: ChainFacts,
  effective: readonly EvaluatedHold[],
): number {
  if (chainIds.length > 0) return 0;
  let goal = livingChains(facts, jobId, rankId).length + chains;
  for (const { hold, counts } of effective) {
    if (hold.jobId !== jobId) continue;
    for (const [index, other] of hold.ranks.entries()) {
      const count = counts[index];
      if (count === undefined || other.chainIds.length > 0 || !ranksOverlap(rankId, other.rankId)) continue;
      // Those that wait are among the living.
      goal += count.remaining - count.waiting.length;
    }
  }
  return goal;
}

function refuseTooMany(
  { owner, request, settings }: ClaimCandidate,
  effective: readonly EvaluatedHold[],
): void {
  const own = effective.filter(({ hold }) => hold.owner === owner);
  const { maxOwnerAccelerators } = settings;
  const refuse = (what: string, remedy: string, limit: number): never => {
    throw new ResourceMapError('too_many_claims', `${what}; ${remedy}.`, { retryAfterSeconds: 1, limit });
  };
  if (effective.length >= MAX_LIVE_CLAIMS) {
    refuse(
      `${effective.length} claims are live in the cluster, and at most ${MAX_LIVE_CLAIMS} can be`,
      'try again when some have ended',
      MAX_LIVE_CLAIMS,
    );
  }
  if (own.length >= MAX_CLAIMS_PER_OWNER) {
    refuse(
      `${own.length} claims of ${quote(owner)} are live in the cluster, and one owner has at most ${MAX_CLAIMS_PER_OWNER}`,
      'release some, or claim several chains at once',
      MAX_CLAIMS_PER_OWNER,
    );
  }
  if (maxOwnerAccelerators === undefined) return;
  const asked = request.ranks.reduce(
    (sum, { chains, pods }) => sum + chains * pods.reduce((all, { accelerators }) => all + accelerators, 0),
    0,
  );
  const held = own.reduce(
    (sum, { pods }) => [...pods.values()].reduce((all, on) => all + Number(volume(on)), sum),
    0,
  );
  if (held + asked > maxOwnerAccelerators) {
    refuse(
      `${quote(owner)} holds ${held} accelerators of the cluster and asks for ${asked} more; this service lets one owner hold ${maxOwnerAccelerators}`,
      'release some claims first',
      maxOwnerAccelerators,
    );
  }
}

function refuseTooLarge({ holds }: Ledger): void {
  const bytes = holds.filter(isLive).reduce((sum, hold) => sum + holdBytes(hold), 0);
  if (bytes <= MAX_LEDGER_BYTES) return;
  throw new ResourceMapError(
    'too_many_claims',
    `With this one the cluster's live claims would take ${bytes} bytes; at most ${MAX_LEDGER_BYTES} are kept. Try again when some have ended.`,
    { retryAfterSeconds: 1, limit: MAX_LEDGER_BYTES },
  );
}

function* place(
  { request, head, nowMs }: ClaimCandidate,
  evaluation: Evaluation & { readonly view: ClusterView },
  open: readonly ParsedRank[],
  waiting: readonly ChainFact[],
): Stepwise<Placement> {
  const view = withoutDemand(evaluation.view, waiting, new Work(STEPS_PER_VIEW));
  const shape = shapeOf({ ...request, ranks: open });
  const fitBehind = function* (claims: readonly EvaluatedHold[]): Stepwise<ShapeFit> {
    const taken: Taken = blockingPods({ claims, view });
    const dated = { view, counter: head.counter, collectedAtNanos: 0n };
    const [fit] = yield* evaluateShapes([shape], [dated], () => true, undefined, taken);
    if (fit === undefined) throw new Error('A shape was not evaluated.');
    return fit;
  };
  const fit = yield* fitBehind(evaluation.claims);
  const [best] = fit.candidates;
  if (best?.fits === true && best.witness !== undefined) {
    return placementOf(open, best.witness);
  }
  const refusal = {
    ...(open.length === 1 ? { maxChains: fit.maxChains.atLeast } : {}),
    ...(best?.fitsWithScaleOut === undefined ? {} : { fitsWithScaleOut: best.fitsWithScaleOut }),
  };
  if (fit.fits === undefined) {
    throw new ResourceMapError(
      'claim_undecided',
      `${sentence(fit.reason)} Ask for less, or for fewer kinds of pods.`,
      { claim: refusal },
    );
  }
  const keys = new Set(
    fit.candidates.flatMap(({ candidate }) =>
      candidate.targets.map((t) => targetKey(t.poolId, t.nodeTypeId)),
    ),
  );
  const inTheWay = evaluation.claims.filter(
    (claim) => claim.end === undefined && [...podsByKey(claim).keys()].some((key) => keys.has(key)),
  );
  const until = inTheWay.length === 0 ? undefined : yield* fitsAfter(evaluation.claims, inTheWay, fitBehind);
  throw new ResourceMapError('claim_does_not_fit', sentence(fit.reason), {
    claim: { ...refusal, blockingClaims: inTheWay.map(({ hold }) => claimIdOf(hold.id).text) },
    ...(until === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil((until - nowMs) / 1_000)) }),
  });
}

/** The first end of a claim after which it would fit, if nothing else changes. */
function* fitsAfter(
  claims: readonly EvaluatedHold[],
  inTheWay: readonly EvaluatedHold[],
  fitBehind: (claims: readonly EvaluatedHold[]) => Stepwise<ShapeFit>,
): Stepwise<number | undefined> {
  const byEnd = [...inTheWay].sort((a, b) => a.hold.expiresAtMs - b.hold.expiresAtMs);
  const fitsWithout = function* (ended: number): Stepwise<boolean> {
    const gone = new Set(byEnd.slice(0, ended));
    return (yield* fitBehind(claims.filter((claim) => !gone.has(claim)))).fits === true;
  };
  let no = 0;
  let yes = byEnd.length;
  if (!(yield* fitsWithout(yes))) return undefined;
  while (yes - no > 1) {
    const middle = (no + yes) >> 1;
    if (yield* fitsWithout(middle)) yes = middle;
    else no = middle;
  }
  return byEnd[yes - 1]?.hold.expiresAtMs;
}

function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}

/** Held claims that are not backed break when another is accepted on a target of theirs. */
function brokenBy(id: ClaimId, { targets }: Placement, { claims }: Evaluation): Ends {
  const keys = new Set(targets.map(({ poolId, nodeTypeId }) => targetKey(poolId, nodeTypeId)));
  return new Map(
    claims
      .filter((claim) => claim.end === undefined && !blocks(claim))
      .filter((claim) => [...podsByKey(claim).keys()].some((key) => keys.has(key)))
      .map(({ hold, unbackedReason }): [bigint, End] => [
        hold.fence,
        { state: ClaimState.BROKEN, reason: `claim ${id.text} was accepted there: ${unbackedReason}` },
      ]),
  );
}
