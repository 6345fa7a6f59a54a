/** Why a job has no node: how many nodes each filter left, and the most that the last of them found. */
import { describePods } from '../../capacity/view/describe-pods.ts';
import { quote } from '../../quote.ts';
import type { Stepwise } from '../../stepwise.ts';
import { type Amount, largest, NOTHING } from '../model/amounts.ts';
import { countNodes, describeDevice, describeRequirement, listNames } from '../model/describe.ts';
import { isIdle } from '../model/devices.ts';
import { MAX_STEPS_PER_NODE } from '../model/limits.ts';
import type { AzRule } from '../model/model.ts';
import { type Needs, together } from '../model/needs.ts';
import { type NodeState, obstacle, room, unmetCapability } from '../model/node.ts';
import { type Domain, sameAz } from '../model/place.ts';
import { type Assessment, standingObstacle } from '../search/assess.ts';
import type { NodeClass } from '../search/fleet.ts';
import { verdictBeside } from '../search/owed-nodes.ts';
import type { Copy, UsedNode, Variable } from '../search/search-model.ts';
import { boundedBy, type WorkBudget } from '../work.ts';
import { FILTERS, type Filter } from './plan-model.ts';

/** A job as far as its explanation goes. */
export interface ExplainedJob {
  readonly needs: Needs;
  /** Of the job alone. */
  readonly assessment: Assessment;
  readonly variable: Variable;
  /** Names of the jobs that must share its node, its own among them. */
  readonly group: readonly string[];
  /** Within one copy. */
  readonly az: AzRule;
}

export interface Explanation {
  /** Nodes that each filter left, up to and with the first that left none. */
  readonly counts: readonly { readonly filter: Filter; readonly left: number }[];
  /** The first filter that left no node; nothing where a node is left. */
  readonly filter: Filter | undefined;
  readonly message: string;
}

/** What a step of the budget buys; see `MAX_PLAN_STEPS`. */
const CLASSES_PER_STEP = 8;
/** Needs are added up and devices assigned, with the job alone and with its group. */
const STEPS_PER_NODE_IN_USE = 4;

/**
 * Counts the nodes that each filter leaves for the job, with what stands on `touched`.
 * Nodes of the classes that are not touched count as they are.
 */
export function* explain(
  request: ExplainedJob,
  classes: readonly NodeClass[],
  touched: readonly UsedNode[],
  budget: WorkBudget,
): Stepwise<Explanation> {
  const used = new Map<NodeClass, number>();
  for (const node of touched) used.set(node.class, (used.get(node.class) ?? 0) + 1);
  const zones = domainsOf(touched, request.variable.copy);
  const stopped = new Map<Filter, Inspected[]>();
  let all = 0;
  const inspect = (node: Inspected): void => {
    all += node.count;
    const filter =
      firstObstacle(request, node, zones, budget) ?? behindDemand(request, node, touched, budget);
    if (filter === undefined) return;
    const group = stopped.get(filter);
    if (group === undefined) stopped.set(filter, [node]);
    else group.push(node);
  };
  for (const node of touched) {
    budget.spend(STEPS_PER_NODE_IN_USE);
    if (budget.isTurnOver()) yield;
    inspect({ class: node.class, count: 1, touched: node });
  }
  for (const [i, nodes] of classes.entries()) {
    if (i % CLASSES_PER_STEP === 0) budget.spend(1);
    if (i % CLASSES_PER_STEP === 0 && budget.isTurnOver()) yield;
    const count = nodes.size - (used.get(nodes) ?? 0);
    if (count > 0) inspect({ class: nodes, count, touched: undefined });
  }

  const counts: { filter: Filter; left: number }[] = [];
  let left = all;
  let before = left;
  for (const filter of FILTERS) {
    const here = stopped.get(filter) ?? [];
    before = left;
    left -= here.reduce((sum, node) => sum + node.count, 0);
    counts.push({ filter, left });
    if (left === 0) return { counts, filter, message: describeStop(request, filter, before, here) };
  }
  return {
    counts,
    filter: undefined,
    message: `${countNodes(left)} of pool ${quote(request.variable.pool.name)} could hold it.`,
  };
}

