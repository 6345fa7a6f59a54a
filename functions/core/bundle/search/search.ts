/**
 * Finds nodes for groups of jobs. Depth first, one group after the other, each trying its
 * nodes in order of preference: the first solution is the one in which every group has the
 * best node that the groups before it leave. Exact: where it finds none there is none,
 * unless the budget ends first.
 *
 * What keeps it small: nodes in one state are one choice (see `fleet.ts`), a state from
 * which the remaining groups were shown not to fit is not entered again, where groups that
 * ask for the same are interchangeable, and a backup that must share less rules out
 * domains for the primary before any node of them is tried (see `domain-limit.ts`).
 */

import type { Stepwise } from '../../stepwise.ts';
import { MAX_STEPS_PER_NODE } from '../model/limits.ts';
import type { AzRule } from '../model/model.ts';
import { type Needs, NO_NEEDS, together } from '../model/needs.ts';
import { holdsAll } from '../model/node.ts';
import type { Domain } from '../model/place.ts';
import type { WorkBudget } from '../work.ts';
import { compareFits, type FreshNode, fitOf, standingObstacle } from './assess.ts';
import { DomainLimit } from './domain-limit.ts';
import type { NodeClass } from './fleet.ts';
import { type OwedNodes, verdictBeside } from './owed-nodes.ts';
import type { Copy, NodePosition, UsedNode, Variable } from './search-model.ts';
import { costOfDomain, costOfSameNode, type Forbidden } from './sharing-cost.ts';

/** Rules between the nodes of a bundle. */
export interface Rules {
  /** Within one copy. */
  readonly az: AzRule;
  /** Between primary and backup. */
  readonly forbid: Forbidden;
}

export interface Solution {
  /** The node of each variable, in their order. */
  readonly nodes: readonly NodePosition[];
  readonly tiers: readonly number[];
  /** Every node once, with all that stands on it. */
  readonly touched: readonly UsedNode[];
  /** What the backup's groups share with the primary against the policy, summed: see `sharing-cost.ts`. */
  readonly sharing: number;
}

/** How far a search without a solution came at its deepest. */
export interface DeadEnd {
  /** Position of the variable for which no node was left. */
  readonly variable: number;
  readonly touched: readonly UsedNode[];
}

export type Outcome =
  | { readonly kind: 'found'; readonly solution: Solution }
  | {
      readonly kind: 'none';
      readonly deadEnd: DeadEnd;
      /** A node type for which it is undecided whether what it owes leaves the bundle room: there may be a solution. */
      readonly open: OwedNodes | undefined;
    };

export interface SearchOptions {
  readonly rules: Rules;
  readonly budget: WorkBudget;
  /** Solutions that share more are none. */
  readonly maxSharing?: number;
  /** The last tier that each of the first variables may stand in. */
  readonly tiers?: readonly number[];
  /** Nodes on which something stands already. */
  readonly standing?: readonly UsedNode[];
}

/**
 * @param variables those of the primary before those of the backup
 * @throws WorkExhaustedError
 */
export function* findNodes(variables: readonly Variable[], options: SearchOptions): Stepwise<Outcome> {
  const search = new Search(variables, options);
  const solution = yield* search.run();
  return solution === undefined
    ? { kind: 'none', deadEnd: search.deadEnd, open: search.open }
    : { kind: 'found', solution };
}

/** A node that a group may take: a new one of its class, or one on which something of the bundle stands. */
interface Option extends FreshNode {
  readonly touched?: MutableNode;
}

/** An option with what it would count for that shares domains with the primary. */
interface Weighed {
  readonly option: Option;
  readonly sharing: number;
}

interface MutableNode extends NodePosition {
  readonly loads: Variable[];
  needs: Needs;
  /** See {@link loadKey}; it is read far more often than it changes. */
  key: string;
}

interface Choice {
  readonly node: MutableNode;
  readonly tier: number;
}

class Search {
  readonly #touched: MutableNode[] = [];
  readonly #used = new Map<NodeClass, number>();
  readonly #chosen: Choice[] = [];
  readonly #failed = new Set<string>();
  readonly #rules: Rules;
  readonly #budget: WorkBudget;
  readonly #maxSharing: number;
  readonly #limit: DomainLimit | undefined;
  readonly #tiers: readonly number[];
  readonly #firstBackup: number;
  #sharing = 0;
  #open: OwedNodes | undefined;
  #deadEnd: DeadEnd | undefined;

