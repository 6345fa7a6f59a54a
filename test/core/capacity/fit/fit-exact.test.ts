/** Fit answers of small clusters against counting up over everything that fits. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assertPacks } from '../../../../functions/core/capacity/packing/problem.ts';
import type { ClusterView } from '../../../../functions/core/capacity/view/view.ts';
import { type ClusterInit, dated, freeNodes } from '../builders.ts';
import { everyGrowth, type Grown, mostChains, type PodsAsked } from './brute-force.ts';
import { exactly, first } from './questions.ts';

const SIZES = [1, 2, 3, 4, 5];
const MOST_CHAINS = 6;

/** Two or three node types in one or two pools, part of them occupied, with demand on each. */
const clusters = fc
  .array(
    fc.record({
      pool: fc.constantFrom('p', 'q'),
      perNode: fc.constantFrom(3, 4, 5),
      free: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }),
      pending: fc.array(fc.constantFrom(...SIZES), { maxLength: 2 }),
      pendingNodes: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(2)),
      price: fc.option(fc.constantFrom('1', '2.5', '4'), { nil: undefined }),
      eligible: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .chain((types) =>
    fc
      .record({
        p: fc.record({ autoscaling: fc.boolean(), headroom: fc.nat(2), accelerators: fc.option(fc.nat(12)) }),
        q: fc.record({ autoscaling: fc.boolean(), headroom: fc.nat(2), accelerators: fc.option(fc.nat(12)) }),
      })
      .map((pools): ClusterInit => {
        const of = (id: 'p' | 'q') => {
          const members = types.filter(({ pool }) => pool === id);
          const nodes = members.reduce((sum, { free, pendingNodes }) => sum + free.length + pendingNodes, 0);
          const total = members.reduce(
            (sum, { free, pendingNodes, perNode }) => sum + (free.length + pendingNodes) * perNode,
            0,
          );
          const { autoscaling, headroom, accelerators } = pools[id];
          return {
            autoscaling,
            maxNodes: nodes + headroom,
            ...(accelerators === null ? {} : { maxAccelerators: total + accelerators }),
          };
        };
        return {
          types: types.map(({ pool, perNode, free, pendingNodes, price, eligible }, index) => ({
            pool,
            type: `t${index}`,
            perNode,
            eligible,
            pendingNodes,
            ...(price === undefined ? {} : { price }),
            nodes: freeNodes(
              perNode,
              // A node that is all free would be an idle one.
              free.map((left) => Math.min(left, perNode - 1)),
            ),
          })),
          pools: { p: of('p'), q: of('q') },
          ranks: types.flatMap(({ pool, perNode, pending }, index) =>
            pending.map((size, number) => ({
              name: `r${index}-${number}`,
              pods: [{ count: Math.min(size, perNode), pool, type: `t${index}` }],
              chains: [{ name: `c${index}-${number}` }],
            })),
          ),
        };
      }),
  );

/** What a candidate's classes ask, in terms of the view's targets. */
function asked(response: ReturnType<typeof first>): readonly PodsAsked[] {
  const { candidate } = response;
  return candidate.classes.map(({ accelerators, perChain, targets }) => ({
    size: accelerators,
    perChain,
    targets: targets.flatMap((index) => {
      const target = candidate.targets[index];
      return target === undefined ? [] : [candidate.cluster.view.targets.indexOf(target)];
    }),
  }));
}

