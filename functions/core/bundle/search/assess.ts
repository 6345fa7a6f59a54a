/**
 * What every class of nodes is to a set of needs: a node that holds them, or the filter
 * that keeps it out. Classes never change, so an answer is worked out once and holds for
 * all bundles of a request that ask for the same; what a plan changes comes as new classes.
 */

import type { Stepwise } from '../../stepwise.ts';
import { MAX_RESPONSES, MAX_STEPS_PER_NODE } from '../model/limits.ts';
import type { Needs } from '../model/needs.ts';
import {
  countUnverified,
  idleDevices,
  type NodeState,
  obstacle,
  type ResourceFilter,
  room,
} from '../model/node.ts';
import type { Domain } from '../model/place.ts';
import type { CompiledPool } from '../model/tiers.ts';
import type { WorkBudget } from '../work.ts';
import type { NodeClass } from './fleet.ts';

/** Why nodes of a class are out of the question, whatever else stands on them. */
export type Obstacle = 'pool' | 'eligible' | 'reachable' | 'cordoned' | ResourceFilter;

/** How well a node suits a group; less is better in every field. */
export interface Fit {
  /** Amounts that the node is not known to have. */
  readonly unverified: number;
  readonly idleDevicesLeft: number;
  readonly capacityLeft: number;
}

/** A class of nodes on which nothing of this bundle stands yet. */
export interface FreshNode {
  readonly class: NodeClass;
  readonly tier: number;
  readonly fit: Fit;
}

export interface Assessment {
  /**
   * The classes that hold the needs, best first: tier by tier, known amounts before unknown
   * ones, and in that the tightest fit, so that large nodes stay free for large jobs.
   * Those without a node at present are among them, since a plan may bring one into their state.
   */
  readonly roots: readonly FreshNode[];
  /** Those of one domain, in the same order. */
  rootsIn(domain: Domain): readonly FreshNode[];
  /** In which a node stands that holds the needs. */
  domains(): ReadonlySet<Domain>;
  /** Nothing where nodes of the class hold the needs. */
  obstacleOf(nodes: NodeClass): Obstacle | undefined;
}

/** What a step of the budget buys; see `MAX_PLAN_STEPS`. */
const CLASSES_PER_STEP = 2;

/** Classes that are assessed between two looks at the budget. */
const BLOCK = 64;

/** Keeps the assessments of one request. */
export class Assessor {
  readonly #kept = new Map<string, GrowingAssessment>();

  /**
   * @param classes all classes of the fleet, by their order, empty ones too
   * @param key equal for equal needs
   * @throws WorkExhaustedError
   */
  *assess(
    classes: readonly NodeClass[],
    pool: CompiledPool,
    needs: Needs,
    key: string,
    budget: WorkBudget,
  ): Stepwise<Assessment> {
    const name = JSON.stringify([pool.name, key]);
    let assessment = this.#kept.get(name);
    if (assessment === undefined) {
      assessment = new GrowingAssessment(pool, needs);
      this.#makeRoom(classes.length);
      this.#kept.set(name, assessment);
    }
    yield* assessment.cover(classes, budget);
    return assessment;
  }

  /** The oldest go first; asking for them again costs again. */
  #makeRoom(size: number): void {
    for (const oldest of this.#kept.keys()) {
      if ((this.#kept.size + 1) * size <= MAX_RESPONSES) return;
      this.#kept.delete(oldest);
    }
  }
}

class GrowingAssessment implements Assessment {
  readonly #obstacles: (Obstacle | undefined)[] = [];
  readonly roots: FreshNode[] = [];
  /** Empty until it is asked for, and again when a root is added. */
  readonly #byDomain = new Map<Domain, FreshNode[]>();

  constructor(
    private readonly pool: CompiledPool,
    private readonly needs: Needs,
  ) {}

  rootsIn(domain: Domain): readonly FreshNode[] {
    return this.#rootsByDomain().get(domain) ?? [];
  }

  domains(): ReadonlySet<Domain> {
    const domains = new Set<Domain>();
    for (const [domain, roots] of this.#rootsByDomain()) {
      if (roots.some((root) => root.class.size > 0)) domains.add(domain);
    }
    return domains;
  }

