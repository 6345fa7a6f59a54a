/** What live claims leave of a cluster's capacity. */
import { STEPS_PER_VIEW } from '../capacity/packing/limits.ts';
import { Work } from '../capacity/packing/work.ts';
import { EMPTY, plus } from '../capacity/view/histogram.ts';
import { serveDemand } from '../capacity/view/served-demand.ts';
import type { ClaimedOnTarget } from '../capacity/view/target-row.ts';
import { type Evaluation, podsByKey, targetsByKey } from './evaluate.ts';

/** By target; those without claims are left out. Pods of chains that the snapshot shows waiting are held once, by the claim. */
export function claimedByTarget({ claims, view }: Evaluation): ReadonlyMap<string, ClaimedOnTarget> {
  const held = new Map<string, Omit<ClaimedOnTarget, 'freeNodesAfter'>>();
  for (const claim of claims) {
    for (const [key, pods] of podsByKey(claim)) {
      const on = held.get(key) ?? { pods: EMPTY, claims: 0, unbackedClaims: 0 };
      held.set(key, {
        pods: plus(on.pods, pods),
        claims: on.claims + 1,
        unbackedClaims: on.unbackedClaims + (claim.backed === false ? 1 : 0),
      });
    }
  }
  if (view === undefined || held.size === 0) return new Map();
  const work = new Work(STEPS_PER_VIEW);
  const targets = targetsByKey(view);
  return new Map(
    [...held].flatMap(([key, on]): [string, ClaimedOnTarget][] => {
      const target = targets.get(key);
      if (target === undefined) return [];
      const { served, occupancy } = target;
      const demand = { pending: plus(served.pending, served.reserved), reserved: on.pods };
      return [
        [key, { ...on, freeNodesAfter: serveDemand(occupancy.freeNodes, demand, work).freeNodesAfter }],
      ];
    }),
  );
}
