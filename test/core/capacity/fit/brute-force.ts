/** How many chains fit, found by counting up over tables of everything that fits. For small cases. */

import type { BinClass, ItemClass } from '../../../../functions/core/capacity/packing/problem.ts';
import { headroomNodes } from '../../../../functions/core/capacity/view/headroom.ts';
import type { Histogram } from '../../../../functions/core/capacity/view/histogram.ts';
import type { ClusterView, TargetView } from '../../../../functions/core/capacity/view/view.ts';
import { reachableVectors } from '../packing/reachable.ts';

/** Pods of a chain: their size, how many, and the indexes of the targets where they may stand. */
export interface PodsAsked {
  readonly size: number;
  readonly perChain: number;
  readonly targets: readonly number[];
}

function binsOf(view: ClusterView, newNodes: readonly number[]): readonly BinClass[] {
  return view.targets.flatMap((target, index) => {
    const bins = [...target.occupancy.freeNodes].map(([size, count]) => ({ target: index, size, count }));
    const added = newNodes[index] ?? 0;
    return added === 0 ? bins : [...bins, { target: index, size: target.acceleratorsPerNode, count: added }];
  });
}

function items(pods: Histogram, target: number): readonly ItemClass[] {
  return [...pods].map(([size, count]) => ({ size, count, targets: [target] }));
}

function wholeDemand({ demand }: TargetView, index: number): readonly ItemClass[] {
  return [...items(demand.pending, index), ...items(demand.reserved, index)];
}

/** What is served of a target's demand, found by counting up class after class. */
function servedDemand(view: ClusterView, index: number): readonly ItemClass[] {
  const target = view.targets[index];
  if (target === undefined || !target.eligible) return [];
  const classes = wholeDemand(target, index);
  const reachable = reachableVectors({ bins: binsOf(view, []), items: classes });
  const counts = classes.map(() => 0);
  for (const [position, { count }] of classes.entries()) {
    while (
      (counts[position] ?? 0) < count &&
      reachable.fits(counts.with(position, (counts[position] ?? 0) + 1))
    ) {
      counts[position] = (counts[position] ?? 0) + 1;
    }
  }
  return classes.map((one, position) => ({ ...one, count: counts[position] ?? 0 }));
}

/** The largest number of chains, up to `most`, beside these items; −1 where not even these fit. */
function chainsBeside(
  bins: readonly BinClass[],
  before: readonly ItemClass[],
  asked: readonly PodsAsked[],
  most: number,
): number {
  const first = before.filter(({ count }) => count > 0);
  const chainItems = asked.map(({ size, perChain, targets }) => ({ size, count: perChain * most, targets }));
  const reachable = reachableVectors({ bins, items: [...first, ...chainItems] });
  for (let chains = most; chains >= 0; chains--) {
    const counts = [...first.map(({ count }) => count), ...asked.map(({ perChain }) => perChain * chains)];
    if (reachable.fits(counts)) return chains;
  }
  return -1;
}

/** Targets that the shape uses at all; the demand of others is no concern of it. */
function concerned(asked: readonly PodsAsked[]): ReadonlySet<number> {
  return new Set(asked.flatMap(({ targets }) => targets));
}

export function mostChains(view: ClusterView, asked: readonly PodsAsked[], most: number): number {
  const used = [...concerned(asked)];
  const before = used.flatMap((index) => servedDemand(view, index));
  const bins = binsOf(view, []).filter(({ target }) => used.includes(target));
  return chainsBeside(bins, before, asked, most);
}

/**
 * The same when pools scale out: over every way of adding nodes that leaves each pool within its
 * headroom after its whole demand is served, the largest number of chains. A pool whose demand
 * cannot all be served adds nothing and serves what it does without.
 */
export function mostChainsWithScaleOut(view: ClusterView, asked: readonly PodsAsked[], most: number): number {
  const used = concerned(asked);
  const needed = view.targets.map((target, index) => {
    const limit = headroomNodes(target.headroom, target.acceleratorsPerNode) ?? 0;
    if (!target.eligible) return 0;
    for (let added = 0; added <= limit; added++) {
      const bins = binsOf(
        view,
        view.targets.map((_, other) => (other === index ? added : 0)),
      );
      const own = bins.filter(({ target }) => target === index);
      if (chainsBeside(own, wholeDemand(target, index), [], 0) >= 0) return added;
    }
    return Number.POSITIVE_INFINITY;
  });
  const pools = [...new Set(view.targets.map(({ poolId }) => poolId))];
  const within = (poolId: string, newNodes: readonly number[]): boolean => {
    const members = view.targets.flatMap((target, index) =>
      target.poolId === poolId ? [{ target, index }] : [],
    );
    const headroom = members[0]?.target.headroom;
    if (headroom?.kind !== 'bounded') return members.every(({ index }) => newNodes[index] === 0);
    const nodes = members.reduce((sum, { index }) => sum + (newNodes[index] ?? 0), 0);
    const accelerators = members.reduce(
      (sum, { target, index }) => sum + (newNodes[index] ?? 0) * target.acceleratorsPerNode,
      0,
    );
    return (
      nodes <= (headroom.nodes ?? nodes) &&
      accelerators <= Number(headroom.accelerators ?? BigInt(accelerators))
    );
  };
  const growing = new Set(
    pools.filter((poolId) => {
      const members = view.targets.map(({ poolId: id }, index) => (id === poolId ? (needed[index] ?? 0) : 0));
      return members.every(Number.isFinite) && within(poolId, members);
    }),
  );
  const limits = view.targets.map((target, index) =>
    growing.has(target.poolId) && used.has(index)
      ? (headroomNodes(target.headroom, target.acceleratorsPerNode) ?? 0)
      : 0,
  );
  const before = [...used].flatMap((index) => {
    const target = view.targets[index];
    if (target === undefined) return [];
    return growing.has(target.poolId) && target.eligible
      ? wholeDemand(target, index)
      : servedDemand(view, index);
  });
  let best = mostChains(view, asked, most);
  for (const added of vectors(limits)) {
    // Types that the shape does not use take what their own demand needs.
    const newNodes = view.targets.map((target, index) =>
      used.has(index) ? (added[index] ?? 0) : growing.has(target.poolId) ? (needed[index] ?? 0) : 0,
    );
    if (![...growing].every((poolId) => within(poolId, newNodes))) continue;
    const bins = binsOf(view, newNodes).filter(({ target }) => used.has(target));
    best = Math.max(best, chainsBeside(bins, before, asked, most));
  }
  return best;
}

function vectors(limits: readonly number[]): readonly (readonly number[])[] {
  return limits.reduce<readonly (readonly number[])[]>(
    (all, limit) => all.flatMap((one) => Array.from({ length: limit + 1 }, (_, value) => [...one, value])),
    [[]],
  );
}
