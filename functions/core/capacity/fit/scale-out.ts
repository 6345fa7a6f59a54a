/**
 * How many chains a candidate takes once its pools have scaled out as far as they may.
 *
 * A pool's headroom is one number for all its node types, and its own demand comes first:
 * only when everything pending and reserved in the pool can be placed do new nodes serve a
 * question. Each node type needs at least as many new nodes as its demand alone takes;
 * what the pool may add beyond the sum of these is spare.
 */

import { smallest, type Verdict } from '../monotone.ts';
import { pack } from '../packing/pack.ts';
import type { PackedBins, PackingOutcome } from '../packing/problem.ts';
import { IMPOSSIBLE, UNDECIDED } from '../packing/problem.ts';
import type { Work } from '../packing/work.ts';
import { headroomNodes } from '../view/headroom.ts';
import { EMPTY, type Histogram, plus, times } from '../view/histogram.ts';
import { packPods, responseOf } from '../view/served-demand.ts';
import type { TargetView } from '../view/view.ts';
import type { Candidate } from './candidate.ts';
import {
  pinned,
  presentBins,
  Room,
  type RoomResult,
  roomFor,
  servedOn,
  type Taken,
  usedTargets,
  wholeDemandOn,
} from './room.ts';

/** What a pool's new nodes can do for a question. */
type Growth =
  /** It adds none, or its own demand needs more than it may add. */
  | { readonly kind: 'none' }
  /** It scales out, and nobody says how far; or it is undecided what its own demand takes of it. */
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'spare';
      /** New nodes that a node type's own demand takes; those without are left out. */
      readonly needed: ReadonlyMap<TargetView, number>;
      readonly spare: Allowance;
    };

/** Nodes and accelerators that may still be added; `undefined`: not bounded. */
interface Allowance {
  readonly nodes: number | undefined;
  readonly accelerators: bigint | undefined;
}

/**
 * `undefined`: unknown, since for a pool concerned it is unknown what it could add for this.
 *
 * @param present the answer for the nodes there are, which stands where no pool adds any
 */
export function scaledRoom(
  candidate: Candidate,
  asked: number,
  present: RoomResult,
  taken: Taken,
  work: Work,
): RoomResult | undefined {
  const pools = growingPools(candidate, taken, work);
  if (pools === 'unknown') return undefined;
  // Pods that no target takes are not helped by more nodes either.
  if (pools.length === 0 || candidate.classes.some(({ targets }) => targets.length === 0)) return present;
  const grown = new GrownRoom(candidate, pools, taken);
  return roomFor(grown.room, asked, {
    pack: (chains) => grown.pack(chains, work),
    response: (outcome, chains) => grown.response(outcome, chains, work),
    behindDemand: !grown.uncertain,
  });
}

/** A pool that can add nodes, and those of its node types that the candidate uses. */
interface GrowingPool {
  readonly poolId: string;
  readonly targets: readonly number[];
  readonly needed: ReadonlyMap<number, number>;
  readonly spare: Allowance;
}

function growingPools(candidate: Candidate, taken: Taken, work: Work): readonly GrowingPool[] | 'unknown' {
  const used = new Map<string, number[]>();
  for (const index of usedTargets(candidate)) {
    const poolId = candidate.targets[index]?.poolId ?? '';
    used.set(poolId, [...(used.get(poolId) ?? []), index]);
  }
  const pools: GrowingPool[] = [];
  for (const [poolId, targets] of used) {
    const members = candidate.cluster.view.targets.filter((target) => target.poolId === poolId);
    const growth = growthOf(members, taken, work);
    if (growth.kind === 'unknown') return 'unknown';
    if (growth.kind === 'none') continue;
    const needed = targets.map((index): [number, number] => {
      const target = candidate.targets[index];
      return [index, (target && growth.needed.get(target)) ?? 0];
    });
    pools.push({ poolId, targets, needed: new Map(needed), spare: growth.spare });
  }
  return pools;
}