function compare(
  init: ClusterInit,
  podRequirements: Parameters<typeof first>[1]['podRequirements'],
  chains: number,
) {
  const view = dated(init);
  const response = first([view], { podRequirements: podRequirements ?? [], chains });
  const pods = asked(response);
  const closed = pods.some(({ targets }) => targets.length === 0);
  const expected = closed ? 0 : mostChains(view.view, pods, MOST_CHAINS);
  // The tables end at a number of chains; beyond it there is nothing to compare with.
  if (expected === MOST_CHAINS) return;
  expect(response.maxChains).toEqual(exactly(expected));
  expect(response.fits).toBe(chains <= expected);
  if (response.witness !== undefined) {
    const { room, packing } = response.witness;
    assertPacks({ bins: room.bins, items: room.items(chains) }, packing);
  }
  if (closed) {
    expect(response.maxChainsWithScaleOut).toEqual(exactly(0));
    return;
  }
  const growths = everyGrowth(view.view, pods, MOST_CHAINS, (newNodes) => withNodes(init, newNodes));
  expect(response.fitsWithScaleOut).toBe(growths.some((growth) => growth.chains >= chains));
  const scaled = Math.max(...growths.map((growth) => growth.chains));
  if (scaled < MOST_CHAINS) expect(response.maxChainsWithScaleOut).toEqual(exactly(scaled));
  if (response.fits === true || chains > scaled) {
    expect(response.scaleOut).toBeUndefined();
    return;
  }
  const { candidate, scaleOut } = response;
  const chosen = view.view.targets.map((target) => {
    const index = candidate.targets.indexOf(target);
    return scaleOut?.newNodes.get(index) ?? 0;
  });
  const enough = growths.filter((growth) => growth.chains >= chains);
  const [best] = enough.map(({ newNodes }) => rankOf(init, newNodes)).sort(compareRanks);
  expect(rankOf(init, chosen)).toEqual(best);
  expect(enough.some(({ newNodes }) => `${newNodes}` === `${chosen}`)).toBe(true);
}

/** The view of the snapshot once these nodes are there. */
function withNodes(init: ClusterInit, newNodes: Grown['newNodes']): ClusterView {
  return dated({
    ...init,
    types: init.types.map((type) => {
      const index = dated(init).view.targets.findIndex(
        ({ poolId, nodeTypeId }) => poolId === type.pool && nodeTypeId === type.type,
      );
      const added = newNodes[index] ?? 0;
      const pendingNodes = Math.max(0, (type.pendingNodes ?? 0) - added);
      return { ...type, idle: (type.idle ?? 0) + added, pendingNodes };
    }),
  }).view;
}

/** Nodes without a price, price of the others (all are in USD), nodes. */
type Rank = readonly [unpriced: number, price: number, nodes: number];

function rankOf(init: ClusterInit, newNodes: readonly number[]): Rank {
  let unpriced = 0;
  let price = 0;
  let nodes = 0;
  for (const [index, { price: known }] of dated(init).view.targets.entries()) {
    const added = newNodes[index] ?? 0;
    nodes += added;
    if (known === undefined) unpriced += added;
    else price += added * Number(known.text);
  }
  return unpriced > 0 ? [unpriced, 0, nodes] : [0, price, nodes];
}

function compareRanks(a: Rank, b: Rank): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

const anyPods = (from: readonly object[]) =>
  fc.array(fc.record({ acceleratorCount: fc.constantFrom(1, 2, 3), where: fc.nat(from.length - 1) }), {
    minLength: 1,
    maxLength: 3,
  });

describe('how many chains fit, now and with scale-out', () => {
  test('where every pod names its node type', () => {
    fc.assert(
      fc.property(
        clusters.chain((init) =>
          fc.tuple(fc.constant(init), anyPods(init.types), fc.integer({ min: 1, max: 4 })),
        ),
        ([init, pods, chains]) => {
          compare(
            init,
            pods.map(({ acceleratorCount, where }) => ({
              acceleratorCount,
              poolId: init.types[where]?.pool ?? '',
              nodeTypeId: init.types[where]?.type ?? '',
            })),
            chains,
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  test('where pods may choose among node types', () => {
    fc.assert(
      fc.property(
        clusters,
        fc.array(
          fc.record({ acceleratorCount: fc.constantFrom(1, 2, 3), poolId: fc.constantFrom('', 'p', 'q') }),
          {
            minLength: 1,
            maxLength: 2,
          },
        ),
        fc.integer({ min: 1, max: 4 }),
        (init, pods, chains) => {
          const has = (poolId: string) => poolId === '' || init.types.some(({ pool }) => pool === poolId);
          fc.pre(pods.every(({ poolId }) => has(poolId)));
          compare(init, pods, chains);
        },
      ),
      { numRuns: 150 },
    );
  });
});
