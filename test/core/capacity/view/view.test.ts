import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plus, volume } from '../../../../functions/core/capacity/view/histogram.ts';
import { chainKeys } from '../../../../functions/core/capacity/view/pods.ts';
import { clusterView, missingChain } from '../../../../functions/core/capacity/view/view.ts';
import { type ClusterInit, cluster, freeNodes, type NodeInit, pending } from '../builders.ts';

function viewOf(init: ClusterInit) {
  const view = clusterView(cluster(init));
  const [target] = view.targets;
  if (target === undefined) throw new Error('the cluster has a target');
  return { view, target };
}

describe('the figures of a target', () => {
  const perNode = fc.integer({ min: 1, max: 16 });
  const occupied = perNode.chain((size) =>
    fc.record({
      perNode: fc.constant(size),
      idle: fc.nat(40),
      nodes: fc.array(
        fc.tuple(fc.nat(size), fc.nat(size), fc.nat(size)).filter(([external, unavailable, pods]) => {
          const used = external + unavailable + pods;
          return used > 0 && used <= size;
        }),
        { maxLength: 30 },
      ),
    }),
  );

  test('total is allocated, external, unavailable and free together, and free is what the nodes have free', () => {
    fc.assert(
      fc.property(occupied, ({ perNode, idle, nodes }) => {
        const ranks = nodes.flatMap(([, , held], index) =>
          held === 0 ? [] : [{ name: `r${index}`, pods: [{ count: held }], chains: [{ name: `c${index}` }] }],
        );
        const { target } = viewOf({
          types: [
            {
              perNode,
              idle,
              nodes: nodes.map(
                ([external, unavailable, held], index): NodeInit => ({
                  external,
                  unavailable,
                  pods: held === 0 ? [] : [{ chain: `c${index}`, index: 0 }],
                }),
              ),
            },
          ],
          ranks,
        });
        const {
          total,
          allocated,
          external,
          unavailable,
          free,
          freeNodes,
          nodes: count,
          idleNodes,
        } = target.occupancy;
        expect(total).toBe(BigInt(perNode) * BigInt(idle + nodes.length));
        expect(allocated + external + unavailable + free).toBe(total);
        expect(volume(freeNodes)).toBe(free);
        expect({ count, idleNodes }).toEqual({ count: idle + nodes.length, idleNodes: idle });
        expect(target.demand).toEqual({ pending: new Map(), reserved: new Map() });
      }),
    );
  });

  test('free before and after demand differ by exactly the demand that is served', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 16 }),
        fc.array(fc.nat(16), { maxLength: 20 }),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 9 })), { maxLength: 4 }),
        fc.boolean(),
        (perNode, free, chains, eligible) => {
          const { target } = viewOf({
            types: [
              {
                perNode,
                eligible,
                nodes: freeNodes(
                  perNode,
                  free.map((left) => left % perNode),
                ),
              },
            ],
            ranks: chains.map(([count, times], index) =>
              pending(`r${index}`, Math.min(count, perNode), times),
            ),
          });
          const placed = volume(plus(target.served.pending, target.served.reserved));
          expect(target.occupancy.free - volume(target.served.freeNodesAfter)).toBe(placed);
          if (!eligible) expect(placed).toBe(0n);
        },
      ),
    );
  });

  test('2^32 − 1 nodes of 2^32 − 1 accelerators are counted to the last one', () => {
    const { target } = viewOf({ types: [{ perNode: 4_294_967_295, idle: 4_294_967_295 }] });
    expect(target.occupancy.total).toBe(18_446_744_065_119_617_025n);
    expect(target.occupancy.free).toBe(18_446_744_065_119_617_025n);
  });

  test('a node type scaled to zero, and one without accelerators, have nothing and are there', () => {
    const { view } = viewOf({
      types: [
        { type: 'a', idle: 0 },
        { type: 'b', perNode: 0, idle: 3 },
      ],
    });
    expect(
      view.targets.map(({ occupancy }) => [occupancy.nodes, occupancy.idleNodes, occupancy.free]),
    ).toEqual([
      [0, 0, 0n],
      [3, 3, 0n],
    ]);
    expect(view.targets.map(({ occupancy }) => occupancy.freeNodes)).toEqual([new Map(), new Map()]);
  });

  test('an ineligible type has its free accelerators and serves no demand', () => {
    const { target } = viewOf({ types: [{ idle: 2, eligible: false }], ranks: [pending('r', 8, 1)] });
    expect(target.occupancy.free).toBe(16n);
    expect(target.served.pending).toEqual(new Map());
    expect(target.served.freeNodesAfter).toEqual(new Map([[8, 2]]));
  });

  test('a snapshot that cannot be true has no figures', () => {
    expect(() => viewOf({ types: [{ nodes: [{ external: 9 }] }] })).toThrow(
      new RangeError('9 of 8 accelerators of a node are taken'),
    );
  });
});

describe('released chains', () => {
  const init: ClusterInit = {
    types: [
      {
        nodes: [
          {
            pods: [
              { chain: 'a', index: 0 },
              { chain: 'b', index: 0 },
            ],
          },
          { pods: [{ chain: 'a', index: 1 }], external: 2 },
        ],
      },
    ],
    ranks: [{ name: 'r', pods: [{ count: 4 }, { count: 4 }], chains: [{ name: 'a' }, { name: 'b' }] }],
  };

  test('give back what they hold, and no longer want what they lack', () => {
    const released = chainKeys([{ jobId: 'r', rankId: 'r', chainId: 'b' }]);
    const [target] = clusterView(cluster(init), released).targets;
    expect(target?.occupancy.freeNodes).toEqual(
      new Map([
        [4, 1],
        [2, 1],
      ]),
    );
    expect(target?.occupancy.allocated).toBe(8n);
    expect(target?.demand.pending).toEqual(new Map());
    // Beside it, chain b's second pod was waiting, and had no place.
    expect(viewOf(init).target.demand.pending).toEqual(new Map([[4, 1]]));
  });

  test('leave a node idle that nothing else uses', () => {
    const released = chainKeys(['a', 'b'].map((chainId) => ({ jobId: 'r', rankId: 'r', chainId })));
    const [target] = clusterView(cluster(init), released).targets;
    expect(target?.occupancy.idleNodes).toBe(1);
    expect(target?.occupancy.freeNodes).toEqual(
      new Map([
        [8, 1],
        [6, 1],
      ]),
    );
  });

  test('must be there to be released', () => {
    const known = { jobId: 'r', rankId: 'r', chainId: 'a' };
    const unknown = { jobId: 'r', rankId: 'r', chainId: 'z' };
    expect(missingChain(cluster(init), [known])).toBeUndefined();
    expect(missingChain(cluster(init), [known, unknown])).toEqual(unknown);
  });
});

test('targets come in the order of their ids, whatever the snapshot says', () => {
  const { view } = viewOf({
    types: [
      { pool: 'b', type: 'x' },
      { pool: 'a', type: 'y' },
      { pool: 'a', type: 'x' },
    ],
  });
  expect(view.targets.map(({ poolId, nodeTypeId }) => poolId + nodeTypeId)).toEqual(['ax', 'ay', 'bx']);
});

test('a view does not depend on when its snapshot was taken', () => {
  const snapshot = cluster({ types: [{ idle: 2 }], ranks: [pending('r', 8, 3)] });
  const before = clusterView(snapshot);
  snapshot.logicalCounter = 99n;
  snapshot.collectedAt = undefined;
  expect(clusterView(snapshot)).toEqual(before);
});
