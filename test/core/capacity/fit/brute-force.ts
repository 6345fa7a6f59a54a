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

/** A set of new nodes, by target, and how many chains there are once they are in place. */
export interface Grown {
  readonly newNodes: readonly number[];
  readonly chains: number;
}

/**
 * Every set of new nodes that the bounds allow, those on their way among them, each with the chains
 * that fit in the snapshot that has these nodes in place.
 *
 * @param viewWith the view of the snapshot once so many nodes more are there, by target
 */
export function everyGrowth(
  view: ClusterView,
  asked: readonly PodsAsked[],
  most: number,
  viewWith: (newNodes: readonly number[]) => ClusterView,
): readonly Grown[] {
  const used = concerned(asked);
  const limits = view.targets.map((target, index) =>
    used.has(index)
      ? (target.pendingNodes ?? 0) + (headroomNodes(target.headroom, target.acceleratorsPerNode) ?? 0)
      : 0,
  );
  return vectors(limits)
    .filter((newNodes) => isAllowed(view, newNodes))
    .map((newNodes) => ({ newNodes, chains: mostChains(viewWith(newNodes), asked, most) }));
}

function isAllowed(view: ClusterView, newNodes: readonly number[]): boolean {
  const pools = [...new Set(view.targets.map(({ poolId }) => poolId))];
  return pools.every((poolId) => {
    const ordered = view.targets.map(({ poolId: own, pendingNodes = 0 }, index) =>
      own === poolId ? Math.max(0, (newNodes[index] ?? 0) - pendingNodes) : 0,
    );
    const nodes = ordered.reduce((sum, count) => sum + count, 0);
    const accelerators = view.targets.reduce(
      (sum, { acceleratorsPerNode }, index) => sum + (ordered[index] ?? 0) * acceleratorsPerNode,
      0,
    );
    const headroom = view.targets.find((target) => target.poolId === poolId)?.headroom;
    if (headroom?.kind !== 'bounded') return nodes === 0;
    return (
      nodes <= (headroom.nodes ?? nodes) &&
      accelerators <= Number(headroom.accelerators ?? BigInt(accelerators))
    );
  });
}

function vectors(limits: readonly number[]): readonly (readonly number[])[] {
  return limits.reduce<readonly (readonly number[])[]>(
    (all, limit) => all.flatMap((one) => Array.from({ length: limit + 1 }, (_, value) => [...one, value])),
    [[]],
  );
}
