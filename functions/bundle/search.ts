/**
 * Finds nodes for groups of jobs. Depth first, one group after the other, each trying its
 * nodes in order of preference: the first solution is the one in which every group has the
 * best node that the groups before it leave. Exact: where it finds none there is none,
 * unless the budget ends first.
 *
 * What keeps it small: nodes in one state are one choice (see `fleet.ts`), and a state from
 * which the remaining groups were shown not to fit is not entered again, where groups that
 * ask for the same are interchangeable.
 */
import type { NodeClass } from './fleet.ts';
import type { AzRule } from './model.ts';
import { type Needs, NO_NEEDS, together } from './needs.ts';
import { holdsAll, idleDevices, type NodeState, room, unverified } from './node.ts';
import { type Place, type SameDomain, sameAz, sameCloud } from './place.ts';
import type { CompiledPool } from './tiers.ts';
import type { WorkBudget } from './work.ts';

export type Copy = 'primary' | 'backup';

/** A group of jobs of one copy, which needs a node. */
export interface Variable {
  readonly copy: Copy;
  /** Its group among those of the bundle. */
  readonly group: number;
  /** The group's needs all together. */
  readonly needs: Needs;
  readonly pool: CompiledPool;
  /** Groups that must stand on other nodes, in the same copy. */
  readonly apart: ReadonlySet<number>;
  /** Variables of one kind are interchangeable. */
  readonly kind: number;
  /** Classes that hold the group when nothing else of the bundle stands there, the best first. */
  readonly roots: readonly RootOption[];
}

/** A class of nodes on which nothing of this bundle stands yet. */
export interface RootOption {
  readonly class: NodeClass;
  readonly tier: number;
  readonly fit: Fit;
}

/** How well a node suits a group; less is better in every field. */
interface Fit {
  /** Amounts that the node is not known to have. */
  readonly unverified: number;
  readonly idleDevicesLeft: number;
  readonly capacityLeft: number;
}

/** Rules between the nodes of a bundle. */
export interface Rules {
  /** Within one copy. */
  readonly az: AzRule;
  /** Between primary and backup. */
  readonly forbid: { readonly node: boolean; readonly az: boolean; readonly cloud: boolean };
}

/** One node of a class. */
export interface NodePosition {
  readonly class: NodeClass;
  readonly position: number;
}

/** A node on which something of the bundle stands. */
export interface TouchedNode extends NodePosition {
  readonly loads: readonly Variable[];
  /** Of all loads together. */
  readonly needs: Needs;
}

export interface Solution {
  /** The node of each variable, in their order. */
  readonly nodes: readonly NodePosition[];
  readonly tiers: readonly number[];
  /** Every node once, with all that stands on it. */
  readonly touched: readonly TouchedNode[];
  /** What the backup's groups share with the primary against the policy, by {@link SHARING_COST}. */
  readonly sharing: number;
}

/** How far a search without a solution came at its deepest. */
export interface DeadEnd {
  /** Position of the variable for which no node was left. */
  readonly variable: number;
  readonly touched: readonly TouchedNode[];
}

export type Outcome =
  | { readonly kind: 'found'; readonly solution: Solution }
  | { readonly kind: 'none'; readonly deadEnd: DeadEnd };

export interface SearchOptions {
  readonly rules: Rules;
  readonly budget: WorkBudget;
  /** Solutions that share more are none. */
  readonly maxSharing?: number;
  /** The last tier that each of the first variables may stand in. */
  readonly tiers?: readonly number[];
  /** Nodes on which something stands already. */
  readonly standing?: readonly TouchedNode[];
}

/** @throws WorkExhaustedError */
export function findNodes(variables: readonly Variable[], options: SearchOptions): Outcome {
  const search = new Search(variables, options);
  const solution = search.run();
  return solution === undefined ? { kind: 'none', deadEnd: search.deadEnd } : { kind: 'found', solution };
}

/**
 * The classes that hold the needs, best first: tier by tier, known amounts before unknown
 * ones, and in that the tightest fit, so that large nodes stay free for large jobs.
 *
 * @throws WorkExhaustedError
 */
export function rootOptions(
  needs: Needs,
  pool: CompiledPool,
  classes: readonly NodeClass[],
  budget: WorkBudget,
): readonly RootOption[] {
  const options: RootOption[] = [];
  for (const candidate of classes) {
    const { state } = candidate;
    const tier = pool.tierOf(state.place);
    budget.spend(1);
    if (tier === undefined || !isUsable(state) || !holdsAll(state, needs, budget)) continue;
    options.push({ class: candidate, tier, fit: fitOf(state, needs) });
  }
  return options.sort(
    (a, b) => a.tier - b.tier || compareFits(a.fit, b.fit) || a.class.order - b.class.order,
  );
}