/** @param members all node types of one pool, of which the headroom is the same */
function growthOf(members: readonly TargetView[], taken: Taken, work: Work): Growth {
  const headroom = members[0]?.headroom ?? { kind: 'none' };
  if (headroom.kind !== 'bounded') return { kind: headroom.kind };
  const needed = new Map<TargetView, number>();
  let { nodes, accelerators } = headroom;
  for (const target of members) {
    if (!target.eligible) continue;
    const pods = plus(wholeDemandOn(target), taken.get(target) ?? EMPTY);
    // With a node for each pod, all of them fit.
    const allowed = Math.min(headroomNodes(headroom, target.acceleratorsPerNode) ?? 0, times(pods));
    const { atLeast, atMost } = smallest(allowed, (added) =>
      responseOf(packPods(withNewNodes(target, added), pods, work)),
    );
    // How many its own demand takes is undecided, and with it what is left for others.
    if (atLeast < atMost) return { kind: 'unknown' };
    if (atMost > allowed) return { kind: 'none' };
    if (atMost > 0) needed.set(target, atMost);
    if (nodes !== undefined) nodes -= atMost;
    if (accelerators !== undefined) accelerators -= BigInt(atMost) * BigInt(target.acceleratorsPerNode);
  }
  const exceeded = (nodes !== undefined && nodes < 0) || (accelerators !== undefined && accelerators < 0n);
  return exceeded ? { kind: 'none' } : { kind: 'spare', needed, spare: { nodes, accelerators } };
}

function withNewNodes({ occupancy, acceleratorsPerNode }: TargetView, added: number): Histogram {
  return added === 0
    ? occupancy.freeNodes
    : plus(occupancy.freeNodes, new Map([[acceleratorsPerNode, added]]));
}

/** Ways of sharing a pool's spare nodes among its node types that are tried before it is left undecided. */
const MAX_SPLITS = 64;

/** New nodes by target. */
type NewNodes = ReadonlyMap<number, number>;

/** A candidate's room with every node that its pools may add, each pool's counted for each of its node types. */
class GrownRoom {
  readonly room: Room;
  /** It is undecided what of the demand can be served. */
  readonly uncertain: boolean;

