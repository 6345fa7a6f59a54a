/**
 * Answers fit questions: for each shape its candidates, ranked, and how many chains each
 * takes. Shapes are answered as if taken in order, each in its first candidate. Yields
 * before each candidate.
 */

import type { Stepwise } from '../../stepwise.ts';
import { compareUtf8 } from '../../utf8-order.ts';
import { compareFractions } from '../decimal.ts';
import type { Bounds } from '../monotone.ts';
import { STEPS_PER_CANDIDATE, STEPS_PER_REQUEST } from '../packing/limits.ts';
import { Work } from '../packing/work.ts';
import { count, type Histogram } from '../view/histogram.ts';
import type { DatedView } from '../view/target-row.ts';
import type { ClusterView, TargetView } from '../view/view.ts';
import { type Candidate, candidatesOf } from './candidate.ts';
import { type Cost, costOf } from './cost.ts';
import { explain, explainMisses } from './explain.ts';
import type { ShapeRequest } from './fit-request.ts';
import { presentRoom, type RoomPacking, type Taken } from './room.ts';
import { type GrownPacking, scaledRoom } from './scale-out.ts';

/** `undefined` where the bound on work was reached, or what it depends on is unknown. */
export type Verdict = boolean | undefined;

/** What one candidate offers. */
export interface CandidateFit {
  readonly candidate: Candidate;
  readonly fits: Verdict;
  readonly maxChains: Bounds;
  readonly fitsWithScaleOut: Verdict;
  /** `undefined`: unknown. */
  readonly maxChainsWithScaleOut: Bounds | undefined;
  /** On the nodes there are; only where it fits. */
  readonly witness: RoomPacking | undefined;
  /** With new nodes; only where it fits with them and not without. */
  readonly scaleOut: GrownPacking | undefined;
  /** Of the witness, or of the packing with scale-out. */
  readonly cost: Cost | undefined;
  readonly reason: string;
}

export interface ShapeFit {
  readonly shape: ShapeRequest;
  readonly fits: Verdict;
  /** Over all candidates, which share no node. */
  readonly maxChains: Bounds;
  /** Ranked, all of them. */
  readonly candidates: readonly CandidateFit[];
  readonly reason: string;
}

/**
 * @param accepts which targets count at all
 * @param before pods that come before all shapes, by target: those of claims
 */
export function* evaluateShapes(
  shapes: readonly ShapeRequest[],
  clusters: readonly DatedView[],
  accepts: (cluster: ClusterView, target: TargetView) => boolean,
  work: Work = new Work(STEPS_PER_REQUEST),
  before: Taken = new Map(),
): Stepwise<readonly ShapeFit[]> {
  const taken = new Map<TargetView, Histogram>(before);
  const all: ShapeFit[] = [];
  for (const shape of shapes) {
    const { candidates, misses } = candidatesOf(shape, clusters, accepts);
    const responses: CandidateFit[] = [];
    for (const candidate of candidates) {
      yield;
      const allowance = work.allow(STEPS_PER_CANDIDATE);
      const granted = allowance.left;
      responses.push(evaluateCandidate(candidate, shape.chains, taken, allowance));
      work.spend(granted - allowance.left);
    }
    responses.sort(byRank);
    const [first] = responses;
    if (first?.fits === true && first.witness !== undefined) take(first.witness, taken);
    all.push({
      shape,
      fits: fitsSomewhere(responses),
      maxChains: sumOf(responses.map(({ maxChains }) => maxChains)),
      candidates: responses,
      reason:
        first === undefined ? explainMisses(misses, clusters.length) : summaryOf(first, responses.length),
    });
  }
  return all;
}

function evaluateCandidate(candidate: Candidate, chains: number, taken: Taken, work: Work): CandidateFit {
  const present = presentRoom(candidate, chains, taken, work);
  const scaled = scaledRoom(candidate, chains, present, taken, work);
  const fits = verdict(present.bounds, chains);
  // What fits without new nodes fits with them: a pool need not add any.
  const withScaleOut = scaled === undefined ? undefined : higher(present.bounds, scaled.bounds);
  const fitsWithScaleOut =
    fits === true ? true : withScaleOut === undefined ? undefined : verdict(withScaleOut, chains);
  const packing = present.witness ?? scaled?.grown?.packing;
  return {
    candidate,
    fits,
    maxChains: present.bounds,
    fitsWithScaleOut,
    maxChainsWithScaleOut: withScaleOut,
    witness: present.witness,
    scaleOut: present.witness === undefined ? scaled?.grown : undefined,
    cost: packing === undefined ? undefined : costOf(packing),
    reason: explain(candidate, chains, present.bounds, taken),
  };
}

function verdict({ atLeast, atMost }: Bounds, asked: number): Verdict {
  if (atLeast >= asked) return true;
  return atMost < asked ? false : undefined;
}

function higher(a: Bounds, b: Bounds): Bounds {
  return { atLeast: Math.max(a.atLeast, b.atLeast), atMost: Math.max(a.atMost, b.atMost) };
}

/**
 * Fits now; fits with scale-out; undecided; does not fit. Within these by price per hour (known
 * first, by currency, the lower first), the more chains at most, cluster, fabric, zone. No two
 * candidates are equal in all of these, so the order is one and the same every time.
 */
function byRank(a: CandidateFit, b: CandidateFit): number {
  return (
    tier(a) - tier(b) ||
    compareCosts(a.cost, b.cost) ||
    b.maxChains.atLeast - a.maxChains.atLeast ||
    compareUtf8(a.candidate.cluster.view.clusterId, b.candidate.cluster.view.clusterId) ||
    compareUtf8(a.candidate.fabricId, b.candidate.fabricId) ||
    compareUtf8(a.candidate.zone, b.candidate.zone)
  );
}

function tier({ fits, fitsWithScaleOut }: CandidateFit): number {
  if (fits === true) return 0;
  if (fitsWithScaleOut === true) return 1;
  return fits === undefined ? 2 : 3;
}

function compareCosts(a: Cost | undefined, b: Cost | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compareUtf8(a.currency, b.currency) || compareFractions(a.perHour, b.perHour);
}

/** What was answered to fit stands before the shapes that follow: pods on targets, pinned to no node. */
function take({ room, packing }: RoomPacking, taken: Map<TargetView, Histogram>): void {
  for (const { bin, bins, items } of packing) {
    const target = room.candidate.targets[room.bins[bin]?.target ?? -1];
    if (target === undefined) continue;
    const pods = new Map(taken.get(target));
    for (const { item, count: each } of items) {
      const asked = room.candidate.classes[item - room.demandClasses];
      if (asked !== undefined) count(pods, asked.accelerators, each * bins);
    }
    taken.set(target, pods);
  }
}

function fitsSomewhere(responses: readonly CandidateFit[]): Verdict {
  if (responses.some(({ fits }) => fits === true)) return true;
  return responses.some(({ fits }) => fits === undefined) ? undefined : false;
}

function sumOf(bounds: readonly Bounds[]): Bounds {
  return {
    atLeast: bounds.reduce((sum, { atLeast }) => sum + atLeast, 0),
    atMost: bounds.reduce((sum, { atMost }) => sum + atMost, 0),
  };
}

function summaryOf(best: CandidateFit, candidates: number): string {
  if (best.fits === true) return '';
  if (candidates === 1) return best.reason;
  return `none of ${candidates} candidates; the best: ${best.reason}`;
}
