/** A copy without a plan, explained job by job. */
import { describePods } from '../../capacity/view/describe-pods.ts';
import { quote } from '../../quote.ts';
import type { Stepwise } from '../../stepwise.ts';
import { countNodes } from '../model/describe.ts';
import type { Bundle } from '../model/model.ts';
import { NO_NEEDS, needsKey } from '../model/needs.ts';
import type { Assessor } from '../search/assess.ts';
import type { NodeClass } from '../search/fleet.ts';
import type { OwedNodes } from '../search/owed-nodes.ts';
import type { DeadEnd, Rules } from '../search/search.ts';
import type { UsedNode, Variable } from '../search/search-model.ts';
import type { CopyOfBundle } from '../search/variables.ts';
import { boundedWork, type WorkBudget } from '../work.ts';
import type { ElasticOffers } from './elastic-offers.ts';
import { type ExplainedJob, explain } from './explain.ts';
import type { UnplacedCopy, UnplacedJob } from './plan-model.ts';

interface Surroundings {
  readonly bundle: Bundle;
  readonly rules: Rules;
  readonly context: {
    readonly classes: readonly NodeClass[];
    readonly assessor: Assessor;
    readonly elastic: ElasticOffers;
  };
  readonly budget: WorkBudget;
}

interface Placeable {
  readonly copy: CopyOfBundle;
  readonly variables: readonly Variable[];
}

/**
 * The reasons. A group that has no node even with nothing else of the copy placed is
 * explained by itself; else the one at which the search came to its deepest dead end, with
 * the nodes that the other groups had there; the rest waits for it, since a bundle is
 * placed as a whole.
 *
 * @param standing nodes of the other copy, which is placed
 */
export function* unplacedCopy(
  surroundings: Surroundings,
  { copy, variables }: Placeable,
  deadEnd: DeadEnd,
  standing: readonly UsedNode[],
): Stepwise<UnplacedCopy> {
  const { bundle, rules, context, budget } = surroundings;
  const byGroup = new Map(variables.map((variable) => [variable.group, variable]));
  const stuck = variables[deadEnd.variable];
  const blocking = bundle.jobs.find((_, job) => copy.groups.groupOf[job] === stuck?.group);

  function* reasonOf(job: number, variable: Variable): Stepwise<Omit<UnplacedJob, 'jobName' | 'wouldFit'>> {
    const needs = copy.needs[job] ?? NO_NEEDS;
    const request: ExplainedJob = {
      needs,
      assessment: yield* context.assessor.assess(context.classes, copy.pool, needs, needsKey(needs), budget),
      variable,
      group: (copy.groups.groups[variable.group] ?? []).map((member) => bundle.jobs[member]?.jobName ?? ''),
      az: rules.az,
    };
    const alone = yield* explain(request, context.classes, standing, budget);
    if (alone.filter !== undefined) return { ...alone, filter: alone.filter };
    const there =
      variable === stuck ? yield* explain(request, context.classes, deadEnd.touched, budget) : undefined;
    if (there?.filter !== undefined) {
      const message = `With the bundle's other jobs placed: ${there.message}`;
      return { counts: there.counts, filter: there.filter, message };
    }
    const message =
      `${countNodes(alone.counts.at(-1)?.left ?? 0)} of pool ${quote(copy.pool.name)} could hold it; a bundle is placed as a whole, ` +
      `and job ${quote(blocking?.jobName ?? '')} has no node.`;
    return { counts: alone.counts, filter: 'bundle', message };
  }

  const unplaced: UnplacedJob[] = [];
  for (const [job, { jobName }] of bundle.jobs.entries()) {
    const variable = byGroup.get(copy.groups.groupOf[job] ?? -1);
    if (variable === undefined) continue;
    const reason = yield* boundedWork(reasonOf(job, variable));
    if (reason === 'exhausted') unplaced.push({ jobName, ...NOT_LOOKED_INTO, wouldFit: [] });
    else {
      const wouldFit = yield* context.elastic.offersFor(copy.pool, variable.needs);
      unplaced.push({ jobName, ...reason, wouldFit });
    }
  }
  return { copy: copy.copy, outcome: 'unplaced', unplaced };
}

const NOT_LOOKED_INTO = {
  filter: 'work',
  counts: [],
  message: 'The bundle has no plan; the bound on work was reached before the reason of this job was found.',
} as const;

/** Why a search ended without a response. */
export type OpenReason = Pick<UnplacedJob, 'filter' | 'message'>;

export function stepsReached(maxSteps: number): OpenReason {
  return {
    filter: 'work',
    message: `The search came to its bound, of ${maxSteps} steps or of what it may keep in mind; ask with fewer bundles, jobs or candidates, or with a narrower pool.`,
  };
}

export function demandOpen({ owed, nodeType }: OwedNodes): OpenReason {
  return {
    filter: 'demand',
    message: `It is undecided whether ${owed.claimed ? 'demand and claims that come' : 'the demand that comes'} first on ${nodeType} (${describePods(owed.pods)}) leave${owed.claimed ? '' : 's'} room: packing it reached its bound on work.`,
  };
}

/** The copy where the search ended before an answer: nothing is said of any node. */
export function undecidedCopy(bundle: Bundle, { copy }: CopyOfBundle, reason: OpenReason): UnplacedCopy {
  return {
    copy,
    outcome: 'undecided',
    unplaced: bundle.jobs.map(({ jobName }) => ({
      jobName,
      ...reason,
      counts: [],
      wouldFit: [],
    })),
  };
}
