/** How to find a plan whose backup shares less with its primary. */

import type { Stepwise } from '../../stepwise.ts';
import { boundedWork } from '../work.ts';
import { findNodes, type SearchOptions, type Solution } from './search.ts';
import type { Variable } from './search-model.ts';

/** A solution, and whether there is none that shares less and whose primary stands in no later tiers. */
export interface LeastShared {
  readonly solution: Solution;
  readonly proven: boolean;
}

/**
 * Looks for solutions that share less and less, in which no group of the primary stands
 * in a later tier than it does: a better backup never costs the primary its tier.
 */
export function* minimizeSharing(
  variables: readonly Variable[],
  first: Solution,
  options: Pick<SearchOptions, 'rules' | 'budget'>,
): Stepwise<LeastShared> {
  const tiers = first.tiers.slice(0, variables.filter((v) => v.copy === 'primary').length);
  let solution = first;
  while (solution.sharing > 0) {
    const maxSharing = solution.sharing - 1;
    const better = yield* boundedWork(findNodes(variables, { ...options, tiers, maxSharing }));
    if (better === 'exhausted') return { solution, proven: false };
    if (better.kind === 'none') return { solution, proven: better.open === undefined };
    solution = better.solution;
  }
  return { solution, proven: true };
}