/** Whether anything may be placed on the node at all. */
export function isUsable(state: NodeState): boolean {
  return state.eligible && state.reachable && !state.cordoned;
}

/** How a backup's node stands to the primary's in each domain that the policy forbids to share. */
export interface SharedDomains {
  readonly node: SameDomain;
  readonly az: SameDomain;
  readonly cloud: SameDomain;
}

/**
 * Against all nodes of the primary: `same` if one of them is known to stand in the domain,
 * else `unknown` if one may. What the policy allows counts as `apart`.
 */
export function sharedDomains(
  node: NodePosition,
  primary: readonly NodePosition[],
  forbid: Rules['forbid'],
): SharedDomains {
  const { place } = node.class.state;
  const isSame = (p: NodePosition): boolean => p.class === node.class && p.position === node.position;
  const closest = (compare: (a: Place, b: Place) => SameDomain): SameDomain => {
    const all = primary.map((p) => (isSame(p) ? 'same' : compare(place, p.class.state.place)));
    return all.includes('same') ? 'same' : all.includes('unknown') ? 'unknown' : 'apart';
  };
  return {
    node: forbid.node && primary.some(isSame) ? 'same' : 'apart',
    az: forbid.az ? closest(sameAz) : 'apart',
    cloud: forbid.cloud ? closest(sameCloud) : 'apart',
  };
}

/** What sharing a domain counts for: better one that may be shared than one that is. */
export const SHARING_COST: Readonly<Record<SameDomain, number>> = { apart: 0, unknown: 1, same: 2 };

interface Option {
  readonly class: NodeClass;
  /** The node, where something of the bundle stands on it; else a new one of the class is taken. */
  readonly touched: MutableNode | undefined;
  readonly tier: number;
  readonly fit: Fit;
  readonly sharing: number;
  /** Nodes of the copy that are known to stand in the same zone. */
  readonly neighbours: number;
}

interface MutableNode {
  readonly class: NodeClass;
  readonly position: number;
  readonly loads: Variable[];
  needs: Needs;
}

class Search {
  readonly #touched: MutableNode[] = [];
  readonly #used = new Map<NodeClass, number>();
  readonly #chosen: { node: MutableNode; tier: number }[] = [];
  readonly #failed = new Set<string>();
  readonly #rules: Rules;
  readonly #budget: WorkBudget;
  readonly #maxSharing: number;
  readonly #tiers: readonly number[];
  #sharing = 0;
  #deadEnd: DeadEnd | undefined;

  constructor(
    private readonly variables: readonly Variable[],
    options: SearchOptions,
  ) {
    this.#rules = options.rules;
    this.#budget = options.budget;
    this.#maxSharing = options.maxSharing ?? Number.POSITIVE_INFINITY;
    this.#tiers = options.tiers ?? [];
    for (const node of options.standing ?? []) {
      this.#touched.push({ ...node, loads: [...node.loads] });
      this.#used.set(node.class, (this.#used.get(node.class) ?? 0) + 1);
    }
  }

  get deadEnd(): DeadEnd {
    return this.#deadEnd ?? { variable: 0, touched: [] };
  }

  run(): Solution | undefined {
    if (!this.#descend(0)) return undefined;
    return {
      nodes: this.#chosen.map((c) => c.node),
      tiers: this.#chosen.map((c) => c.tier),
      touched: this.#touched,
      sharing: this.#sharing,
    };
  }

  #descend(depth: number): boolean {
    const variable = this.variables[depth];
    if (variable === undefined) return true;
    this.#budget.spend(1);
    if (this.#failed.size > 0 && this.#failed.has(this.#stateKey(depth))) return false;

    const options = this.#options(variable, depth);
    if (options.length === 0) this.#recordDeadEnd(depth);
    for (const option of options) {
      const node = option.touched ?? this.#touch(option.class);
      this.#chosen.push({ node, tier: option.tier });
      this.#sharing += option.sharing;
      const needsBefore = node.needs;
      node.needs = together([node.needs, variable.needs]);
      node.loads.push(variable);
      if (this.#descend(depth + 1)) return true;
      node.loads.pop();
      node.needs = needsBefore;
      this.#sharing -= option.sharing;
      this.#chosen.pop();
      if (option.touched === undefined) this.#release(node);
    }
    this.#failed.add(this.#stateKey(depth));
    return false;
  }

  /** The next node of the class. Nodes are given back in the reverse order, so that those in use are its first. */
  #touch(from: NodeClass): MutableNode {
    const position = this.#used.get(from) ?? 0;
    this.#used.set(from, position + 1);
    const node = { class: from, position, loads: [], needs: NO_NEEDS };
    this.#touched.push(node);
    return node;
  }

  #release(node: MutableNode): void {
    this.#touched.pop();
    this.#used.set(node.class, node.position);
  }

