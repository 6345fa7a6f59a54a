/**
 * One bundle: as a whole or not at all. First its primary copy in the tiers' order, then
 * the backup. If there is a plan, one is found, unless the bound on work is reached first,
 * which is said; a bundle without a plan gets the reason for each of its jobs.
 */

import { quote } from '../../quote.ts';
import type { Stepwise } from '../../stepwise.ts';
import { groupJobs } from '../model/groups.ts';
import type { Bundle } from '../model/model.ts';
import type { CompiledPool } from '../model/tiers.ts';
import type { Assessor } from '../search/assess.ts';
import type { NodeClass, PlannedNode } from '../search/fleet.ts';
import type { OwedNodes } from '../search/owed-nodes.ts';
import { type DeadEnd, findNodes, type Outcome, type Rules, type Solution } from '../search/search.ts';
import type { UsedNode, Variable } from '../search/search-model.ts';
import { minimizeSharing } from '../search/sharing.ts';
import { type CopyOfBundle, copyOf, variablesOf } from '../search/variables.ts';
import { invalidNumbers, transitiveContradictions } from '../validate/advice.ts';
import { structuralFindings } from '../validate/validate.ts';
import { boundedWork, WorkBudget } from '../work.ts';
import type { ElasticOffers } from './elastic-offers.ts';
import { assignAll, degradationOf, placedCopy, plannedNodes } from './placements.ts';
import type { BundlePlan, SharedDomain, UnplacedCopy } from './plan-model.ts';
import { demandOpen, stepsReached, undecidedCopy, unplacedCopy } from './unplaced.ts';

export interface BundleContext {
  /** Of the fleet, by their order, empty ones too. */
  readonly classes: readonly NodeClass[];
  readonly assessor: Assessor;
  readonly pools: ReadonlyMap<string, CompiledPool>;
  readonly elastic: ElasticOffers;
  readonly maxSteps: number;
}

export interface BundleResult {
  readonly plan: BundlePlan;
  /** What the plan takes; nothing where there is none. */
  readonly planned: readonly PlannedNode[];
  /** Steps of search that it took. */
  readonly steps: number;
}

/** Shares of a bundle's steps for its searches, of which the last only makes a plan better, and for the reasons. */
const BOTH_COPIES_SHARE = 0.4;
const PRIMARY_ALONE_SHARE = 0.2;
const BACKUP_AFTER_SHARE = 0.2;
const SHARE_LESS_SHARE = 0.1;

export function* planBundle(bundle: Bundle, context: BundleContext): Stepwise<BundleResult> {
  const { bundleId } = bundle;
  if (bundle.state === 'deleting') {
    const message = 'The bundle is being deleted; nothing of it is placed.';
    return { plan: { bundleId, outcome: 'skipped', message }, planned: [], steps: 0 };
  }
  const groups = groupJobs(bundle);
  const findings = [
    ...structuralFindings(bundle, context.pools),
    ...transitiveContradictions(bundle, groups),
    ...invalidNumbers(bundle),
  ];
  const pool = context.pools.get(bundle.pool);
  const policy = bundle.resiliencePolicy;
  const backupPool = policy && context.pools.get(policy.pool ?? bundle.pool);
  if (findings.length > 0 || pool === undefined) {
    const message = `The bundle cannot be planned: ${findings[0]?.message ?? 'its pool is not configured.'}`;
    return { plan: { bundleId, outcome: 'invalid', findings, message }, planned: [], steps: 0 };
  }

  const budget = new WorkBudget(context.maxSteps);
  const task: Task = { bundle, context, budget, rules: rulesOf(bundle) };
  const primary = copyOf(bundle, groups, 'primary', pool);
  const planned =
    backupPool === undefined
      ? yield* placePrimary(task, primary)
      : yield* placeBoth(task, primary, copyOf(bundle, groups, 'backup', backupPool));
  return { ...planned, steps: budget.spent };
}

interface Task {
  readonly bundle: Bundle;
  readonly context: BundleContext;
  readonly budget: WorkBudget;
  readonly rules: Rules;
}