interface Inspected {
  readonly class: NodeClass;
  readonly count: number;
  readonly touched: UsedNode | undefined;
}

function firstObstacle(
  request: ExplainedJob,
  node: Inspected,
  zones: ReadonlyMap<Domain, number>,
  budget: WorkBudget,
): Filter | undefined {
  const { variable, az } = request;
  const obstacle =
    node.touched === undefined ? ofClass(request, node.class) : ofTouched(request, node.touched, budget);
  if (obstacle !== undefined) return obstacle;
  const loads = (node.touched?.loads ?? []).filter((load) => load.copy === variable.copy);
  if (loads.some((load) => variable.apart.has(load.group))) return 'separation';
  if (az !== 'hard') return undefined;
  const { domain } = node.class;
  for (const [other, count] of zones) {
    const isItself = other === domain && count === 1 && loads.length > 0;
    if (!isItself && sameAz(domain, other) !== 'same') return 'sameAz';
  }
  return undefined;
}

/** Not decided counts as left: the reason is then given for the whole copy. */
function behindDemand(
  { variable }: ExplainedJob,
  node: Inspected,
  touched: readonly UsedNode[],
  budget: WorkBudget,
): Filter | undefined {
  return verdictBeside(touched, node, variable.needs, budget) === 'no' ? 'demand' : undefined;
}

/** The domains in which the copy stands, with its nodes in each. */
function domainsOf(touched: readonly UsedNode[], copy: Copy): ReadonlyMap<Domain, number> {
  const domains = new Map<Domain, number>();
  for (const { class: nodes, loads } of touched) {
    if (loads.some((load) => load.copy === copy)) {
      domains.set(nodes.domain, (domains.get(nodes.domain) ?? 0) + 1);
    }
  }
  return domains;
}

function ofClass({ assessment, variable, group }: ExplainedJob, nodes: NodeClass): Filter | undefined {
  const obstacle = assessment.obstacleOf(nodes);
  if (obstacle !== undefined || group.length === 1) return obstacle;
  return variable.assessment.obstacleOf(nodes) === undefined ? undefined : 'coLocation';
}

/** With what stands on the node already. */
function ofTouched(
  { needs, variable, group }: ExplainedJob,
  node: UsedNode,
  budget: WorkBudget,
): Filter | undefined {
  const { state } = node.class;
  const obstacle =
    standingObstacle(state, variable.pool) ?? check(state, together([node.needs, needs]), budget);
  if (obstacle !== undefined || group.length === 1) return obstacle;
  return check(state, together([node.needs, variable.needs]), budget) === undefined
    ? undefined
    : 'coLocation';
}

/** A node whose devices take too many steps counts as left. */
function check(state: NodeState, needs: Needs, budget: WorkBudget): ReturnType<typeof obstacle> {
  const response = boundedBy(() => obstacle(state, needs, budget.atMost(MAX_STEPS_PER_NODE)));
  return response === 'exhausted' ? undefined : response;
}

/** @param here the nodes that the filter took away, the last ones */
function describeStop(
  { needs, variable, group }: ExplainedJob,
  filter: Filter,
  before: number,
  here: readonly Inspected[],
): string {
  const pool = `pool ${quote(variable.pool.name)}`;
  const left = `the ${countNodes(before)} that ${before === 1 ? 'is' : 'are'} left of ${pool}`;
  switch (filter) {
    case 'pool':
      return before === 0
        ? `There are no nodes to place it on.`
        : `None of the ${countNodes(before)} is in a tier of ${pool}.`;
    case 'eligible':
      return `None of the ${countNodes(before)} of ${pool} is eligible for placement.`;
    case 'reachable':
      return `None of ${left} is reachable.`;
    case 'cordoned':
      return `All of ${left} are cordoned.`;
    case 'capacity':
      return `None of ${left} has capacity ${needs.capacity} left; the most is ${mostLeft(
        here,
        (n) => room(n.capacity),
        (n) => n.needs.capacity,
      )}.`;
    case 'cores':
      return `None of ${left} has ${needs.cores} cores left; the most is ${mostLeft(
        here,
        (n) => room(n.cores),
        (n) => n.needs.cores,
      )}.`;
    case 'gpu':
      return `None of ${left} has ${needs.devices.map(describeDevice).join(' and ')} left; ${describeBestDevice(here)}.`;
    case 'capabilities':
      return `None of ${left} has ${describeUnmet(needs, here)}.`;
    case 'coLocation':
      return `None of ${left} holds jobs ${listNames(group)} together, which must share a node.`;
    case 'separation':
      return `All of ${left} carry jobs that it must stand apart from.`;
    case 'demand':
      return `None of ${left} can be had: ${describeOwed(here)}.`;
    case 'sameAz':
      return `None of ${left} is known to stand in the zone of the bundle's other jobs, which sameAz "hard" asks for.`;
  }
}