  #options(variable: Variable, depth: number): readonly Option[] {
    const standing = this.#touched.filter((node) => node.loads.some((load) => load.copy === variable.copy));
    const primary = this.#touched.filter((node) => node.loads.some((load) => load.copy === 'primary'));
    const tier = this.#tiers[depth];
    const options: Option[] = [];
    const consider = (option: Omit<Option, 'sharing' | 'neighbours'>, position: number): void => {
      this.#budget.spend(1);
      if (tier !== undefined && option.tier > tier) return;
      const others = standing.filter((node) => node !== option.touched);
      const neighbours = this.#neighbours(option.class.state.place, others);
      if (this.#rules.az === 'hard' && neighbours < others.length) return;
      const sharing =
        variable.copy === 'backup'
          ? costOf(sharedDomains({ class: option.class, position }, primary, this.#rules.forbid))
          : 0;
      if (this.#sharing + sharing > this.#maxSharing) return;
      options.push({ ...option, sharing, neighbours });
    };

    const seen = new Set<string>();
    for (const node of this.#touched) {
      const nodeTier = variable.pool.tierOf(node.class.state.place);
      if (nodeTier === undefined || !isUsable(node.class.state)) continue;
      if (node.loads.some((load) => load.copy === variable.copy && variable.apart.has(load.group))) continue;
      // Nodes of one class with the same loads are one choice.
      const key = loadKey(node);
      if (seen.has(key)) continue;
      seen.add(key);
      const needs = together([node.needs, variable.needs]);
      if (!holdsAll(node.class.state, needs, this.#budget)) continue;
      consider(
        { class: node.class, touched: node, tier: nodeTier, fit: fitOf(node.class.state, needs) },
        node.position,
      );
    }
    for (const root of variable.roots) {
      const used = this.#used.get(root.class) ?? 0;
      if (used < root.class.size) consider({ ...root, touched: undefined }, used);
    }
    return options.sort((a, b) => this.#compare(a, b));
  }

  #compare(a: Option, b: Option): number {
    return (
      a.sharing - b.sharing ||
      a.tier - b.tier ||
      (this.#rules.az === 'soft' ? b.neighbours - a.neighbours : 0) ||
      compareFits(a.fit, b.fit) ||
      a.class.order - b.class.order ||
      (a.touched?.position ?? Number.MAX_SAFE_INTEGER) - (b.touched?.position ?? Number.MAX_SAFE_INTEGER)
    );
  }

  #neighbours(place: Place, others: readonly MutableNode[]): number {
    if (this.#rules.az === 'off') return 0;
    return others.reduce((n, other) => n + (sameAz(place, other.class.state.place) === 'same' ? 1 : 0), 0);
  }

  #recordDeadEnd(depth: number): void {
    if (this.#deadEnd !== undefined && this.#deadEnd.variable >= depth) return;
    this.#deadEnd = {
      variable: depth,
      touched: this.#touched.map((node) => ({ ...node, loads: [...node.loads] })),
    };
  }

  /** What the remaining variables see: which kinds stand together on which class. */
  #stateKey(depth: number): string {
    return `${depth}|${this.#sharing}|${this.#touched.map(loadKey).sort().join('|')}`;
  }
}

function loadKey(node: MutableNode): string {
  return `${node.class.order}:${node.loads
    .map((load) => load.kind)
    .sort((a, b) => a - b)
    .join(',')}`;
}

function fitOf(state: NodeState, needs: Needs): Fit {
  const devices = needs.devices.reduce((sum, need) => sum + (need.kind === 'whole' ? need.count : 1), 0);
  return {
    unverified: unverified(state, needs).length,
    idleDevicesLeft: idleDevices(state) - devices,
    capacityLeft: (room(state.capacity) ?? Number.POSITIVE_INFINITY) - needs.capacity,
  };
}

function compareFits(a: Fit, b: Fit): number {
  return (
    a.unverified - b.unverified ||
    a.idleDevicesLeft - b.idleDevicesLeft ||
    // Two unknown amounts are infinite, and their difference is no number.
    (a.capacityLeft === b.capacityLeft ? 0 : a.capacityLeft - b.capacityLeft)
  );
}

function costOf({ node, az, cloud }: SharedDomains): number {
  return SHARING_COST[node] + SHARING_COST[az] + SHARING_COST[cloud];
}
