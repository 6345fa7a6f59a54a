/**
 * How many chains a candidate takes with nodes that may come: those on their way, and those that its
 * pools may still add. What is said is what will be said once they are there: for a set of new nodes
 * the target's demand is served again on all its nodes, and the question gets what is left. A further
 * node can let more demand be served and so turn a yes into a no; so sets are tried one by one where
 * demand is left over, and by bisection only where all of it is served.
 */
import { type Bounds, largest, smallest, type Verdict } from '../monotone.ts';
import { pack } from '../packing/pack.ts';
import type { PackingOutcome } from '../packing/problem.ts';
import type { Work } from '../packing/work.ts';
import { headroomNodes } from '../view/headroom.ts';
import { EMPTY, plus, times } from '../view/histogram.ts';
import { owedOn } from '../view/owed.ts';
import { packPods, responseOf, serveDemand } from '../view/served-demand.ts';
import type { TargetView } from '../view/view.ts';
import type { Candidate } from './candidate.ts';
import { compareNewNodes, type NewNodes } from './new-nodes.ts';
import {
  isOverfull,
  MAX_CHAINS,
  presentBins,
  Room,
  type RoomPacking,
  type RoomResult,
  type Taken,
  usedTargets,
} from './room.ts';

/** What a candidate takes with new nodes, and the cheapest set of them that holds what was asked. */
export interface ScaledRoom {
  readonly bounds: Bounds;
  /** Only where what was asked fits with new nodes; of sets that cost the same the smallest. */
  readonly grown: GrownPacking | undefined;
}

export interface GrownPacking {
  readonly packing: RoomPacking;
  readonly newNodes: NewNodes;
}

/** Sets of new nodes that are tried; beyond them it is undecided whether another one would do. */
const MAX_SETS = 512;

/** Numbers of new nodes of one type that are tried one by one while demand is left over. */
const MAX_TRIED_SINGLY = 256;

/**
 * `undefined`: unknown, since for a pool concerned nobody says how far it may grow.
 *
 * @param present the response for the nodes there are
 */
export function scaledRoom(
  candidate: Candidate,
  asked: number,
  present: RoomResult,
  taken: Taken,
  work: Work,
): ScaledRoom | undefined {
  const used = usedTargets(candidate).flatMap((index) => candidate.targets[index] ?? []);
  if (used.some(({ headroom }) => headroom.kind === 'unknown')) return undefined;
  // Pods that no target takes are not helped by more nodes either.
  if (candidate.classes.some(({ targets }) => targets.length === 0)) {
    return { bounds: present.bounds, grown: undefined };
  }
  const growth = new Growth(candidate, taken, work);
  if (growth.isNone) return { bounds: present.bounds, grown: undefined };
  const forAsked = growth.find(asked, present);
  const most = Math.min(MAX_CHAINS, growth.mostChains());
  const holds = (chains: number): Verdict =>
    chains === asked ? forAsked.verdict : growth.find(chains, present).verdict;
  const bounds = largest(
    forAsked.verdict === 'no' ? Math.min(most, asked - 1) : most,
    holds,
    Math.max(present.bounds.atLeast, forAsked.verdict === 'yes' ? asked : 0),
  );
  return { bounds, grown: forAsked.grown };
}

interface Found {
  readonly verdict: Verdict;
  readonly grown: GrownPacking | undefined;
}

const NONE: Found = { verdict: 'no', grown: undefined };

/** The new nodes that a candidate's targets may get. */
class Growth {
  /** Targets that may get nodes, as indexes into the candidate's. */
  readonly #growing: readonly number[];
  readonly #rooms = new Map<string, GrownRoom>();
  readonly #thresholds = new Map<number, number>();

  constructor(
    private readonly candidate: Candidate,
    private readonly taken: Taken,
    private readonly work: Work,
  ) {
    this.#growing = usedTargets(candidate).filter((index) => this.#mostOf(index) > 0);
  }

  get isNone(): boolean {
    return this.#growing.length === 0;
  }