  constructor(
    private readonly candidate: Candidate,
    private readonly pools: readonly GrowingPool[],
    taken: Taken,
  ) {
    const grows = new Set(pools.flatMap(({ targets }) => targets.map((index) => candidate.targets[index])));
    const used = usedTargets(candidate).flatMap((index) => candidate.targets[index] ?? []);
    this.uncertain = used.some((target) => target.served.undecided);
    const demand = (target: TargetView): Histogram =>
      plus(
        grows.has(target) || target.served.undecided ? wholeDemandOn(target) : servedOn(target),
        taken.get(target) ?? EMPTY,
      );
    const added = pools.flatMap((pool) =>
      pool.targets.map((target) => ({
        target,
        size: this.#perNode(target),
        count: (pool.needed.get(target) ?? 0) + mostOf(pool.spare, this.#perNode(target)),
        isNew: true,
      })),
    );
    this.room = new Room(candidate, [...presentBins(candidate), ...added], pinned(candidate, demand));
  }

  /**
   * Packs with all nodes that any node type could have. If that is impossible, so is every way
   * of sharing them; if it succeeds within what each pool may add, it is the answer. Nodes that
   * could be of whatever type a pod needs may then still prove a no, and otherwise the ways
   * of sharing are gone through.
   */
  pack(chains: number, work: Work): PackingOutcome {
    const everything = this.room.pack(chains, work);
    if (everything.kind !== 'packed' || this.#isWithinHeadroom(everything.packing)) return everything;
    if (this.#packPooled(chains, work).kind === 'impossible') return IMPOSSIBLE;
    const splits = this.candidate.classes.every(({ targets }) => targets.length === 1)
      ? this.#fewestNewNodes(chains, work)
      : this.#allSplits();
    for (const newNodes of splits.tried) {
      const outcome = this.#withNewNodes(newNodes).pack(chains, work);
      if (outcome.kind === 'packed' && this.#isWithinHeadroom(outcome.packing)) return outcome;
      if (outcome.kind === 'undecided') return UNDECIDED;
    }
    return splits.complete ? IMPOSSIBLE : UNDECIDED;
  }

  /**
   * Packs with as many new nodes as each pool may add, each as large as its largest type and open
   * to every pod that may stand in one of its types. No way of sharing holds more than that.
   */
  #packPooled(chains: number, work: Work): PackingOutcome {
    const shared = this.pools.filter(({ targets }) => targets.length > 1);
    const poolOf = new Map(
      shared.flatMap(({ targets }, index) => targets.map((target) => [target, index] as const)),
    );
    const targetOf = (pool: number): number => this.candidate.targets.length + pool;
    const kept = this.room.bins.filter(({ isNew, target }) => !isNew || !poolOf.has(target));
    const pooled = shared.map(({ targets, needed, spare }, pool) => {
      const sizes = targets.map((target) => this.#perNode(target));
      let { nodes, accelerators } = spare;
      for (const [target, own] of needed) {
        if (nodes !== undefined) nodes += own;
        if (accelerators !== undefined) accelerators += BigInt(own) * BigInt(this.#perNode(target));
      }
      const count = mostOf({ nodes, accelerators }, Math.min(...sizes));
      return { target: targetOf(pool), size: Math.max(...sizes), count };
    });
    const items = this.room.items(chains).map((item) => ({
      ...item,
      targets: [
        ...item.targets,
        ...new Set(item.targets.flatMap((target) => poolOf.get(target) ?? []).map(targetOf)),
      ],
    }));
    return pack({ bins: [...kept, ...pooled], items }, work);
  }

  response(outcome: PackingOutcome, chains: number, work: Work): Verdict {
    if (!this.uncertain || outcome.kind === 'packed') return responseOf(outcome);
    return this.room.packAlone(chains, work).kind === 'impossible' ? 'no' : 'undecided';
  }

  #perNode(target: number): number {
    return this.candidate.targets[target]?.acceleratorsPerNode ?? 0;
  }

  #isWithinHeadroom(packing: readonly PackedBins[]): boolean {
    const used = newNodesOf(this.room, packing);
    return this.pools.every(({ targets, needed, spare }) => {
      let { nodes, accelerators } = spare;
      for (const target of targets) {
        const beyond = (used.get(target) ?? 0) - (needed.get(target) ?? 0);
        if (nodes !== undefined) nodes -= beyond;
        if (accelerators !== undefined) accelerators -= BigInt(beyond) * BigInt(this.#perNode(target));
      }
      return (nodes ?? 0) >= 0 && (accelerators ?? 0n) >= 0n;
    });
  }

  /** Where no pod has a choice of targets, each target's smallest number of new nodes is the only split that matters. */
  #fewestNewNodes(chains: number, work: Work): Splits {
    const newNodes = new Map<number, number>();
    let complete = true;
    for (const { targets } of this.pools) {
      for (const target of targets) {
        const most = this.room.bins.find((bin) => bin.isNew && bin.target === target)?.count ?? 0;
        const alone = this.room.onlyTarget(target);
        const { atLeast, atMost } = smallest(most, (added) =>
          responseOf(alone.withNewNodes(new Map([[target, added]])).pack(chains, work)),
        );
        if (atLeast < atMost) complete = false;
        newNodes.set(target, Math.min(atMost, most));
      }
    }
    return { tried: [newNodes], complete };
  }

  /** Every way of sharing out each pool's spare nodes, if there are not too many. */
  #allSplits(): Splits {
    let tried: NewNodes[] = [new Map()];
    for (const pool of this.pools) {
      tried = tried.flatMap((before) => this.#splitsOf(pool, before));
      if (tried.length > MAX_SPLITS) return { tried: tried.slice(0, MAX_SPLITS), complete: false };
    }
    return { tried, complete: true };
  }

  #splitsOf({ targets, needed, spare }: GrowingPool, before: NewNodes): NewNodes[] {
    const splits: NewNodes[] = [];
    const share = (index: number, left: Allowance, chosen: ReadonlyMap<number, number>): void => {
      const target = targets[index];
      if (target === undefined) {
        splits.push(chosen);
        return;
      }
      const most = mostOf(left, this.#perNode(target));
      // The last one takes what there is: to leave nodes out helps nobody.
      const least = index === targets.length - 1 ? most : 0;
      for (let extra = most; extra >= least && splits.length <= MAX_SPLITS; extra--) {
        const taken = new Map(chosen).set(target, (needed.get(target) ?? 0) + extra);
        share(index + 1, lessNodes(left, extra, this.#perNode(target)), taken);
      }
    };
    share(0, spare, before);
    return splits;
  }

  #withNewNodes(newNodes: NewNodes): Room {
    return this.room.withNewNodes(newNodes);
  }
}

/** Ways of sharing, and whether there are no others that could do better. */
interface Splits {
  readonly tried: readonly NewNodes[];
  readonly complete: boolean;
}

function mostOf({ nodes, accelerators }: Allowance, perNode: number): number {
  return headroomNodes({ kind: 'bounded', nodes, accelerators }, perNode) ?? 0;
}

function lessNodes({ nodes, accelerators }: Allowance, taken: number, perNode: number): Allowance {
  return {
    nodes: nodes === undefined ? undefined : nodes - taken,
    accelerators: accelerators === undefined ? undefined : accelerators - BigInt(taken) * BigInt(perNode),
  };
}

/** New nodes that a packing uses, by target. */
export function newNodesOf(room: Room, packing: readonly PackedBins[]): NewNodes {
  const used = new Map<number, number>();
  for (const { bin, bins } of packing) {
    const class_ = room.bins[bin];
    if (class_?.isNew) used.set(class_.target, (used.get(class_.target) ?? 0) + bins);
  }
  return used;
}