  #rootsByDomain(): ReadonlyMap<Domain, readonly FreshNode[]> {
    if (this.#byDomain.size === 0) {
      for (const root of this.roots) {
        const roots = this.#byDomain.get(root.class.domain);
        if (roots === undefined) this.#byDomain.set(root.class.domain, [root]);
        else roots.push(root);
      }
    }
    return this.#byDomain;
  }

  obstacleOf({ order }: NodeClass): Obstacle | undefined {
    return this.#obstacles[order];
  }

  /** Assesses the classes that came since. */
  *cover(classes: readonly NodeClass[], budget: WorkBudget): Stepwise<void> {
    const fresh = classes.slice(this.#obstacles.length);
    if (fresh.length === 0) return;
    // Kept once all of them are known: where the budget ends in between, none of them is.
    const obstacles: (Obstacle | undefined)[] = [];
    const found: FreshNode[] = [];
    for (let from = 0; from < fresh.length; from += BLOCK) {
      const block = fresh.slice(from, from + BLOCK);
      budget.spend(Math.ceil(block.length / CLASSES_PER_STEP));
      if (budget.isTurnOver()) yield;
      for (const nodes of block) {
        const { state } = nodes;
        const tier = this.pool.tierOf(state.place);
        const inTheWay = tier === undefined ? 'pool' : this.#obstacle(state, budget);
        obstacles.push(inTheWay);
        if (tier === undefined || inTheWay !== undefined) continue;
        found.push({ class: nodes, tier, fit: fitOf(state, this.needs) });
      }
    }
    for (const obstacle of obstacles) this.#obstacles.push(obstacle);
    if (found.length > 0) this.#byDomain.clear();
    if (this.roots.length === 0) {
      for (const root of found.sort(compareRoots)) this.roots.push(root);
    } else {
      // After the first time there are a few new ones, and a sort would look at all of them.
      for (const root of found) this.roots.splice(placeIn(this.roots, root), 0, root);
    }
  }

  #obstacle(state: NodeState, budget: WorkBudget): Obstacle | undefined {
    const unusable = unusabilityOf(state);
    if (unusable !== undefined) return unusable;
    const bound = this.needs.devices.length > 1 ? budget.atMost(MAX_STEPS_PER_NODE) : budget;
    return obstacle(state, this.needs, bound);
  }
}

/** What is in the way of every job. */
export function standingObstacle(
  state: NodeState,
  pool: CompiledPool,
): Exclude<Obstacle, ResourceFilter> | undefined {
  return pool.tierOf(state.place) === undefined ? 'pool' : unusabilityOf(state);
}

/** Why nothing may be placed there, in whatever pool. */
function unusabilityOf(state: NodeState): 'eligible' | 'reachable' | 'cordoned' | undefined {
  if (!state.eligible) return 'eligible';
  if (!state.reachable) return 'reachable';
  return state.cordoned ? 'cordoned' : undefined;
}

/** The position at which the root belongs, by bisection. */
function placeIn(roots: readonly FreshNode[], root: FreshNode): number {
  let from = 0;
  let to = roots.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const at = roots[middle];
    if (at !== undefined && compareRoots(at, root) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

function compareRoots(a: FreshNode, b: FreshNode): number {
  return a.tier - b.tier || compareFits(a.fit, b.fit) || a.class.order - b.class.order;
}

export function fitOf(state: NodeState, needs: Needs): Fit {
  const devices = needs.devices.reduce((sum, need) => sum + (need.kind === 'whole' ? need.count : 1), 0);
  return {
    unverified: countUnverified(state, needs),
    idleDevicesLeft: idleDevices(state) - devices,
    capacityLeft: room(state.capacity)?.minus(needs.capacity).value ?? Number.POSITIVE_INFINITY,
  };
}

export function compareFits(a: Fit, b: Fit): number {
  return (
    a.unverified - b.unverified ||
    a.idleDevicesLeft - b.idleDevicesLeft ||
    // Two unknown amounts are infinite, and their difference is no number.
    (a.capacityLeft === b.capacityLeft ? 0 : a.capacityLeft - b.capacityLeft)
  );
}