  /** Never below the number of chains that fit with any set. */
  mostChains(): number {
    const all = new Map(this.#growing.map((index) => [index, this.#mostOf(index)]));
    return new Room(this.candidate, this.#bins(all), []).mostChains(false);
  }

  /** The cheapest set of new nodes with which so many chains fit. */
  find(chains: number, present: RoomResult): Found {
    if (chains <= present.bounds.atLeast) return { verdict: 'yes', grown: undefined };
    const all = new Map(this.#growing.map((index) => [index, this.#usefulOf(index, chains)]));
    const alone = new Room(this.candidate, this.#bins(all), []).packAlone(chains, this.work);
    if (alone.kind === 'impossible') return NONE;
    if (this.candidate.classes.every(({ targets }) => targets.length === 1)) return this.#findSingly(chains);
    if (this.#packPooled(chains).kind === 'impossible') return NONE;
    return this.#findAmong(chains, all);
  }

  /**
   * Packs the chains alone with as many new nodes as each pool may get, each as large as its largest
   * type and open to every pod that may stand in one of its types. No set holds more than that.
   */
  #packPooled(chains: number): PackingOutcome {
    const pools = [...new Set(this.#growing.map((index) => this.#target(index)?.poolId ?? ''))];
    const poolOf = new Map(
      this.#growing.map((index) => [index, pools.indexOf(this.#target(index)?.poolId ?? '')]),
    );
    const open = (pool: number): number => this.candidate.targets.length + pool;
    const pooled = pools.map((_, pool) => {
      const members = this.#growing.filter((index) => poolOf.get(index) === pool);
      const targets = members.flatMap((index) => this.#target(index) ?? []);
      const sizes = targets.map(({ acceleratorsPerNode }) => acceleratorsPerNode);
      const ordered = headroomNodes(targets[0]?.headroom ?? { kind: 'none' }, Math.min(...sizes)) ?? 0;
      const count = targets.reduce((sum, { pendingNodes = 0 }) => sum + pendingNodes, ordered);
      return { target: open(pool), size: Math.max(...sizes), count };
    });
    const items = new Room(this.candidate, [], []).items(chains).map((item) => ({
      ...item,
      targets: [
        ...item.targets,
        ...new Set(item.targets.flatMap((index) => poolOf.get(index) ?? []).map(open)),
      ],
    }));
    return pack({ bins: [...presentBins(this.candidate), ...pooled], items }, this.work);
  }

  /** No pod has a choice of targets: each target's smallest number of new nodes is part of the cheapest set. */
  #findSingly(chains: number): Found {
    const newNodes = new Map<number, number>();
    let undecided = false;
    for (const index of this.#growing) {
      const { atLeast, atMost } = this.#fewestOn(index, chains);
      const most = this.#mostOf(index);
      if (atLeast > most) return NONE;
      if (atLeast < atMost) undecided = true;
      if (atLeast > 0) newNodes.set(index, Math.min(atMost, most));
    }
    const outcome = this.#isAllowed(newNodes) ? this.#try(newNodes, chains) : NONE;
    return outcome.verdict === 'no' && undecided ? { ...NONE, verdict: 'undecided' } : outcome;
  }

  /** The fewest new nodes of one target with which its pods fit; above what it may get: none will do. */
  #fewestOn(index: number, chains: number): Bounds {
    const most = this.#usefulOf(index, chains);
    const threshold = Math.min(this.#servesAllFrom(index), most + 1);
    const verdict = (added: number): Verdict => {
      const grown = this.#room(new Map([[index, added]])).onlyTarget(index);
      return grown.verdict(grown.room.pack(chains, this.work), chains, this.work);
    };
    let open: number | undefined;
    // Few pods wait for nodes; beyond so many the numbers left out stay undecided.
    const singly = Math.min(threshold, MAX_TRIED_SINGLY);
    for (let added = 0; added < singly; added++) {
      const response = verdict(added);
      if (response === 'yes') return { atLeast: open ?? added, atMost: added };
      if (response === 'undecided') open ??= added;
    }
    if (singly < threshold) open ??= singly;
    const from = threshold;
    if (from > most) return { atLeast: open ?? this.#mostOf(index) + 1, atMost: this.#mostOf(index) + 1 };
    const { atLeast, atMost } = smallest(most - from, (beyond) => verdict(from + beyond));
    const none = atLeast > most - from;
    return {
      atLeast: open ?? (none ? this.#mostOf(index) + 1 : from + atLeast),
      atMost: atMost > most - from ? this.#mostOf(index) + 1 : from + atMost,
    };
  }

  /** Sets in order of their cost; if there are too many, some that are likely to do. */
  #findAmong(chains: number, useful: ReadonlyMap<number, number>): Found {
    const { sets, complete } = this.#sets(useful);
    let undecided = !complete;
    for (const set of sets) {
      const found = this.#try(set, chains);
      if (found.verdict === 'yes') return found;
      if (found.verdict === 'undecided') undecided = true;
    }
    return undecided ? { ...NONE, verdict: 'undecided' } : NONE;
  }

  #sets(useful: ReadonlyMap<number, number>): {
    readonly sets: readonly NewNodes[];
    readonly complete: boolean;
  } {
    let sets: NewNodes[] = [new Map()];
    let complete = true;
    for (const index of this.#growing) {
      const next: NewNodes[] = [];
      for (const set of sets) {
        for (const added of this.#numbersOf(index, useful.get(index) ?? 0, sets.length)) {
          const more = added === 0 ? set : new Map(set).set(index, added);
          if (this.#isAllowed(more)) next.push(more);
        }
      }
      if (((useful.get(index) ?? 0) + 1) * sets.length > MAX_SETS) complete = false;
      sets = next;
    }
    return { sets: sets.sort((a, b) => compareNewNodes(this.candidate, a, b)), complete };
  }

  /** All numbers up to the most, or as many of them, evenly spread, as can be tried beside the other sets. */
  #numbersOf(index: number, most: number, others: number): readonly number[] {
    const count = Math.max(2, Math.min(most + 1, Math.floor(MAX_SETS / others)));
    const threshold = Math.min(this.#servesAllFrom(index), most);
    const numbers = Array.from({ length: count }, (_, at) =>
      Math.round((at * most) / Math.max(1, count - 1)),
    );
    return [...new Set(count > most ? numbers : [...numbers, threshold])];
  }

  #try(newNodes: NewNodes, chains: number): Found {
    const grown = this.#room(newNodes);
    const outcome = grown.room.pack(chains, this.work);
    const verdict = grown.verdict(outcome, chains, this.work);
    if (outcome.kind !== 'packed' || verdict !== 'yes') return { verdict, grown: undefined };
    return { verdict, grown: { packing: { room: grown.room, packing: outcome.packing }, newNodes } };
  }

  /** The candidate with these nodes in place. */
  #room(newNodes: NewNodes): GrownRoom {
    const key = [...newNodes].map(([index, added]) => `${index}:${added}`).join();
    const kept = this.#rooms.get(key);
    if (kept !== undefined) return kept;
    let uncertain = false;
    const full = new Set<number>();
    const items = usedTargets(this.candidate).flatMap((index) => {
      const target = this.#target(index);
      if (target === undefined) return [];
      const added = newNodes.get(index) ?? 0;
      const owed = owedOn(this.#grownTarget(target, added), this.taken.get(target));
      if (isOverfull(withNewNodes(target, added), owed, this.work)) {
        full.add(index);
        return [];
      }
      if (owed.undecided) uncertain = true;
      return [...owed.pods].map(([size, count]) => ({ size, count, targets: [index] }));
    });
    const grown = new GrownRoom(
      new Room(
        this.candidate,
        this.#bins(newNodes).filter(({ target }) => !full.has(target)),
        items,
      ),
      uncertain,
    );
    if (this.#rooms.size < MAX_SETS) this.#rooms.set(key, grown);
    return grown;
  }

  #grownTarget(target: TargetView, added: number): TargetView {
    const deficit = times(target.demand.pending) + times(target.demand.reserved);
    const servedAll = times(target.served.pending) + times(target.served.reserved) === deficit;
    if (added === 0 || !target.eligible || (servedAll && !target.served.undecided)) return target;
    return { ...target, served: serveDemand(withNewNodes(target, added), target.demand, this.work) };
  }

  #bins(newNodes: NewNodes) {
    const added = [...newNodes].map(([target, count]) => ({
      target,
      size: this.#target(target)?.acceleratorsPerNode ?? 0,
      count,
      isNew: true,
    }));
    return [...presentBins(this.candidate), ...added.filter(({ count, size }) => count > 0 && size > 0)];
  }

  #target(index: number): TargetView | undefined {
    return this.candidate.targets[index];
  }

  /** New nodes that the target may get if the others of its pool get none: those on their way, and the headroom. */
  #mostOf(index: number): number {
    const target = this.#target(index);
    if (target === undefined || !target.eligible || target.acceleratorsPerNode === 0) return 0;
    return (target.pendingNodes ?? 0) + (headroomNodes(target.headroom, target.acceleratorsPerNode) ?? 0);
  }

  /** Beyond a node for each pod further nodes change nothing. */
  #usefulOf(index: number, chains: number): number {
    const target = this.#target(index);
    if (target === undefined) return 0;
    const demand = times(target.demand.pending) + times(target.demand.reserved);
    const pods = this.candidate.classes
      .filter(({ targets }) => targets.includes(index))
      .reduce((sum, { perChain }) => sum + perChain * chains, 0);
    return Math.min(this.#mostOf(index), demand + times(this.taken.get(target) ?? EMPTY) + pods);
  }

  /** The fewest new nodes with which all of the target's demand is served; above the most where it never is. */
  #servesAllFrom(index: number): number {
    const kept = this.#thresholds.get(index);
    if (kept !== undefined) return kept;
    const target = this.#target(index);
    if (target === undefined) return 0;
    const demand = plus(target.demand.pending, target.demand.reserved);
    const most = Math.min(this.#mostOf(index), times(demand));
    const { atMost } = smallest(most, (added) =>
      responseOf(packPods(withNewNodes(target, added), demand, this.work)),
    );
    const from = atMost > most ? this.#mostOf(index) + 1 : atMost;
    this.#thresholds.set(index, from);
    return from;
  }

  /** Whether each pool may add what is beyond the nodes on their way. */
  #isAllowed(newNodes: NewNodes): boolean {
    const beyond = new Map<string, { nodes: number; accelerators: bigint; target: TargetView }>();
    for (const [index, added] of newNodes) {
      const target = this.#target(index);
      if (target === undefined) continue;
      const ordered = Math.max(0, added - (target.pendingNodes ?? 0));
      const pool = beyond.get(target.poolId) ?? { nodes: 0, accelerators: 0n, target };
      pool.nodes += ordered;
      pool.accelerators += BigInt(ordered) * BigInt(target.acceleratorsPerNode);
      beyond.set(target.poolId, pool);
    }
    return [...beyond.values()].every(({ nodes, accelerators, target: { headroom } }) => {
      if (headroom.kind !== 'bounded') return nodes === 0;
      return nodes <= (headroom.nodes ?? nodes) && accelerators <= (headroom.accelerators ?? accelerators);
    });
  }
}

/** A room with new nodes, behind the demand that is served with them. */
class GrownRoom {
  constructor(
    readonly room: Room,
    /** It is undecided what of the demand can be served. */
    private readonly uncertain: boolean,
  ) {}

  verdict(outcome: PackingOutcome, chains: number, work: Work): Verdict {
    if (!this.uncertain || outcome.kind === 'packed') return responseOf(outcome);
    return this.room.packAlone(chains, work).kind === 'impossible' ? 'no' : 'undecided';
  }

  onlyTarget(target: number): GrownRoom {
    return new GrownRoom(this.room.onlyTarget(target), this.uncertain);
  }
}

function withNewNodes({ occupancy, acceleratorsPerNode }: TargetView, added: number) {
  return added === 0
    ? occupancy.freeNodes
    : plus(occupancy.freeNodes, new Map([[acceleratorsPerNode, added]]));
}
