/**
 * What an agent that lost its rights reports: pools that vanish, a cluster without nodes. It may be
 * true, so these always warn and never reject; and they stay in the cluster's status until its
 * content changes again, since nobody reads the response to an agent's push.
 */
import { type Finding, FindingCollector, type Findings } from '../../findings.ts';
import { quote } from '../../quote.ts';
import type { RuleContext } from './context.ts';
import type { CapacityFacts } from './node-type-succession.ts';
import { rulesOf, warnAlways } from './rule.ts';

export const lossRules = rulesOf({
  pool_gone: warnAlways(
    'capacity_pools',
    'Every pool of the content before is there. One finding a pool; not reported where `snapshot_emptied` is. It stays in the cluster’s status until the content changes again.',
  ),
  snapshot_emptied: warnAlways(
    'capacity_pools',
    'There is a node, if the content before had one. It stays in the cluster’s status until the content changes again.',
  ),
});

/** What the content before had and the present one has not. */
export interface Loss {
  /** Nodes that the content before had, if the present one has none; 0 otherwise. */
  readonly emptiedNodes: number;
  /** Ids of pools, in the order of the content before; empty if the cluster was emptied. */
  readonly goneCount: number;
  readonly goneIds: readonly string[];
}

export const NO_LOSS: Loss = Object.freeze({ emptiedNodes: 0, goneCount: 0, goneIds: Object.freeze([]) });

export function lossBetween(previous: CapacityFacts, next: CapacityFacts): Loss {
  const emptiedNodes = nodesOf(next) === 0 ? nodesOf(previous) : 0;
  if (emptiedNodes > 0) return { ...NO_LOSS, emptiedNodes };
  const present = new Set(next.poolIds);
  const goneIds = [...new Set(previous.poolIds)].filter((id) => !present.has(id));
  return goneIds.length === 0 ? NO_LOSS : { ...NO_LOSS, goneCount: goneIds.length, goneIds };
}

/** How many warnings a loss is. */
export function warningsOf({ emptiedNodes, goneCount }: Loss): number {
  return emptiedNodes > 0 ? 1 : goneCount;
}

/** The warnings of a loss, as many as its ids are known. */
export function lossFindings(loss: Loss, context: Pick<RuleContext, 'maxFindings'>): Findings {
  const out = new FindingCollector({ cap: context.maxFindings });
  const path = () => 'capacity_pools';
  if (loss.emptiedNodes > 0) {
    out.report(
      lossRules.snapshot_emptied,
      path,
      () =>
        `the snapshot has no node, and the content before had ${loss.emptiedNodes}; if they are still there, check the agent’s rights`,
    );
  }
  for (const id of loss.goneIds) {
    out.report(
      lossRules.pool_gone,
      path,
      () =>
        `pool ${quote(id)} of the content before is not there; if it was not removed, check the agent’s rights`,
    );
  }
  return out.result();
}

/** The same as a list, for a status. */
export function standingLoss(loss: Loss): readonly Finding[] {
  return lossFindings(loss, {}).findings;
}

function nodesOf({ nodeTypes }: CapacityFacts): number {
  return nodeTypes.reduce((sum, { totalCount }) => sum + totalCount, 0);
}
