/**
 * A place for copies that have none: both at once where neither has one, or one beside the other. Beside a copy that
 * has its place, domains that the policy forbids are left out, as many of them as can be.
 */

import { create } from '@bufbuild/protobuf';
import type { CopyRank } from '../../../gen/resourcemap/bundle/v1/live_pb.ts';
import type { JobPlacement, SharedDomain, UnplacedJob } from '../../../gen/resourcemap/bundle/v1/plan_pb.ts';
import { SharedDomainSchema } from '../../../gen/resourcemap/bundle/v1/plan_pb.ts';
import type { Stepwise } from '../../stepwise.ts';
import type { Bundle } from '../model/model.ts';
import { type Place, sameAz, sameCloud } from '../model/place.ts';
import type { BundlePlan } from '../plan/plan-model.ts';
import { planStepwise } from '../plan/plan-request.ts';
import type { SlotCandidate } from '../search/candidates.ts';
import type { Copy } from '../search/search-model.ts';
import { planMessage } from '../wire/write-plan.ts';
import { ranksOf } from './ranks.ts';
import type { BundleWorld } from './world.ts';

export type FoundPlace =
  | {
      readonly kind: 'placed';
      readonly ranks: CopyRank[];
      readonly placements: JobPlacement[];
      readonly degraded: SharedDomain[];
    }
  | { readonly kind: 'unplaced'; readonly reason: string; readonly unplaced: UnplacedJob[] };

type World = Pick<BundleWorld, 'pools' | 'catalogue' | 'candidates'>;

/** Nodes of one type in one cluster. */
export interface Target {
  readonly clusterId: string;
  readonly poolId: string;
  readonly nodeTypeId: string;
}

export function sameTarget(a: Target, b: Target): boolean {
  return a.clusterId === b.clusterId && a.poolId === b.poolId && a.nodeTypeId === b.nodeTypeId;
}

/** Both copies, or the primary of a bundle that has no backup. */
export function* findPlaces(bundle: Bundle, world: World): Stepwise<ReadonlyMap<Copy, FoundPlace>> {
  const plan = yield* planOf(bundle, world, world.candidates());
  return new Map(
    (['primary', 'backup'] as const).map((copy): [Copy, FoundPlace] => [
      copy,
      foundPlace(bundle, plan, copy),
    ]),
  );
}

/**
 * One copy.
 *
 * @param beside where the other copy is, if it has a place
 * @param avoid targets that it is not to be on
 */
export function* findPlace(
  bundle: Bundle,
  copy: Copy,
  beside: readonly Target[],
  avoid: readonly Target[],
  world: World,
): Stepwise<FoundPlace> {
  const { resiliencePolicy: policy, ...rest } = bundle;
  const alone: Bundle = { ...rest, pool: copy === 'backup' ? (policy?.pool ?? bundle.pool) : bundle.pool };
  const all = world.candidates();
  const open = all.filter(({ place }) => !avoid.some((target) => sameTarget(target, place)));
  const others = all.flatMap(({ place }) =>
    beside.some((target) => sameTarget(target, place)) ? [place] : [],
  );
  let last: FoundPlace | undefined;
  for (const domains of choices(policy)) {
    const candidates = open.filter(({ place }) => others.every((other) => isApart(place, other, domains)));
    if (candidates.length === 0 && domains.length > 0) continue;
    const found = foundPlace(alone, yield* planOf(alone, world, candidates), 'primary');
    last = found;
    if (found.kind !== 'placed') continue;
    return { ...found, degraded: sharedDomains(found, others, forbidden(policy), all) };
  }
  return last ?? { kind: 'unplaced', reason: 'no node is left for it', unplaced: [] };
}

type Domain = 'cloud' | 'az' | 'node';

function forbidden(policy: Bundle['resiliencePolicy']): readonly Domain[] {
  if (policy === undefined) return [];
  const { sameCloud: cloud, sameAz: az, sameNode: node } = policy;
  return [
    ...(cloud === 'forbid' ? (['cloud'] as const) : []),
    ...(az === 'forbid' ? (['az'] as const) : []),
    ...(node === 'forbid' ? (['node'] as const) : []),
  ];
}

/** What is avoided, the most first; of equally many, the larger domain first. */
function choices(policy: Bundle['resiliencePolicy']): readonly (readonly Domain[])[] {
  const all = forbidden(policy);
  const subsets: (readonly Domain[])[] = [];
  for (let mask = 2 ** all.length - 1; mask >= 0; mask--) {
    subsets.push(all.filter((_, index) => (mask & (2 ** (all.length - 1 - index))) !== 0));
  }
  return subsets.sort((a, b) => b.length - a.length);
}

/** The map does not name nodes, so only those of another type are known to be others than those of a copy that runs. */
function isApart(place: Place, other: Place, domains: readonly Domain[]): boolean {
  return domains.every((domain) => {
    if (domain === 'cloud') return sameCloud(place, other) === 'apart';
    if (domain === 'az') return sameAz(place, other) === 'apart';
    return !sameTarget(place, other);
  });
}

function sharedDomains(
  { ranks }: { readonly ranks: readonly CopyRank[] },
  others: readonly Place[],
  domains: readonly Domain[],
  candidates: readonly SlotCandidate[],
): SharedDomain[] {
  return domains.flatMap((domain) => {
    const sharing = ranks.filter((rank) => {
      const place = candidates.find((candidate) => sameTarget(candidate.place, rank))?.place;
      return place !== undefined && others.some((other) => !isApart(place, other, [domain]));
    });
    const [first] = sharing;
    if (first === undefined) return [];
    const place = candidates.find((candidate) => sameTarget(candidate.place, first))?.place;
    return create(SharedDomainSchema, {
      domain,
      jobs: sharing.flatMap(({ jobNames }) => jobNames),
      value: domain === 'cloud' ? (place?.provider ?? '') : domain === 'az' ? (place?.zone ?? '') : '',
      known: domain !== 'node',
      unavoidable: false,
    });
  });
}

function* planOf(
  bundle: Bundle,
  { pools, catalogue }: World,
  candidates: readonly SlotCandidate[],
): Stepwise<BundlePlan> {
  const request = { bundles: [{ ...bundle, state: 'live' as const }], services: [], pools, candidates };
  const { bundles } = yield* planStepwise(request, { catalogue });
  const [plan] = bundles;
  if (plan === undefined) throw new Error('A bundle was not planned.');
  return plan;
}

function foundPlace(bundle: Bundle, plan: BundlePlan, copy: Copy): FoundPlace {
  if (!('copies' in plan)) {
    const findings = 'findings' in plan ? plan.findings.map(({ message }) => message).join(' ') : '';
    return { kind: 'unplaced', reason: findings || plan.message, unplaced: [] };
  }
  const found = plan.copies.find((one) => one.copy === copy);
  const message = planMessage({ bundles: [plan], services: [] }, '').bundles[0]?.copies.find(
    (one) => one.copy === copy,
  );
  if (found?.outcome === 'placed' && message !== undefined) {
    const { placements, degraded } = message;
    return { kind: 'placed', ranks: ranksOf(bundle, found.placements), placements, degraded };
  }
  const unplaced = message?.unplaced ?? [];
  const reason = unplaced.find(({ filter }) => filter !== 'bundle')?.message ?? plan.message;
  return { kind: 'unplaced', reason, unplaced };
}
