/** How few forbidden domains a backup must share with its primary, and how to find a plan that shares no more. */
import { type Place, sameAz, sameCloud } from './place.ts';
import { findNodes, type RootOption, type SearchOptions, type Solution, type Variable } from './search.ts';
import { boundedBy } from './work.ts';

/** A solution, and whether there is none with fewer violations whose primary stands in no later tiers. */
export interface LeastShared {
  readonly solution: Solution;
  readonly proven: boolean;
}

/**
 * Looks for solutions with ever fewer violations, in which no group of the primary stands
 * in a later tier than it does: a better backup never costs the primary its tier.
 */
export function shareLess(
  variables: readonly Variable[],
  first: Solution,
  options: Pick<SearchOptions, 'rules' | 'budget'>,
): LeastShared {
  const tiers = first.tiers.slice(0, variables.filter((v) => v.copy === 'primary').length);
  const least = boundedBy(() => leastViolations(variables, tiers, options));
  if (least === 'exhausted') return { solution: first, proven: first.violations === 0 };
  let solution = first;
  while (solution.violations > least) {
    const maxViolations = solution.violations - 1;
    const better = boundedBy(() => findNodes(variables, { ...options, tiers, maxViolations }));
    if (better === 'exhausted') return { solution, proven: false };
    if (better.kind === 'none') return { solution, proven: true };
    solution = better.solution;
  }
  return { solution, proven: true };
}

/**
 * A bound from below: what every choice of nodes breaks, since all nodes of some group of
 * the primary stand in one domain with all that a group of the backup can have. It spares
 * fleets of one zone or one cloud the search for a second.
 */
function leastViolations(
  variables: readonly Variable[],
  tiers: readonly number[],
  { rules, budget }: Pick<SearchOptions, 'rules' | 'budget'>,
): number {
  const primary = variables
    .filter((v) => v.copy === 'primary')
    .map((v, i) => domainsOf(v.roots.filter((root) => root.tier <= (tiers[i] ?? 0))));
  const isForced = (place: Place, compare: (a: Place, b: Place) => string): boolean =>
    primary.some((places) => {
      budget.spend(places.length);
      return places.length > 0 && places.every((other) => compare(place, other) !== 'apart');
    });
  let least = 0;
  for (const variable of variables) {
    if (variable.copy !== 'backup') continue;
    const forced = domainsOf(variable.roots).map(
      (place) =>
        Number(rules.forbid.az && isForced(place, sameAz)) +
        Number(rules.forbid.cloud && isForced(place, sameCloud)),
    );
    least += forced.length === 0 ? 0 : forced.reduce((a, b) => Math.min(a, b));
  }
  return least;
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
