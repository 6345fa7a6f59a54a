/** How many of a claim's chains a snapshot shows, and what the claim holds for the others. */
import type { HeldRank, Hold } from '../../gen/resourcemap/v1/ledger_pb.ts';
import { count, type Histogram } from '../capacity/view/histogram.ts';
import { compareUtf8 } from '../utf8-order.ts';
import { type ChainFact, type ChainFacts, livingChains } from './chain-facts.ts';

/** What is known of one rank of a claim. */
export interface RankCount {
  /** Chains that no snapshot has shown with all of their pods. */
  readonly remaining: number;
  /** As the ledger keeps it: a number, or with chain ids a bit each. */
  readonly fulfilled: number;
  /** Ids of the claim's chains that the snapshot has, if they were claimed by id. */
  readonly seen: readonly string[];
  /** Chains of the claim that the snapshot has and whose pods still wait: their demand is left out beside the claim. */
  readonly waiting: readonly ChainFact[];
}

/** Chains that were counted for a claim already and count for no other. */
export type CountedChains = Set<ChainFact>;

/**
 * Counts one rank. By id exactly these chains count. By number it is the living chains beyond those
 * that were there, or claimed, before: a chain that is replaced under another id changes nothing.
 *
 * @param goal of the ledger, less what earlier claims lacked when they ended
 */
export function countRank(
  rank: HeldRank,
  jobId: string,
  facts: ChainFacts,
  goal: number,
  counted: CountedChains,
): RankCount {
  const living = livingChains(facts, jobId, rank.rankId);
  return rank.chainIds.length > 0
    ? countById(rank, living, counted)
    : countByNumber(rank, living, goal, counted);
}

/** What is known without a snapshot: what was recorded before. */
export function recordedCount(rank: HeldRank): RankCount {
  const { fulfilled } = rank;
  return { remaining: rank.chains - fulfilledChains(rank, fulfilled), fulfilled, seen: [], waiting: [] };
}

/** The number of chains that a ledger's `fulfilled` stands for. */
export function fulfilledChains({ chainIds }: HeldRank, fulfilled: number): number {
  if (chainIds.length === 0) return fulfilled;
  return chainIds.reduce((sum, _, index) => sum + bit(fulfilled, index), 0);
}

function bit(mask: number, index: number): number {
  return (mask >>> index) & 1;
}

function countById(rank: HeldRank, living: readonly ChainFact[], counted: CountedChains): RankCount {
  const byId = new Map<string, ChainFact>();
  for (const chain of living) {
    const same = byId.get(chain.chainId);
    // A whole chain under this id in any rank is the claim's.
    if (same === undefined || same.waiting.length > 0) byId.set(chain.chainId, chain);
  }
  let { fulfilled } = rank;
  let remaining = 0;
  const seen: string[] = [];
  const waiting: ChainFact[] = [];
  for (const [index, chainId] of rank.chainIds.entries()) {
    const chain = byId.get(chainId);
    if (chain !== undefined) seen.push(chainId);
    if (chain !== undefined && chain.waiting.length === 0) fulfilled = (fulfilled | (1 << index)) >>> 0;
    if (bit(fulfilled, index) === 1) continue;
    remaining++;
    if (chain === undefined || counted.has(chain)) continue;
    counted.add(chain);
    waiting.push(chain);
  }
  return { remaining, fulfilled, seen, waiting };
}

function countByNumber(
  rank: HeldRank,
  living: readonly ChainFact[],
  goal: number,
  counted: CountedChains,
): RankCount {
  const { chains } = rank;
  const whole = living.filter(({ waiting }) => waiting.length === 0).length;
  const before = goal - chains;
  const fulfilled = Math.max(rank.fulfilled, clamp(whole - before, chains));
  const remaining = chains - fulfilled;
  const shown = clamp(living.length - before, chains) - fulfilled;
  const waiting = living
    .filter((chain) => chain.waiting.length > 0 && !counted.has(chain))
    .sort((a, b) => compareUtf8(a.rankId, b.rankId) || compareUtf8(a.chainId, b.chainId))
    .slice(0, clamp(shown, remaining));
  for (const chain of waiting) counted.add(chain);
  return { remaining, fulfilled, seen: [], waiting };
}

function clamp(value: number, most: number): number {
  return Math.min(most, Math.max(0, value));
}

/** Pods that a claim still holds, by index into its targets. A pod that has its accelerators is not held beside them. */
export function heldPods(hold: Hold, counts: readonly RankCount[]): ReadonlyMap<number, Histogram> {
  const pods = new Map<number, Map<number, number>>();
  const add = (target: number, accelerators: number, number: number): void => {
    const on = pods.get(target) ?? new Map<number, number>();
    pods.set(target, on);
    on.set(accelerators, (on.get(accelerators) ?? 0) + number);
  };
  for (const [index, rank] of hold.ranks.entries()) {
    const counted = counts[index];
    if (counted === undefined || counted.remaining === 0) continue;
    if (rank.chainIds.length > 0) addById(rank, counted, add);
    else addByNumber(rank, counted, add);
  }
  return new Map([...pods].map(([target, on]) => [target, withoutZeros(on)]));
}

type AddPods = (target: number, accelerators: number, pods: number) => void;

function addById(rank: HeldRank, { fulfilled, waiting }: RankCount, add: AddPods): void {
  let first = 0;
  for (const { chains, runs } of rank.placements) {
    for (let index = first; index < first + chains; index++) {
      if (bit(fulfilled, index) === 1) continue;
      for (const run of runs) add(run.target, run.accelerators, run.pods);
      const shown = waiting.find(({ chainId }) => chainId === rank.chainIds[index]);
      if (shown !== undefined) subtractAllocated(runs, shown, add);
    }
    first += chains;
  }
}

/**
 * Where chains by number are placed differently it is not known which of them the snapshot shows, so
 * each placement counts as often as it can be left: too much is held until the last one shows.
 */
function addByNumber(rank: HeldRank, { remaining, waiting }: RankCount, add: AddPods): void {
  for (const { chains, runs } of rank.placements) {
    for (const run of runs) add(run.target, run.accelerators, run.pods * Math.min(chains, remaining));
  }
  const [only] = rank.placements;
  if (only === undefined || rank.placements.length > 1) return;
  for (const shown of waiting) subtractAllocated(only.runs, shown, add);
}

/** A chain that has some of its pods: those are in the snapshot, and held no more. */
function subtractAllocated(
  runs: HeldRank['placements'][number]['runs'],
  shown: ChainFact,
  add: AddPods,
): void {
  const pods = runs.reduce((sum, run) => sum + run.pods, 0);
  if (shown.pods !== pods || shown.waiting.length === pods) return;
  const waiting = new Set(shown.waiting.map(({ podIndex }) => podIndex));
  let podIndex = 0;
  for (const run of runs) {
    for (let n = 0; n < run.pods; n++, podIndex++) {
      if (!waiting.has(podIndex)) add(run.target, run.accelerators, -1);
    }
  }
}

function withoutZeros(on: ReadonlyMap<number, number>): Histogram {
  const pods = new Map<number, number>();
  for (const [size, number] of on) count(pods, size, number);
  return pods;
}