type Planned = Omit<BundleResult, 'steps'>;

/** A copy with what the search places of it. */
interface Placeable {
  readonly copy: CopyOfBundle;
  readonly variables: readonly Variable[];
}

function rulesOf({ intraReplicaPlacement, resiliencePolicy }: Bundle): Rules {
  return {
    az: intraReplicaPlacement?.sameAz ?? 'off',
    forbid: {
      node: resiliencePolicy?.sameNode === 'forbid',
      az: resiliencePolicy?.sameAz === 'forbid',
      cloud: resiliencePolicy?.sameCloud === 'forbid',
    },
  };
}

function* placePrimary(task: Task, copy: CopyOfBundle): Stepwise<Planned> {
  const primary = yield* placeable(task, copy);
  if (primary === 'exhausted') return undecided(task, copy);
  const outcome = yield* search(task, primary.variables, BOTH_COPIES_SHARE + PRIMARY_ALONE_SHARE);
  if (outcome === 'exhausted') return undecided(task, copy);
  if (outcome.kind === 'none' && outcome.open !== undefined)
    return openBehindDemand(task, copy, outcome.open);
  if (outcome.kind === 'none') return yield* unplaced(task, primary, outcome);
  return yield* placed(task, [primary], outcome.solution, []);
}

/**
 * Both copies in one search, so that a primary leaves room for its backup where it can.
 * If there is no plan for both, or none in time, the primary by itself, and then the
 * backup after it.
 */
function* placeBoth(task: Task, primaryCopy: CopyOfBundle, backupCopy: CopyOfBundle): Stepwise<Planned> {
  const primary = yield* placeable(task, primaryCopy);
  if (primary === 'exhausted') return undecided(task, primaryCopy);
  const backup = yield* placeable(task, backupCopy);
  if (backup === 'exhausted') return undecided(task, primaryCopy);

  const both = yield* search(task, [...primary.variables, ...backup.variables], BOTH_COPIES_SHARE);
  if (both !== 'exhausted' && both.kind === 'found')
    return yield* placedTogether(task, primary, backup, both.solution);

  const alone = yield* search(task, primary.variables, PRIMARY_ALONE_SHARE);
  if (alone === 'exhausted') return undecided(task, primaryCopy);
  if (alone.kind === 'none' && alone.open !== undefined)
    return openBehindDemand(task, primaryCopy, alone.open);
  if (alone.kind === 'none') return yield* unplaced(task, primary, alone);
  const after = yield* search(task, backup.variables, BACKUP_AFTER_SHARE, alone.solution.touched);
  if (after !== 'exhausted' && after.kind === 'found') {
    const solution: Solution = {
      ...after.solution,
      nodes: [...alone.solution.nodes, ...after.solution.nodes],
      tiers: [...alone.solution.tiers, ...after.solution.tiers],
    };
    return yield* placedTogether(task, primary, backup, solution);
  }
  const missing =
    after === 'exhausted'
      ? undecidedCopy(task.bundle, backupCopy, stepsReached(task.context.maxSteps))
      : after.open !== undefined
        ? undecidedCopy(task.bundle, backupCopy, demandOpen(after.open))
        : yield* unplacedCopy(task, backup, after.deadEnd, alone.solution.touched);
  return yield* partial(task, primary, alone.solution, missing);
}

function* placeable(task: Task, copy: CopyOfBundle): Stepwise<Placeable | 'exhausted'> {
  const { bundle, context, budget } = task;
  const variables = yield* boundedWork(variablesOf(bundle, copy, context, budget));
  return variables === 'exhausted' ? variables : { copy, variables };
}

function* search(
  { rules, budget }: Task,
  variables: readonly Variable[],
  share: number,
  standing: readonly UsedNode[] = [],
): Stepwise<Outcome | 'exhausted'> {
  // A group that no node holds by itself has none with others beside it either.
  const hopeless = variables.findIndex((v) => !v.assessment.roots.some((root) => root.class.size > 0));
  if (hopeless !== -1)
    return { kind: 'none', deadEnd: { variable: hopeless, touched: standing }, open: undefined };
  return yield* boundedWork(findNodes(variables, { rules, budget: budget.share(share), standing }));
}

