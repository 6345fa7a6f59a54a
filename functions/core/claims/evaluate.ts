/**
 * What the claims of a ledger are worth: derived from the ledger, the newest head, its snapshot and the
 * clock, at every read. Nothing is written for it, and a push knows nothing of claims.
 *
 * - A held claim ends by time alone: nothing may be started on it.
 * - A confirmed claim ends by evidence alone: a snapshot whose cut of the cluster began so late that a job
 *   which was started in time would show in it. That is known of a cut in two ways, either of which is enough:
 *   by the agent's clock (`collected_at`), which may be ahead of ours by a bound, or by ours, if the agent sent
 *   back a time that it had from us before it began the cut (`observed`).
 * - A confirmed claim never breaks: a node that is gone for two snapshots comes back, and the job starts.
 */
import { ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import type { Hold } from '../../gen/resourcemap/v1/ledger_pb.ts';
import type { Verdict } from '../capacity/monotone.ts';
import { STEPS_PER_VIEW } from '../capacity/packing/limits.ts';
import { Work } from '../capacity/packing/work.ts';
import { EMPTY, type Histogram, minus, plus } from '../capacity/view/histogram.ts';
import { targetKey } from '../capacity/view/pods.ts';
import { packPods, responseOf, serveDemand } from '../capacity/view/served-demand.ts';
import type { ClusterView, TargetView } from '../capacity/view/view.ts';
import type { ChainFact, ChainFacts } from './chain-facts.ts';
import {
  type CountedChains,
  countRank,
  fulfilledChains,
  heldPods,
  type RankCount,
  recordedCount,
} from './count-chains.ts';
import { CLOCK_SKEW_MS, VISIBILITY_MS } from './limits.ts';

/** What of a cluster's head claims depend on. Absent: the cluster was retired. */
export interface ClaimHead {
  readonly counter: bigint;
  /** Milliseconds since the epoch by the agent's clock: when it began the cut. */
  readonly collectedAtMs: number;
  /** Milliseconds since the epoch by the service's clock: a time that the agent had before it began the cut. */
  readonly observedMs?: number | undefined;
  /** Since when the cluster is out of the map; absent while it is in. */
  readonly omittedAtMs?: number | undefined;
}

/** What a snapshot says. */
export interface ClaimContent {
  readonly view: ClusterView;
  readonly facts: ChainFacts;
}

export interface ClaimSettings {
  /** Milliseconds by which an agent's clock may be ahead of the service's. */
  readonly maxClockAheadMs: number;
  /** Milliseconds out of the map after which a cluster is retired. */
  readonly retireAfterMs: number;
}

/** What a claim is worth now. */
export interface EvaluatedHold {
  /** As the ledger has it, but for goals that earlier claims lowered by ending. */
  readonly hold: Hold;
  /** How it ended; absent: it is effective. */
  readonly end: End | undefined;
  readonly counts: readonly RankCount[];
  readonly remaining: number;
  readonly fulfilled: number;
  /** Past its time, with no evidence yet: effective, but nothing may be started on it. */
  readonly lapsed: boolean;
  /** Pods that it holds, by index into its targets. Empty once it ended. */
  readonly pods: ReadonlyMap<number, Histogram>;
  /** Whether they fit behind the served demand and all earlier claims. */
  readonly backed: boolean | undefined;
  /** Why they do not. */
  readonly unbackedReason: string;
}

export interface End {
  readonly state: ClaimState.FULFILLED | ClaimState.EXPIRED | ClaimState.RELEASED | ClaimState.BROKEN;
  readonly reason: string;
}

/** All claims that the ledger does not record as ended, in order of fence. */
export interface Evaluation {
  readonly claims: readonly EvaluatedHold[];
  /** The snapshot's view without the demand of chains that claims hold already; absent: it cannot be read. */
  readonly view: ClusterView | undefined;
}

/** Milliseconds behind its end at which a cut by the service's clock is evidence. */
export const OBSERVED_MARGIN_MS = 2 * CLOCK_SKEW_MS + VISIBILITY_MS;

/** The same by an agent's clock. The bound needs the skew once; twice makes it one number for both. */
export function collectedMarginMs({ maxClockAheadMs }: ClaimSettings): number {
  return maxClockAheadMs + 2 * CLOCK_SKEW_MS + VISIBILITY_MS;
}

/** Whether a job that was started before `expiresAtMs` would show in the head's snapshot. */
export function isEvidence(head: ClaimHead, expiresAtMs: number, settings: ClaimSettings): boolean {
  if (head.collectedAtMs >= expiresAtMs + collectedMarginMs(settings)) return true;
  return head.observedMs !== undefined && head.observedMs >= expiresAtMs + OBSERVED_MARGIN_MS;
}

export function isLive({ state }: Pick<Hold, 'state'>): boolean {
  return state === ClaimState.HELD || state === ClaimState.CONFIRMED;
}

/**
 * Evaluates every claim that is not recorded as ended.
 *
 * @param content absent: the cluster is out of the map, or its snapshot cannot be read. Claims then stay.
 * @param ends of claims that are ended now, by their fence
 */
export function evaluate(
  holds: readonly Hold[],
  head: ClaimHead | undefined,
  content: ClaimContent | undefined,
  nowMs: number,
  settings: ClaimSettings,
  ends: Ends = NO_ENDS,
): Evaluation {
  const work = new Work(STEPS_PER_VIEW);
  const counted: CountedChains = new Set();
  const lacks = new Lacks();
  const waiting: ChainFact[] = [];
  const claims = [...holds]
    .filter(isLive)
    .sort((a, b) => (a.fence < b.fence ? -1 : 1))
    .map((stored): EvaluatedHold => {
      const hold = lacks.lowered(stored);
      const counts = hold.ranks.map((rank) =>
        content === undefined
          ? recordedCount(rank)
          : countRank(rank, hold.jobId, content.facts, rank.goal, counted),
      );
      const remaining = sum(counts.map((count) => count.remaining));
      const fulfilled = sum(hold.ranks.map((rank, i) => fulfilledChains(rank, counts[i]?.fulfilled ?? 0)));
      const end = ends.get(hold.fence) ?? endOf(hold, { remaining, fulfilled }, head, nowMs, settings);
      if (end === undefined) waiting.push(...counts.flatMap((count) => count.waiting));
      else lacks.add(hold, counts);
      return {
        hold,
        end,
        counts,
        remaining,
        fulfilled,
        lapsed: end === undefined && nowMs >= hold.expiresAtMs,
        pods: end === undefined ? heldPods(hold, counts) : NO_PODS,
        backed: undefined,
        unbackedReason: '',
      };
    });
  if (content === undefined) return { claims, view: undefined };
  const view = withoutDemand(content.view, waiting, work);
  return { claims: backing(claims, view, work), view };
}

/** Ends that are decided and not derived, by fence: what is released, replaced or broken. */
export type Ends = ReadonlyMap<bigint, End>;

const NO_ENDS: Ends = new Map();

const NO_PODS: ReadonlyMap<number, Histogram> = new Map();

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

function endOf(
  hold: Hold,
  { remaining, fulfilled }: { readonly remaining: number; readonly fulfilled: number },
  head: ClaimHead | undefined,
  nowMs: number,
  settings: ClaimSettings,
): End | undefined {
  if (remaining === 0) return { state: ClaimState.FULFILLED, reason: '' };
  if (nowMs < hold.expiresAtMs) return undefined;
  const shown = `${fulfilled} of ${fulfilled + remaining} chains were fulfilled`;
  if (hold.state === ClaimState.HELD) {
    return { state: ClaimState.EXPIRED, reason: `it was not confirmed in time; ${shown}` };
  }
  const over = hold.releasedAtMs > 0 ? ClaimState.RELEASED : ClaimState.EXPIRED;
  if (head === undefined || nowMs - (head.omittedAtMs ?? nowMs) >= settings.retireAfterMs) {
    return { state: over, reason: `its cluster left the map; ${shown}` };
  }
  if (head.omittedAtMs !== undefined || !isEvidence(head, hold.expiresAtMs, settings)) return undefined;
  return { state: over, reason: hold.releasedAtMs > 0 ? hold.reason || shown : shown };
}

/** Chains that ended claims lacked: the goals of later claims of the same rank are lowered by them. */
class Lacks {
  readonly #lacks: { readonly jobId: string; readonly rankId: string; readonly chains: number }[] = [];

  add({ jobId, ranks }: Hold, counts: readonly RankCount[]): void {
    for (const [index, { rankId, chainIds }] of ranks.entries()) {
      const count = counts[index];
      // Those that the snapshot shows already count among the living.
      const chains = count === undefined ? 0 : count.remaining - count.waiting.length;
      if (chainIds.length === 0 && chains > 0) this.#lacks.push({ jobId, rankId, chains });
    }
  }

  lowered(hold: Hold): Hold {
    const own = this.#lacks.filter(({ jobId }) => jobId === hold.jobId);
    if (own.length === 0) return hold;
    const ranks = hold.ranks.map((rank) => {
      const lacked = sum(own.filter(({ rankId }) => ranksOverlap(rankId, rank.rankId)).map((l) => l.chains));
      if (lacked === 0 || rank.chainIds.length > 0) return rank;
      return { ...rank, goal: Math.max(rank.chains, rank.goal - lacked) };
    });
    return { ...hold, ranks };
  }
}

/** Whether a chain can count for both; an empty rank id is any rank of the job. */
export function ranksOverlap(a: string, b: string): boolean {
  return a === b || a === '' || b === '';
}

/** The view without what these chains' pods still ask for. */
export function withoutDemand(view: ClusterView, waiting: readonly ChainFact[], work: Work): ClusterView {
  const pods = new Map<string, Map<number, number>>();
  for (const chain of waiting) {
    for (const { poolId, nodeTypeId, accelerators } of chain.waiting) {
      const key = targetKey(poolId, nodeTypeId);
      const on = pods.get(key) ?? new Map<number, number>();
      pods.set(key, on);
      on.set(accelerators, (on.get(accelerators) ?? 0) + 1);
    }
  }
  if (pods.size === 0) return view;
  const targets = view.targets.map((target): TargetView => {
    const left = pods.get(targetKey(target.poolId, target.nodeTypeId));
    if (left === undefined) return target;
    const demand = { ...target.demand, pending: minus(target.demand.pending, left) };
    if (!target.eligible) return { ...target, demand };
    return { ...target, demand, served: serveDemand(target.occupancy.freeNodes, demand, work) };
  });
  return { ...view, targets };
}

/** By {@link targetKey}. */
export function targetsByKey(view: ClusterView): ReadonlyMap<string, TargetView> {
  return new Map(view.targets.map((target) => [targetKey(target.poolId, target.nodeTypeId), target]));
}

/** The pods that a claim holds, by {@link targetKey}. */
export function podsByKey({
  hold,
  pods,
}: Pick<EvaluatedHold, 'hold' | 'pods'>): ReadonlyMap<string, Histogram> {
  const byKey = new Map<string, Histogram>();
  for (const [index, on] of pods) {
    const target = hold.targets[index];
    if (target === undefined || on.size === 0) continue;
    const key = targetKey(target.poolId, target.nodeTypeId);
    byKey.set(key, plus(byKey.get(key) ?? EMPTY, on));
  }
  return byKey;
}

/** Whether these pods fit on the nodes there are, behind the demand that is served. */
export function fitsBehindDemand(target: TargetView, pods: Histogram, work: Work): Verdict {
  const { served, demand, occupancy } = target;
  if (!served.undecided) {
    return responseOf(packPods(occupancy.freeNodes, plus(plus(served.pending, served.reserved), pods), work));
  }
  const whole = packPods(occupancy.freeNodes, plus(plus(demand.pending, demand.reserved), pods), work);
  if (whole.kind === 'packed') return 'yes';
  return packPods(occupancy.freeNodes, pods, work).kind === 'impossible' ? 'no' : 'undecided';
}

/** The usual case is that all fit at once. Otherwise claims come in order of fence, and what does not fit is left out. */
function backing(claims: readonly EvaluatedHold[], view: ClusterView, work: Work): readonly EvaluatedHold[] {
  const targets = targetsByKey(view);
  const held = claims.map(podsByKey);
  const together = new Map<string, Histogram>();
  for (const pods of held) {
    for (const [key, on] of pods) together.set(key, plus(together.get(key) ?? EMPTY, on));
  }
  const fits = (key: string, pods: Histogram): Verdict => {
    const target = targets.get(key);
    return target?.eligible === true ? fitsBehindDemand(target, pods, work) : 'no';
  };
  const tight = new Set([...together].filter(([key, pods]) => fits(key, pods) !== 'yes').map(([key]) => key));
  const before = new Map<string, Histogram>();
  return claims.map((claim, index): EvaluatedHold => {
    const pods = [...(held[index] ?? [])];
    let undecided = false;
    let reason = '';
    for (const [key, on] of pods) {
      if (!tight.has(key)) continue;
      const verdict = fits(key, plus(before.get(key) ?? EMPTY, on));
      if (verdict === 'undecided') undecided = true;
      if (verdict === 'no') reason ||= unbackedReason(key, targets.get(key));
    }
    if (reason !== '') return { ...claim, backed: false, unbackedReason: reason };
    for (const [key, on] of pods) before.set(key, plus(before.get(key) ?? EMPTY, on));
    return { ...claim, backed: undecided ? undefined : true };
  });
}

function unbackedReason(key: string, target: TargetView | undefined): string {
  const name = key.replace('\u0000', '/');
  if (target === undefined) return `${name} is not in the snapshot any more`;
  if (!target.eligible) return `${name} is not eligible for new work any more`;
  return `${name} has no room left for its pods behind demand that is served and earlier claims`;
}

/**
 * What comes before a new claim on each target: pods of claims that are backed, that may be, or that are
 * confirmed. A held claim that is not backed keeps nobody out.
 */
export function blockingPods({ claims, view }: Evaluation): ReadonlyMap<TargetView, Histogram> {
  const taken = new Map<TargetView, Histogram>();
  if (view === undefined) return taken;
  const targets = targetsByKey(view);
  for (const claim of claims) {
    if (claim.end !== undefined || !blocks(claim)) continue;
    for (const [key, on] of podsByKey(claim)) {
      const target = targets.get(key);
      if (target !== undefined) taken.set(target, plus(taken.get(target) ?? EMPTY, on));
    }
  }
  return taken;
}

/** Whether a claim keeps others out. */
export function blocks({ hold, backed }: EvaluatedHold): boolean {
  return hold.state === ClaimState.CONFIRMED || backed !== false;
}