/** Node types shown of those whose demand comes first. */
const NODE_TYPES_SHOWN = 3;

function describeOwed(nodes: readonly Inspected[]): string {
  const owed = [...new Set(nodes.flatMap((node) => node.class.owed ?? []))];
  const shown = owed
    .slice(0, NODE_TYPES_SHOWN)
    .map(
      ({ owed: { pods, claimed }, nodeType }) =>
        `${claimed ? 'demand and claims come' : 'demand comes'} first on ${nodeType}: ${describePods(pods)}`,
    );
  const more = owed.length - shown.length;
  return `${shown.join('; ')}${more > 0 ? `; and on ${more} node types more` : ''}`;
}

function mostLeft(
  nodes: readonly Inspected[],
  of: (state: NodeState) => Amount | undefined,
  taken: (node: { needs: Needs }) => Amount,
): Amount {
  return largest(
    nodes.map((node) => {
      const left = of(node.class.state) ?? NOTHING;
      return node.touched === undefined ? left : left.minus(taken(node.touched));
    }),
  );
}

/** The node with the most idle devices, and the largest share of one device, before this bundle. */
function describeBestDevice(nodes: readonly Inspected[]): string {
  let idle = 0;
  const shares: Amount[] = [];
  const models = new Set<string>();
  for (const {
    class: { state },
  } of nodes) {
    idle = Math.max(idle, state.devices.filter(isIdle).length);
    for (const device of state.devices) {
      if (device.model !== undefined && device.model !== '') models.add(device.model);
      if (!device.exclusive && device.total !== undefined) shares.push(device.total.minus(device.reserved));
    }
  }
  const of = models.size === 0 ? '' : ` of the models ${listNames([...models])}`;
  return `the most on one of them is ${idle} idle device${idle === 1 ? '' : 's'}${of}, and ${largest(shares)} of one device`;
}

/** The capability that keeps the most nodes off, and the most of it that one of them has left. */
function describeUnmet(needs: Needs, nodes: readonly Inspected[]): string {
  const stops = new Map<string, number>();
  let most = 0;
  let name = '';
  for (const {
    class: { state },
    count,
    touched,
  } of nodes) {
    const all = touched === undefined ? needs : together([touched.needs, needs]);
    const unmet = unmetCapability(state, all) ?? '';
    const sum = (stops.get(unmet) ?? 0) + count;
    stops.set(unmet, sum);
    if (sum > most) {
      most = sum;
      name = unmet;
    }
  }
  const requirement = needs.capabilities.find((c) => c.name === name);
  if (requirement === undefined) return 'all the capabilities that it needs';
  const left = nodes.map((node) => {
    const units = node.class.state.capabilities.get(name);
    return units === undefined
      ? undefined
      : units.total - units.taken - (node.touched?.needs.units.get(name) ?? 0);
  });
  const known = left.filter((count) => count !== undefined);
  const asked = describeRequirement({ ...requirement, count: needs.units.get(name) ?? requirement.count });
  if (known.length === 0) return `${asked}, or any of that capability`;
  return `${asked}; the most that one has left is ${known.reduce((a, b) => Math.max(a, b), 0)}`;
}
