/** The groups of one copy of a bundle as what a search places, in the order in which it places them. */

import type { Stepwise } from '../../stepwise.ts';
import type { JobGroups } from '../model/groups.ts';
import { MAX_RESPONSES } from '../model/limits.ts';
import { type Bundle, type BundleJobSpec, PRIORITY_BANDS } from '../model/model.ts';
import { type Needs, NO_NEEDS, needsKey, needsOf, together } from '../model/needs.ts';
import type { CompiledPool } from '../model/tiers.ts';
import { type WorkBudget, WorkExhaustedError } from '../work.ts';
import type { Assessment, Assessor } from './assess.ts';
import type { NodeClass } from './fleet.ts';
import type { Copy, Variable } from './search-model.ts';

/** One copy of a bundle. */
export interface CopyOfBundle {
  readonly copy: Copy;
  readonly pool: CompiledPool;
  readonly groups: JobGroups;
  /** By job. */
  readonly needs: readonly Needs[];
}

/** The copy with its needs; the jobs of a backup are distinguished from the primary's by their numbers. */
export function copyOf(bundle: Bundle, groups: JobGroups, copy: Copy, pool: CompiledPool): CopyOfBundle {
  const needs = bundle.jobs.map((job, i) => needsOf(job.requirements, jobNumber(bundle, copy, i)));
  return { copy, pool, groups, needs };
}

/** Identifies a job of a copy among those of both. */
export function jobNumber(bundle: Bundle, copy: Copy, job: number): number {
  return copy === 'primary' ? job : bundle.jobs.length + job;
}

/** 0 for gold, 1 for silver, 2 for bronze. */
export function bandRank(job: BundleJobSpec): number {
  return PRIORITY_BANDS.indexOf(job.requirements?.priorityBand ?? 'bronze');
}

/**
 * One variable a group. Groups with a job of a higher band choose first; in a band those
 * with the fewest nodes to choose from, since they fail soonest.
 *
 * @throws WorkExhaustedError
 */
export function* variablesOf(
  bundle: Bundle,
  { copy, pool, groups, needs }: CopyOfBundle,
  { classes, assessor }: { readonly classes: readonly NodeClass[]; readonly assessor: Assessor },
  budget: WorkBudget,
): Stepwise<readonly Variable[]> {
  const ofGroup = groups.groups.map((jobs) => together(jobs.map((job) => needs[job] ?? NO_NEEDS)));
  const keys = ofGroup.map(needsKey);
  const kinds = kindsOf(keys, groups.apart);
  const answered = new Set<Assessment>();
  const variables: { readonly variable: Variable; readonly band: number }[] = [];
  for (const [group, jobs] of groups.groups.entries()) {
    const groupNeeds = ofGroup[group] ?? NO_NEEDS;
    const assessment = yield* assessor.assess(classes, pool, groupNeeds, keys[group] ?? '', budget);
    answered.add(assessment);
    if (answered.size * classes.length > MAX_RESPONSES) {
      throw new WorkExhaustedError(`The groups have more than ${MAX_RESPONSES} answers.`);
    }
    const variable: Variable = {
      copy,
      group,
      needs: groupNeeds,
      pool,
      apart: groups.apart[group] ?? new Set(),
      // A backup's groups are interchangeable among themselves only.
      kind: (kinds[group] ?? 0) + (copy === 'primary' ? 0 : groups.groups.length),
      assessment,
      domains: assessment.domains(),
    };
    variables.push({ variable, band: bandOf(bundle, jobs) });
  }
  return variables
    .sort(
      (a, b) =>
        a.band - b.band ||
        a.variable.assessment.roots.length - b.variable.assessment.roots.length ||
        b.variable.needs.capacity.compare(a.variable.needs.capacity) ||
        a.variable.group - b.variable.group,
    )
    .map(({ variable }) => variable);
}

function bandOf(bundle: Bundle, jobs: readonly number[]): number {
  return jobs.reduce((best, job) => {
    const spec = bundle.jobs[job];
    return spec === undefined ? best : Math.min(best, bandRank(spec));
  }, PRIORITY_BANDS.length);
}

/**
 * Groups with one kind can change places in any plan: they need the same and stand apart
 * from the same others (each other aside).
 */
function kindsOf(keys: readonly string[], apart: readonly ReadonlySet<number>[]): readonly number[] {
  const leaders = new Map<string, number[]>();
  return keys.map((key, group) => {
    const known = leaders.get(key);
    const twin = known?.find((leader) => areTwins(apart, leader, group));
    if (twin !== undefined) return twin;
    if (known === undefined) leaders.set(key, [group]);
    else known.push(group);
    return group;
  });
}

function areTwins(apart: readonly ReadonlySet<number>[], a: number, b: number): boolean {
  const ofA = apart[a] ?? new Set<number>();
  const ofB = apart[b] ?? new Set<number>();
  if (ofA.size !== ofB.size) return false;
  for (const other of ofA) if (other !== b && !ofB.has(other)) return false;
  return true;
}
