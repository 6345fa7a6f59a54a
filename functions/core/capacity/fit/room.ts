/**
 * How many chains a candidate takes: its packing problem, with what is to be placed before
 * them. Nothing is pinned: what comes first is a number of pods on a target, and each
 * question packs it again together with its own.
 */

import { type Bounds, largest, type Verdict } from '../monotone.ts';
import { pack } from '../packing/pack.ts';
import type { BinClass, ItemClass, PackedBins, PackingOutcome } from '../packing/problem.ts';
import type { Work } from '../packing/work.ts';
import { EMPTY, type Histogram, plus } from '../view/histogram.ts';
import { holdsOwed, type Owed, owedOn } from '../view/owed.ts';
import { responseOf } from '../view/served-demand.ts';
import type { TargetView } from '../view/view.ts';
import type { Candidate } from './candidate.ts';

/** The wire counts chains in 32 bits, and nobody asks for more. */
export const MAX_CHAINS = 2 ** 32 - 1;

/** Pods that stand before the question: taken by shapes answered before, by target. */
export type Taken = ReadonlyMap<TargetView, Histogram>;

/** Nodes of a class, all free alike. */
export interface RoomBin extends BinClass {
  /** Not there yet: the pool would have to add them. */
  readonly isNew: boolean;
}

/** A packing in the terms of the room that it is of. */
export interface RoomPacking {
  readonly room: Room;
  readonly packing: readonly PackedBins[];
}

/**
 * A candidate's nodes and what is placed on them before the question. Items are the demand of
 * each target first, then the candidate's classes in their order.
 */
export class Room {
  readonly #demand: readonly ItemClass[];

  constructor(
    readonly candidate: Candidate,
    readonly bins: readonly RoomBin[],
    demand: readonly ItemClass[],
  ) {
    this.#demand = demand;
  }

  /** Where the classes begin among a packing's items. */
  get demandClasses(): number {
    return this.#demand.length;
  }

  demandClass(index: number): ItemClass | undefined {
    return this.#demand[index];
  }

  /** Packs this many chains behind the demand. */
  pack(chains: number, work: Work): PackingOutcome {
    return pack({ bins: this.bins, items: this.items(chains) }, work);
  }

