/**
 * Where each job of each bundle would land now. Pure: it reads candidates and writes
 * nothing. Bundles are placed one after the other, gold before silver before bronze and
 * in the order of the request within a band; what an earlier one takes is taken.
 *
 * The same candidates in another order give the same plan.
 */

import { atOnce, type Stepwise } from '../../stepwise.ts';
import { BUILT_IN_CATALOGUE, type InstanceCatalogue } from '../model/catalogue.ts';
import { MAX_PLAN_STEPS, MIN_BUNDLE_STEPS } from '../model/limits.ts';
import { type Bundle, type Pool, PRIORITY_BANDS } from '../model/model.ts';
import { compilePools } from '../model/tiers.ts';
import { Assessor } from '../search/assess.ts';
import type { Candidate } from '../search/candidates.ts';
import { Fleet } from '../search/fleet.ts';
import { bandRank } from '../search/variables.ts';
import { ElasticOffers } from './elastic-offers.ts';
import { planBundle } from './plan-bundle.ts';
import type { BundlePlan } from './plan-model.ts';

export interface PlanOptions {
  /** Steps of search for all bundles together, shared evenly; enough for each unless given. */
  readonly maxSteps?: number;
  /** Completes the profiles of elastic tiers, of which an unplaced job is given what would hold it. */
  readonly catalogue?: InstanceCatalogue;
}

/**
 * Plans the bundles on the candidates of their pools. The answer is in the order of the
 * request. No two candidates may be one node (the same cluster and id).
 *
 * @example
 * ```ts
 * import { clusterNodes, mapCandidates, planBundles, BUILT_IN_CATALOGUE } from '@resource-map/client/bundle';
 *
 * const candidates = mapCandidates([...replica.clusters.values()].map(clusterNodes), BUILT_IN_CATALOGUE);
 * const [plan] = planBundles([bundle], [{ poolName: 'h100', tiers: [{ cluster: {} }] }], candidates);
 * console.log(plan?.outcome);
 * ```
 */
export function planBundles(
  bundles: readonly Bundle[],
  pools: readonly Pool[],
  candidates: readonly Candidate[],
  options: PlanOptions = {},
): readonly BundlePlan[] {
  return atOnce(planOnFleet(atOnce(Fleet.of(candidates)), bundles, pools, options));
}

/** As {@link planBundles}, on a fleet of which something may be taken already; takes from it. */
export function* planOnFleet(
  fleet: Fleet,
  bundles: readonly Bundle[],
  pools: readonly Pool[],
  options: PlanOptions,
): Stepwise<readonly BundlePlan[]> {
  const byName = compilePools(pools);
  const elastic = new ElasticOffers(options.catalogue ?? BUILT_IN_CATALOGUE);
  let stepsLeft = options.maxSteps ?? Math.max(MAX_PLAN_STEPS, bundles.length * MIN_BUNDLE_STEPS);
  const assessor = new Assessor();
  const plans = new Map<number, BundlePlan>();
  for (const [turn, { bundle, index }] of inOrder(bundles).entries()) {
    // Steps that an easy bundle leaves are for those after it, never the other way round.
    const maxSteps = Math.floor(stepsLeft / (bundles.length - turn));
    const { plan, planned, steps } = yield* planBundle(bundle, {
      classes: fleet.classes,
      assessor,
      pools: byName,
      elastic,
      maxSteps,
    });
    stepsLeft -= steps;
    fleet.commit(planned);
    plans.set(index, plan);
    yield;
  }
  return bundles.flatMap((_, index) => plans.get(index) ?? []);
}

/** By the highest band of any job: a gold job waits for no silver one. */
function inOrder(bundles: readonly Bundle[]): readonly { readonly bundle: Bundle; readonly index: number }[] {
  const band = (bundle: Bundle): number =>
    bundle.jobs.reduce((best, job) => Math.min(best, bandRank(job)), PRIORITY_BANDS.length);
  return bundles
    .map((bundle, index) => ({ bundle, index, band: band(bundle) }))
    .sort((a, b) => a.band - b.band || a.index - b.index);
}