/** Both copies have nodes; the backup may get others, on which it shares less with the primary. */
function* placedTogether(
  task: Task,
  primary: Placeable,
  backup: Placeable,
  first: Solution,
): Stepwise<Planned> {
  const { bundle, rules, budget } = task;
  const variables = [...primary.variables, ...backup.variables];
  const { solution, proven } = yield* minimizeSharing(variables, first, {
    rules,
    budget: budget.share(SHARE_LESS_SHARE),
  });
  const degraded = degradationOf(bundle, backup.copy, variables, solution, rules, proven);
  return yield* placed(task, [primary, backup], solution, degraded);
}

function* placed(
  { bundle }: Task,
  copies: readonly Placeable[],
  solution: Solution,
  degraded: readonly SharedDomain[],
): Stepwise<Planned> {
  const assigned = yield* assignAll(solution);
  const variables = copies.flatMap((c) => c.variables);
  return {
    plan: {
      bundleId: bundle.bundleId,
      outcome: 'placed',
      copies: copies.map(({ copy }) =>
        placedCopy(bundle, copy, variables, assigned, copy.copy === 'backup' ? degraded : []),
      ),
      message: describePlaced(bundle, copies.length, degraded),
    },
    planned: plannedNodes(assigned),
  };
}

function* partial(
  task: Task,
  primary: Placeable,
  solution: Solution,
  backup: UnplacedCopy,
): Stepwise<Planned> {
  const { bundle } = task;
  const assigned = yield* assignAll(solution);
  return {
    plan: {
      bundleId: bundle.bundleId,
      outcome: 'partial',
      copies: [placedCopy(bundle, primary.copy, primary.variables, assigned, []), backup],
      message: `The primary has a plan and the backup has none. ${firstReason(backup)}`,
    },
    planned: plannedNodes(assigned),
  };
}

function* unplaced(
  task: Task,
  primary: Placeable,
  { deadEnd }: { readonly deadEnd: DeadEnd },
): Stepwise<Planned> {
  const copy = yield* unplacedCopy(task, primary, deadEnd, []);
  const message = `There is no plan for the bundle. ${firstReason(copy)}`;
  return {
    plan: { bundleId: task.bundle.bundleId, outcome: 'unplaced', copies: [copy], message },
    planned: [],
  };
}

function undecided({ bundle, context }: Task, primary: CopyOfBundle): Planned {
  const copy = undecidedCopy(bundle, primary, stepsReached(context.maxSteps));
  const message = `Neither a plan nor that there is none was found within ${context.maxSteps} steps.`;
  return { plan: { bundleId: bundle.bundleId, outcome: 'undecided', copies: [copy], message }, planned: [] };
}

function openBehindDemand({ bundle }: Task, primary: CopyOfBundle, open: OwedNodes): Planned {
  const reason = demandOpen(open);
  const copy = undecidedCopy(bundle, primary, reason);
  return {
    plan: { bundleId: bundle.bundleId, outcome: 'undecided', copies: [copy], message: reason.message },
    planned: [],
  };
}

function describePlaced(bundle: Bundle, copies: number, degraded: readonly SharedDomain[]): string {
  const jobs = bundle.jobs.length === 1 ? 'the job' : `all ${bundle.jobs.length} jobs`;
  const what = copies === 2 ? `Primary and backup of ${jobs} have a node` : `A node for ${jobs}`;
  if (degraded.length === 0) return `${what}.`;
  const shared = [...new Set(degraded.map((d) => d.domain))].join(', ');
  return `${what}; the backup is degraded: it is not apart from the primary in ${shared}.`;
}

/** Of the first job that stands in the way by itself. */
function firstReason({ unplaced }: UnplacedCopy): string {
  const job = unplaced.find((j) => j.filter !== 'bundle') ?? unplaced[0];
  return job === undefined ? '' : `Job ${quote(job.jobName)}: ${job.message}`;
}