  constructor(
    private readonly variables: readonly Variable[],
    options: SearchOptions,
  ) {
    this.#rules = options.rules;
    this.#budget = options.budget;
    this.#maxSharing = options.maxSharing ?? Number.POSITIVE_INFINITY;
    this.#tiers = options.tiers ?? [];
    this.#firstBackup = variables.findIndex((v) => v.copy === 'backup');
    this.#limit =
      options.maxSharing === undefined
        ? undefined
        : new DomainLimit(variables, options.rules.forbid, options.maxSharing, options.budget);
    for (const node of options.standing ?? []) {
      this.#touched.push({ ...node, loads: [...node.loads], key: loadKey(node) });
      this.#used.set(node.class, (this.#used.get(node.class) ?? 0) + 1);
    }
  }

  /** A node type that kept a group out although it is undecided whether it has to. */
  get open(): OwedNodes | undefined {
    return this.#open;
  }

  get deadEnd(): DeadEnd {
    return this.#deadEnd ?? { variable: 0, touched: [] };
  }

  *run(): Stepwise<Solution | undefined> {
    if (!(yield* this.#descend(0))) return undefined;
    return {
      nodes: this.#chosen.map((c) => c.node),
      tiers: this.#chosen.map((c) => c.tier),
      touched: this.#touched,
      sharing: this.#sharing,
    };
  }

  *#descend(depth: number): Stepwise<boolean> {
    const variable = this.variables[depth];
    if (variable === undefined) return true;
    this.#budget.spend(1 + Math.ceil(this.#touched.length / NODES_PER_STEP));
    if (this.#failed.size > 0 && this.#failed.has(this.#stateKey(depth))) return false;

    const inUse = yield* this.#touchedOptions(variable);
    const isRuledOut = this.#ruledOutFor(variable);
    let isDeadEnd = true;
    for (const weighed of this.#options(variable, depth, inUse)) {
      if (this.#budget.isTurnOver()) yield;
      if (!this.#leavesOwedRoom(variable, weighed.option)) continue;
      isDeadEnd = false;
      if (isRuledOut(weighed.option.class.domain)) continue;
      if (yield* this.#try(depth, variable, weighed)) return true;
    }
    if (isDeadEnd) this.#recordDeadEnd(depth);
    this.#failed.add(this.#stateKey(depth));
    if (depth === this.#firstBackup) this.#limit?.add(this.#domainsOf('primary'), this.#touched);
    return false;
  }

  /** Whether the pods that come first still have their place with the group there. */
  #leavesOwedRoom(variable: Variable, { class: nodes, touched }: Option): boolean {
    const verdict = verdictBeside(this.#touched, { class: nodes, touched }, variable.needs, this.#budget);
    if (verdict === 'undecided') this.#open = nodes.owed;
    return verdict === 'yes';
  }

  /** Puts the group there and goes on; takes it away again where that leads nowhere. */
  *#try(depth: number, variable: Variable, { option, sharing }: Weighed): Stepwise<boolean> {
    const node = option.touched ?? this.#touch(option.class);
    const { needs: needsBefore, key: keyBefore } = node;
    this.#chosen.push({ node, tier: option.tier });
    this.#sharing += sharing;
    node.needs = together([node.needs, variable.needs]);
    node.loads.push(variable);
    node.key = loadKey(node);
    if (yield* this.#descend(depth + 1)) return true;
    node.loads.pop();
    node.needs = needsBefore;
    node.key = keyBefore;
    this.#sharing -= sharing;
    this.#chosen.pop();
    if (option.touched === undefined) this.#release(node);
    return false;
  }

  /** The next node of the class. Nodes are given back in the reverse order, so that those in use are its first. */
  #touch(from: NodeClass): MutableNode {
    const position = this.#used.get(from) ?? 0;
    this.#used.set(from, position + 1);
    const node = { class: from, position, loads: [], needs: NO_NEEDS, key: '' };
    this.#touched.push(node);
    return node;
  }

  #release(node: MutableNode): void {
    this.#touched.pop();
    this.#used.set(node.class, node.position);
  }

  /**
   * The nodes that the group may take: those that share least with the primary before
   * others, and the best of each first. Given one by one, since the first mostly does.
   */
  *#options(
    variable: Variable,
    depth: number,
    inUse: readonly Option[],
  ): Generator<Weighed, void, undefined> {
    const { costOf, least } = this.#costs(variable);
    const later = new Map<number, Weighed[]>();
    let looked = 0;
    for (const option of this.#inOrder(variable, depth, inUse)) {
      if (++looked % OPTIONS_PER_STEP === 0) this.#budget.spend(1);
      const sharing = costOf(option);
      if (this.#sharing + sharing > this.#maxSharing) continue;
      if (sharing <= least) {
        yield { option, sharing };
        continue;
      }
      const level = later.get(sharing);
      if (level === undefined) later.set(sharing, [{ option, sharing }]);
      else level.push({ option, sharing });
    }
    for (const [, level] of [...later].sort(([a], [b]) => a - b)) yield* level;
  }

  /** Nodes that hold the group and break no hard rule, by tier, preferred zone and fit. */
  *#inOrder(variable: Variable, depth: number, inUse: readonly Option[]): Generator<Option, void, undefined> {
    const lastTier = this.#tiers[depth] ?? Number.POSITIVE_INFINITY;
    const { az } = this.#rules;
    const standing =
      az === 'off' ? [] : this.#touched.filter((n) => n.loads.some((l) => l.copy === variable.copy));
    const preferred = az === 'soft' ? standing : [];
    const isAllowed = (option: Option): boolean =>
      option.tier <= lastTier && (az !== 'hard' || isInZoneOf(standing, option));
    const touched = inUse.filter(isAllowed).sort(compareOptions);
    const merged = this.#merged(touched, this.#rootsOf(variable, standing), lastTier, isAllowed);
    if (preferred.length === 0) {
      yield* merged;
      return;
    }
    this.#budget.spend(Math.ceil(variable.assessment.roots.length / OPTIONS_PER_STEP));
    yield* byNeighbours(merged, preferred);
  }

  /** Roots are in order; the few others come among them at their places. */
  *#merged(
    touched: readonly Option[],
    roots: readonly FreshNode[],
    lastTier: number,
    isAllowed: (option: Option) => boolean,
  ): Generator<Option, void, undefined> {
    let next = 0;
    let passed = 0;
    for (const root of roots) {
      if (root.tier > lastTier) break;
      if (++passed % PASSED_PER_STEP === 0) this.#budget.spend(1);
      if ((this.#used.get(root.class) ?? 0) >= root.class.size || !isAllowed(root)) continue;
      for (let at = touched[next]; at !== undefined && compareOptions(at, root) < 0; at = touched[next]) {
        next++;
        yield at;
      }
      yield root;
    }
    yield* touched.slice(next);
  }

  /** The untouched nodes that are worth a look: under a hard zone rule those of the zone in which the copy stands. */
  #rootsOf({ assessment }: Variable, standing: readonly MutableNode[]): readonly FreshNode[] {
    const [first] = standing;
    if (this.#rules.az !== 'hard' || first === undefined) return assessment.roots;
    return assessment.rootsIn(first.class.domain);
  }

  /** Nodes on which something of the bundle stands and that hold the group beside it. */
  *#touchedOptions(variable: Variable): Stepwise<Option[]> {
    const options: Option[] = [];
    const seen = new Set<string>();
    for (const node of this.#touched) {
      const { state } = node.class;
      const tier = variable.pool.tierOf(state.place);
      if (tier === undefined || standingObstacle(state, variable.pool) !== undefined) continue;
      if (node.loads.some((load) => load.copy === variable.copy && variable.apart.has(load.group))) continue;
      // Nodes of one class with the same loads are one choice.
      if (seen.has(node.key)) continue;
      seen.add(node.key);
      this.#budget.spend(STEPS_PER_NODE_IN_USE);
      if (this.#budget.isTurnOver()) yield;
      const needs = together([node.needs, variable.needs]);
      if (!holdsAll(state, needs, this.#budget.atMost(MAX_STEPS_PER_NODE))) continue;
      options.push({ class: node.class, touched: node, tier, fit: fitOf(state, needs) });
    }
    return options;
  }

  /** What a node counts for that shares domains with the primary, and the least that any node can count for. */
  #costs({ copy, domains }: Variable): {
    readonly costOf: (option: Option) => number;
    readonly least: number;
  } {
    const primary = copy === 'backup' ? this.#domainsOf('primary') : NO_DOMAINS;
    if (primary.size === 0) return { costOf: () => 0, least: 0 };
    const { forbid } = this.#rules;
    const sameNode = costOfSameNode(forbid);
    this.#budget.spend(Math.ceil((domains.size * primary.size) / DOMAINS_PER_STEP));
    const byDomain = new Map([...domains].map((domain) => [domain, costOfDomain(domain, primary, forbid)]));
    const costOf = ({ class: { domain }, touched }: Option): number =>
      touched?.loads.some((load) => load.copy === 'primary') ? sameNode : (byDomain.get(domain) ?? 0);
    return { costOf, least: [...byDomain.values()].reduce((a, b) => Math.min(a, b), sameNode) };
  }

  /** Whether the primary must not stand in a domain as well; answers stand until the limit learns more. */
  #ruledOutFor({ copy }: Variable): (domain: Domain) => boolean {
    const limit = this.#limit;
    if (copy === 'backup' || limit === undefined) return () => false;
    const primary = this.#domainsOf('primary');
    const known = new Map<Domain, boolean>();
    let knownOf = limit.lessons;
    return (domain) => {
      if (knownOf !== limit.lessons) known.clear();
      knownOf = limit.lessons;
      let response = known.get(domain);
      if (response === undefined) {
        response = limit.forbids(primary, domain);
        known.set(domain, response);
      }
      return response;
    };
  }

  #domainsOf(copy: Copy): ReadonlySet<Domain> {
    const domains = new Set<Domain>();
    for (const node of this.#touched) {
      if (node.loads.some((load) => load.copy === copy)) domains.add(node.class.domain);
    }
    return domains;
  }

  #recordDeadEnd(depth: number): void {
    if (this.#deadEnd !== undefined && this.#deadEnd.variable >= depth) return;
    this.#deadEnd = {
      variable: depth,
      touched: this.#touched.map((node) => ({ ...node, loads: [...node.loads] })),
    };
  }

  /**
   * What the remaining variables see: which kinds stand together on which class. What the copies
   * share follows from that, since a backup is placed only once its whole primary is.
   */
  #stateKey(depth: number): string {
    return `${depth}|${this.#touched
      .map(({ key }) => key)
      .sort()
      .join('|')}`;
  }
}

/** What a step of the budget buys; see `MAX_PLAN_STEPS`. */
const OPTIONS_PER_STEP = 16;
/** Options that are passed over take less than those that are weighed. */
const PASSED_PER_STEP = 64;
/** Nodes of which the loads are read, to know the state and to find what may stand beside them. */
const NODES_PER_STEP = 2;
/** Needs are added up and devices assigned. */
const STEPS_PER_NODE_IN_USE = 2;
/** Pairs of domains that are compared. */
const DOMAINS_PER_STEP = 64;

const NO_DOMAINS: ReadonlySet<Domain> = new Set();

/** Whether the node is known to stand in the zone of all others of its copy: in one domain, which has a zone. */
function isInZoneOf(standing: readonly MutableNode[], { class: { domain }, touched }: Option): boolean {
  return standing.every((n) => n === touched || (domain.zone !== '' && n.class.domain === domain));
}

/**
 * Within a tier those first that have the most nodes of `standing` in their zone.
 *
 * @param options by tier
 */
function* byNeighbours(
  options: Iterable<Option>,
  standing: readonly MutableNode[],
): Generator<Option, void, undefined> {
  const inDomain = new Map<Domain, number>();
  for (const { class: nodes } of standing) {
    if (nodes.domain.zone !== '') inDomain.set(nodes.domain, (inDomain.get(nodes.domain) ?? 0) + 1);
  }
  const itself = new Set<NodePosition | undefined>(standing);
  let tier: number | undefined;
  let levels = new Map<number, Option[]>();
  for (const option of options) {
    if (option.tier !== tier) {
      yield* fromMost(levels);
      levels = new Map();
      tier = option.tier;
    }
    const count = inDomain.get(option.class.domain) ?? 0;
    // A node is no neighbour of its own.
    const near = count > 0 && itself.has(option.touched) ? count - 1 : count;
    const level = levels.get(near);
    if (level === undefined) levels.set(near, [option]);
    else level.push(option);
  }
  yield* fromMost(levels);
}

function* fromMost(levels: ReadonlyMap<number, readonly Option[]>): Generator<Option, void, undefined> {
  for (const [, level] of [...levels].sort(([a], [b]) => b - a)) yield* level;
}

function compareOptions(a: Option, b: Option): number {
  return (
    a.tier - b.tier ||
    compareFits(a.fit, b.fit) ||
    a.class.order - b.class.order ||
    // New nodes of a class come after those of it that are in use.
    (a.touched?.position ?? Number.MAX_SAFE_INTEGER) - (b.touched?.position ?? Number.MAX_SAFE_INTEGER)
  );
}

function loadKey(node: Pick<UsedNode, 'class' | 'loads'>): string {
  return `${node.class.order}:${node.loads
    .map((load) => load.kind)
    .sort((a, b) => a - b)
    .join(',')}`;
}