  /** All that is packed for this many chains: the demand, then the candidate's classes. */
  items(chains: number): readonly ItemClass[] {
    return [...this.#demand, ...this.#asked(chains)];
  }

  /** Packs this many chains as if there were no demand. */
  packAlone(chains: number, work: Work): PackingOutcome {
    return pack({ bins: this.bins, items: this.#asked(chains) }, work);
  }

  /** The same room with this many new nodes in the targets named. */
  withNewNodes(newNodes: ReadonlyMap<number, number>): Room {
    const bins = this.bins.map((bin) =>
      bin.isNew ? { ...bin, count: newNodes.get(bin.target) ?? bin.count } : bin,
    );
    return new Room(this.candidate, bins, this.#demand);
  }

  /** One target of it, for a candidate whose pods have no choice. */
  onlyTarget(target: number): Room {
    const classes = this.candidate.classes.filter(({ targets }) => targets.includes(target));
    return new Room(
      { ...this.candidate, classes },
      this.bins.filter((bin) => bin.target === target),
      this.#demand.filter(({ targets }) => targets.includes(target)),
    );
  }

  #asked(chains: number): readonly ItemClass[] {
    return this.candidate.classes.map(({ accelerators, perChain, targets }) => ({
      size: accelerators,
      count: perChain * chains,
      targets,
    }));
  }

  /**
   * Never below the number of chains that fit. For each class, with s its size: a pod takes
   * ⌊size/s⌋ slots of s and a node has ⌊free/s⌋, so the chains take what the pods of it and of those
   * that may stand nowhere else need.
   *
   * @param behindDemand whether all of the demand has its place first
   */
  mostChains(behindDemand: boolean): number {
    let most = BigInt(MAX_CHAINS);
    for (const { accelerators, targets } of this.candidate.classes) {
      const standing = new Set(targets);
      const slots = (size: number, count: number): bigint =>
        BigInt(Math.floor(size / accelerators)) * BigInt(count);
      const within = (others: readonly number[]): boolean => others.every((target) => standing.has(target));
      let left = 0n;
      for (const { target, size, count } of this.bins) if (standing.has(target)) left += slots(size, count);
      if (behindDemand) {
        for (const { targets, size, count } of this.#demand) if (within(targets)) left -= slots(size, count);
      }
      let perChain = 0n;
      for (const other of this.candidate.classes) {
        if (within(other.targets)) perChain += slots(other.accelerators, other.perChain);
      }
      const chains = left > 0n ? left / perChain : 0n;
      if (chains < most) most = chains;
    }
    return Number(most);
  }
}

/** Targets that the classes may stand in, as indexes into the candidate's. */
export function usedTargets({ classes }: Candidate): readonly number[] {
  return [...new Set(classes.flatMap(({ targets }) => targets))].sort((a, b) => a - b);
}

/** The nodes there are, as bins. */
export function presentBins(candidate: Candidate): readonly RoomBin[] {
  return usedTargets(candidate).flatMap((target) =>
    [...(candidate.targets[target]?.occupancy.freeNodes ?? EMPTY)].map(([size, nodes]) => ({
      target,
      size,
      count: nodes,
      isNew: false,
    })),
  );
}

/** What comes first as items that have just their own target. */
export function pinned(
  candidate: Candidate,
  owedOn: (target: TargetView) => Histogram,
): readonly ItemClass[] {
  return usedTargets(candidate).flatMap((index) => {
    const target = candidate.targets[index];
    if (target === undefined) return [];
    return [...owedOn(target)].map(([size, pods]) => ({ size, count: pods, targets: [index] }));
  });
}

/** What of a target's demand its present nodes serve. */
export function servedOn({ served }: TargetView): Histogram {
  return plus(served.pending, served.reserved);
}

/** All of a target's demand. */
export function wholeDemandOn({ demand }: TargetView): Histogram {
  return plus(demand.pending, demand.reserved);
}

/**
 * Whether a target is too small for what comes first on it: nodes went from under confirmed claims. It takes
 * nothing new then, and says nothing of the candidate's other targets.
 */
export function isOverfull(freeNodes: Histogram, owed: Owed, work: Work): boolean {
  return owed.claimed && holdsOwed(freeNodes, owed, work) === 'no';
}

/** How many chains fit on the nodes there are, and the packing of as many as were asked for. */
export interface RoomResult {
  readonly bounds: Bounds;
  /** Only where that many fit. */
  readonly witness: RoomPacking | undefined;
}

/**
 * Answers for the nodes there are. Demand without a place keeps nobody out: the question gets
 * what is left once as much as can be served is served.
 *
 * Where it is undecided how much that is, a yes needs the whole demand to fit beside
 * the question, and a no needs the question alone not to fit.
 */
export function presentRoom(candidate: Candidate, asked: number, taken: Taken, work: Work): RoomResult {
  if (candidate.classes.some(({ targets }) => targets.length === 0)) {
    return { bounds: { atLeast: 0, atMost: 0 }, witness: undefined };
  }
  const owed = new Map<TargetView, Owed>();
  const full = new Set<number>();
  for (const index of usedTargets(candidate)) {
    const target = candidate.targets[index];
    if (target === undefined) continue;
    const ofTarget = owedOn(target, taken.get(target));
    if (isOverfull(target.occupancy.freeNodes, ofTarget, work)) full.add(index);
    else owed.set(target, ofTarget);
  }
  const bins = presentBins(candidate).filter(({ target }) => !full.has(target));
  const uncertain = [...owed.values()].some(({ undecided }) => undecided);
  const room = new Room(
    candidate,
    bins,
    pinned(candidate, (target) => owed.get(target)?.pods ?? EMPTY),
  );
  const pack = (chains: number): PackingOutcome => room.pack(chains, work);
  const response = (outcome: PackingOutcome, chains: number): Verdict => {
    if (!uncertain || outcome.kind === 'packed') return responseOf(outcome);
    return room.packAlone(chains, work).kind === 'impossible' ? 'no' : 'undecided';
  };
  return roomFor(room, asked, { pack, response, behindDemand: !uncertain });
}

/** How numbers of chains are decided in a room. */
export interface RoomRules {
  readonly pack: (chains: number) => PackingOutcome;
  readonly response: (outcome: PackingOutcome, chains: number) => Verdict;
  /** Whether all of the room's demand has its place before any chain. */
  readonly behindDemand: boolean;
}

/** Decides the number asked for, keeps its packing, and from there finds the largest number. */
export function roomFor(room: Room, asked: number, { pack, response, behindDemand }: RoomRules): RoomResult {
  const most = room.mostChains(behindDemand);
  const first = asked <= most ? pack(asked) : undefined;
  const forAsked = first === undefined ? 'no' : response(first, asked);
  const holds = (chains: number): Verdict => (chains === asked ? forAsked : response(pack(chains), chains));
  const bounds = largest(
    forAsked === 'no' ? Math.min(most, asked - 1) : most,
    holds,
    forAsked === 'yes' ? asked : 0,
  );
  return {
    bounds,
    witness: first?.kind === 'packed' && forAsked === 'yes' ? { room, packing: first.packing } : undefined,
  };
}
