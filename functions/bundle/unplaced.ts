/** A copy without a plan, told job by job. */
import { quote } from '../snapshot/quote.ts';
import type { InstanceCatalogue } from './catalogue.ts';
import { countNodes } from './describe.ts';
import { explain, type JobQuestion } from './explain.ts';
import type { NodeClass } from './fleet.ts';
import type { Bundle } from './model.ts';
import { type Needs, NO_NEEDS } from './needs.ts';
import type { UnplacedCopy, UnplacedJob } from './plan-model.ts';
import { emptyNode, mayHold } from './profile.ts';
import type { DeadEnd, Rules, TouchedNode, Variable } from './search.ts';
import { type CompiledPool, elasticProfiles } from './tiers.ts';
import type { CopyOfBundle } from './variables.ts';

interface Surroundings {
  readonly bundle: Bundle;
  readonly rules: Rules;
  readonly context: { readonly classes: readonly NodeClass[]; readonly catalogue: InstanceCatalogue };
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
export function unplacedCopy(
  { bundle, rules, context }: Surroundings,
  { copy, variables }: Placeable,
  deadEnd: DeadEnd,
  standing: readonly TouchedNode[],
): UnplacedCopy {
  const byGroup = new Map(variables.map((variable) => [variable.group, variable]));
  const stuck = variables[deadEnd.variable];
  const offers = elasticOffers(copy.pool, context.catalogue);
  const blocking = bundle.jobs.findIndex((_, job) => copy.groups.groupOf[job] === stuck?.group);
  const unplaced = bundle.jobs.flatMap((job, i): readonly UnplacedJob[] => {
    const variable = byGroup.get(copy.groups.groupOf[i] ?? -1);
    if (variable === undefined) return [];
    const question: JobQuestion = {
      needs: copy.needs[i] ?? NO_NEEDS,
      variable,
      group: (copy.groups.groups[variable.group] ?? []).map((member) => bundle.jobs[member]?.jobName ?? ''),
      az: rules.az,
    };
    const wouldFit = offersThatHold(offers, variable.needs);
    const alone = explain(question, context.classes, standing);
    if (alone.filter !== undefined) {
      return [{ jobName: job.jobName, ...alone, filter: alone.filter, wouldFit }];
    }
    const there = variable === stuck ? explain(question, context.classes, deadEnd.touched) : undefined;
    if (there?.filter !== undefined) {
      const message = `With the bundle's other jobs placed: ${there.message}`;
      return [{ jobName: job.jobName, counts: there.counts, filter: there.filter, message, wouldFit }];
    }
    const other = bundle.jobs[blocking]?.jobName ?? '';
    const message =
      `${countNodes(alone.counts.at(-1)?.left ?? 0)} of pool ${quote(copy.pool.name)} could hold it; a bundle is placed as a whole, ` +
      `and job ${quote(other)} has no node.`;
    return [{ jobName: job.jobName, counts: alone.counts, filter: 'bundle', message, wouldFit }];
  });
  return { copy: copy.copy, outcome: 'unplaced', unplaced };
}

/** The copy where the search ended before an answer: nothing is said of any node. */
export function undecidedCopy(bundle: Bundle, { copy }: CopyOfBundle, maxSteps: number): UnplacedCopy {
  return {
    copy,
    outcome: 'undecided',
    unplaced: bundle.jobs.map(({ jobName }) => ({
      jobName,
      filter: 'work',
      counts: [],
      message: `The search took its ${maxSteps} steps; ask with fewer bundles, jobs or candidates, or with a narrower pool.`,
      wouldFit: [],
    })),
  };
}

interface ElasticOffer {
  readonly tier: number;
  readonly tierName: string;
  readonly instanceType: string;
  readonly node: ReturnType<typeof emptyNode>;
}

function elasticOffers(pool: CompiledPool, catalogue: InstanceCatalogue): readonly ElasticOffer[] {
  return elasticProfiles(pool, catalogue).map(({ tier, instanceType, profile }) => ({
    tier,
    tierName: pool.tiers[tier]?.tierName ?? '',
    instanceType,
    node: emptyNode(profile),
  }));
}

function offersThatHold(offers: readonly ElasticOffer[], needs: Needs): UnplacedJob['wouldFit'] {
  return offers
    .filter(({ node }) => mayHold(node, needs))
    .map(({ tier, tierName, instanceType }) => ({ tier, tierName, instanceType }));
}
