/** How little a backup must share with its primary, and how to find a plan that shares no more. */
import { type Place, type SameDomain, sameAz, sameCloud } from './place.ts';
import {
  findNodes,
  type RootOption,
  type SearchOptions,
  SHARING_COST,
  type Solution,
  type Variable,
} from './search.ts';
import { boundedBy } from './work.ts';

/** A solution, and whether there is none that shares less and whose primary stands in no later tiers. */
export interface LeastShared {
  readonly solution: Solution;
  readonly proven: boolean;
}

/**
 * Looks for solutions that share less and less, in which no group of the primary stands
 * in a later tier than it does: a better backup never costs the primary its tier.
 */
export function shareLess(
  variables: readonly Variable[],
  first: Solution,
  options: Pick<SearchOptions, 'rules' | 'budget'>,
): LeastShared {
  const tiers = first.tiers.slice(0, variables.filter((v) => v.copy === 'primary').length);
  const bound = boundedBy(() => leastSharing(variables, tiers, options));
  if (bound === 'exhausted') return { solution: first, proven: first.sharing === 0 };
  let solution = first;
  while (solution.sharing > bound) {
    const maxSharing = solution.sharing - 1;
    const better = boundedBy(() => findNodes(variables, { ...options, tiers, maxSharing }));
    if (better === 'exhausted') return { solution, proven: false };
    if (better.kind === 'none') return { solution, proven: true };
    solution = better.solution;
  }
  return { solution, proven: true };
}

/**
 * A bound from below: what every choice of nodes shares, since all nodes of some group of
 * the primary stand in one domain with all that a group of the backup can have. It spares
 * fleets of one zone or one cloud the search for a second.
 */
function leastSharing(
  variables: readonly Variable[],
  tiers: readonly number[],
  { rules, budget }: Pick<SearchOptions, 'rules' | 'budget'>,
): number {
  const primary = variables
    .filter((v) => v.copy === 'primary')
    .map((v, i) => domainsOf(v.roots.filter((root) => root.tier <= (tiers[i] ?? 0))));
  const forced = (place: Place, compare: (a: Place, b: Place) => SameDomain): number =>
    primary.reduce((most, places) => {
      budget.spend(places.length);
      return Math.max(most, least(places.map((other) => SHARING_COST[compare(place, other)])));
    }, 0);
  return variables
    .filter((v) => v.copy === 'backup')
    .reduce((sum, { roots }) => {
      const costs = domainsOf(roots).map(
        (place) =>
          (rules.forbid.az ? forced(place, sameAz) : 0) + (rules.forbid.cloud ? forced(place, sameCloud) : 0),
      );
      return sum + least(costs);
    }, 0);
}

function least(costs: readonly number[]): number {
  return costs.length === 0 ? 0 : costs.reduce((a, b) => Math.min(a, b));
}

/** One place for each provider, region and zone. */
function domainsOf(roots: readonly RootOption[]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const { class: at } of roots) {
    const { place } = at.state;
    places.set(JSON.stringify([place.provider, place.region, place.zone]), place);
  }
  return [...places.values()];
}
