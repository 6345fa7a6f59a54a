import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { formatFraction } from '../../../../functions/core/capacity/decimal.ts';
import { evaluateShapes, type ShapeFit } from '../../../../functions/core/capacity/fit/fit.ts';
import { fitResponse } from '../../../../functions/core/capacity/fit/fit-response.ts';
import { parseFitRequest } from '../../../../functions/core/capacity/fit/parse-fit-request.ts';
import {
  STEPS_PER_CANDIDATE,
  STEPS_PER_REQUEST,
} from '../../../../functions/core/capacity/packing/limits.ts';
import { Work } from '../../../../functions/core/capacity/packing/work.ts';
import { ALL_TARGETS, targetMatcher } from '../../../../functions/core/capacity/view/filter.ts';
import { atOnce } from '../../../../functions/core/stepwise.ts';
import { FitRequestSchema } from '../../../../functions/gen/resourcemap/v1/capacity_pb.ts';
import { PurchaseModel } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { dated, freeNodes, pending } from '../builders.ts';
import { ask, askOne, exactly, first, pods } from './questions.ts';

describe('16 accelerators are free, and a job of 16 is pending', () => {
  const fourHalves = dated({ types: [{ nodes: freeNodes(8, [4, 4, 4, 4]) }] });

  test('the answer is no, and says in numbers why', () => {
    const response = first([fourHalves], { podRequirements: pods(8, 8) });
    expect(response.fits).toBe(false);
    expect(response.maxChains).toEqual(exactly(0));
    expect(response.reason).toBe('needs 2 nodes with 8 free; 0 have 8, 4 have 4');
  });

  test('cut into pods of 4 it fits, once, and not twice', () => {
    const response = first([fourHalves], { podRequirements: pods(4, 4, 4, 4), chains: 2 });
    expect(response.fits).toBe(false);
    expect(response.maxChains).toEqual(exactly(1));
    expect(response.reason).toBe('needs 8 nodes with 4 free; 4 have 4; at most 1 chain fits');
  });

  test('where two nodes are whole it fits, and how many fit at most is exact', () => {
    const response = first([dated({ types: [{ idle: 5 }] })], { podRequirements: pods(8, 8), chains: 2 });
    expect(response.fits).toBe(true);
    expect(response.maxChains).toEqual(exactly(2));
    expect(response.reason).toBe('');
  });
});

describe('what comes before the question', () => {
  test('pending and reserved pods have their places first', () => {
    const view = dated({
      types: [{ idle: 2, reserved: { r: 1 } }],
      ranks: [pending('p', 4, 1), { name: 'r', pods: [{ count: 8 }] }],
    });
    expect(first([view], { podRequirements: pods(4) }).maxChains).toEqual(exactly(1));
    const no = first([view], { podRequirements: pods(8) });
    expect(no.reason).toBe(
      'needs 8 accelerators; 16 are free, before demand that comes first: 1 pod of 8, 1 pod of 4',
    );
  });

  test('demand that has no place anyway keeps nobody out', () => {
    const view = dated({ types: [{ nodes: freeNodes(8, [4]) }], ranks: [pending('p', 8, 3)] });
    expect(first([view], { podRequirements: pods(4) }).fits).toBe(true);
  });

  test('a node type that takes no new work is named', () => {
    const view = dated({ types: [{ idle: 2, eligible: false }] });
    const response = first([view], { podRequirements: pods(8) });
    expect(response.fits).toBe(false);
    expect(response.maxChains).toEqual(exactly(0));
    expect(response.reason).toBe(
      'pod 0 (8 accelerators) could stand only in node type "h100" of pool "gpu", not eligible for new work',
    );
  });
});

describe('a chain over several node types of one cluster', () => {
  const view = dated({
    types: [
      { pool: 'train', type: 'h100', idle: 3 },
      { pool: 'serve', type: 'l40s', perNode: 4, nodes: freeNodes(4, [1, 3]), model: 'L40S' },
    ],
  });
  const pod = (poolId: string, nodeTypeId: string, acceleratorCount: number) => ({
    poolId,
    nodeTypeId,
    acceleratorCount,
  });

  test('fits as often as on the node type that has the least room for it', () => {
    const shape = {
      podRequirements: [pod('train', 'h100', 8), pod('serve', 'l40s', 1), pod('serve', 'l40s', 1)],
    };
    expect(first([view], shape).maxChains).toEqual(exactly(2));
  });

  test('names the node type where it does not fit', () => {
    const shape = { podRequirements: [pod('train', 'h100', 8), pod('serve', 'l40s', 2)], chains: 2 };
    expect(first([view], shape).reason).toBe(
      'node type "l40s" of pool "serve": needs 2 nodes with 2 free; 1 has 3, 1 has 1; at most 1 chain fits',
    );
  });

  test('never stands in two clusters', () => {
    const half = (id: string) => dated({ id, types: [{ idle: 1 }] });
    const response = askOne([half('a'), half('b')], { podRequirements: pods(8, 8) });
    expect(response.fits).toBe(false);
    expect(response.maxChains).toEqual(exactly(0));
    expect(response.reason).toBe('none of 2 candidates; the best: needs 2 nodes with 8 free; 1 has 8');
  });

  test('but several chains may, and how many fit over all candidates is their sum', () => {
    const one = (id: string, idle: number) => dated({ id, types: [{ idle }] });
    const response = askOne([one('a', 1), one('b', 2)], { podRequirements: pods(8), chains: 3 });
    expect(response.fits).toBe(false);
    expect(response.maxChains).toEqual(exactly(3));
  });
});

describe('pods that may choose', () => {
  test('take the nodes of whatever type has room, a mix of them too', () => {
    const view = dated({
      types: [
        { type: 'a', idle: 1, zone: 'z1' },
        { type: 'b', nodes: freeNodes(8, [8, 4]), zone: 'z2' },
        { type: 'c', perNode: 8, idle: 9, model: 'A100' },
      ],
    });
    const shape = { podRequirements: [{ acceleratorModel: 'H100', acceleratorCount: 4 }], chains: 5 };
    const response = first([view], shape);
    expect(response.maxChains).toEqual(exactly(5));
    expect(response.candidate.targets.map(({ nodeTypeId }) => nodeTypeId)).toEqual(['a', 'b']);
  });

  test('of the same fabric are a candidate for each fabric, and an unknown fabric is none', () => {
    const view = dated({
      types: [
        { type: 'a', idle: 1, fabric: 'f1' },
        { type: 'b', idle: 1, fabric: 'f1' },
        { type: 'c', idle: 1, fabric: 'f2' },
        { type: 'd', idle: 5 },
      ],
      fabrics: { f1: true, f2: true },
    });
    const shape = { podRequirements: pods(8, 8), sameFabric: true };
    const { candidates } = askOne([view], shape);
    expect(candidates.map(({ candidate, fits }) => [candidate.fabricId, fits])).toEqual([
      ['f1', true],
      ['f2', false],
    ]);
  });

  test('a single pod shares its fabric and zone with itself, wherever it is', () => {
    const view = dated({ types: [{ idle: 1 }] });
    expect(first([view], { podRequirements: pods(8), sameFabric: true, sameZone: true }).fits).toBe(true);
  });

  test('meet every condition, each with a reason where none does', () => {
    const view = dated({
      types: [
        { idle: 1, model: 'H100', instanceType: 'p5.48xlarge', zone: 'z1', fabric: 'f1', price: '55.04' },
      ],
      fabrics: { f1: false },
    });
    const reason = (pod: object): string =>
      askOne([view], { podRequirements: [{ acceleratorCount: 8, ...pod }] }).reason;
    const price = (currencyCode: string, decimalAmount: string) => ({
      maxPricePerNodeHour: { currencyCode, decimalAmount },
    });
    const no = (what: string) => `no node type meets pod 0: of 1, 1 ${what}`;
    expect(reason({ poolId: 'cpu' })).toBe(no('are in another pool'));
    expect(reason({ nodeTypeId: 'a100' })).toBe(no('have another id'));
    expect(reason({ acceleratorModel: 'h100' })).toBe(
      `${no('have another accelerator model')}; the models of the map nearest to "h100" are "H100"`,
    );
    expect(reason({ instanceTypes: ['p4d.24xlarge'] })).toBe(no('are another instance type'));
    expect(reason({ purchaseModels: [PurchaseModel.SPOT] })).toBe(no('have another purchase model'));
    expect(reason({ zones: ['z2'] })).toBe(no('are in another zone, or in an unknown one'));
    expect(reason({ fabrics: ['f2'] })).toBe(no('are in another fabric, or in an unknown one'));
    expect(reason({ rdmaReady: true })).toBe(no('are not known to be RDMA-ready'));
    expect(reason(price('USD', '55.039'))).toBe(no('cost more'));
    expect(reason(price('EUR', '100'))).toBe(no('are priced in another currency'));
    expect(reason({ acceleratorCount: 9 })).toBe(no('have too few accelerators a node'));
    expect(reason(price('USD', '55.0400'))).toBe('');
    expect(reason({ acceleratorModel: 'h100', acceleratorModels: ['H100'] })).toBe('');
  });

  test('an unknown price is not below any', () => {
    const limit = { maxPricePerNodeHour: { currencyCode: 'USD', decimalAmount: '1000' } };
    const response = askOne([dated({ types: [{ idle: 1 }] })], {
      podRequirements: [{ acceleratorCount: 1, ...limit }],
    });
    expect(response.reason).toBe('no node type meets pod 0: of 1, 1 have an unknown price');
  });

  test('no cluster at all is said as such', () => {
    expect(askOne([], { podRequirements: pods(1) }).reason).toBe(
      'no cluster is in the map, or none meets the filter',
    );
  });

  test('pods that each have a place, but none together, are told so', () => {
    const clusters = [
      dated({ id: 'a', types: [{ idle: 1, model: 'H100' }] }),
      dated({ id: 'b', types: [{ idle: 1, model: 'L40S' }] }),
    ];
    const shape = {
      podRequirements: [
        { acceleratorCount: 1, acceleratorModel: 'H100' },
        { acceleratorCount: 1, acceleratorModel: 'L40S' },
      ],
    };
    expect(askOne(clusters, shape).reason).toBe(
      'each pod has node types that it could stand in, but no cluster, fabric or zone has them for all pods of a chain',
    );
  });
});

describe('the order of candidates', () => {
  const one = (id: string, idle: number, price?: string, currency?: string) =>
    dated({
      id,
      types: [
        { idle, ...(price === undefined ? {} : { price }), ...(currency === undefined ? {} : { currency }) },
      ],
    });
  const order = (...clusters: ReturnType<typeof one>[]) =>
    askOne(clusters, { podRequirements: pods(8) }).candidates.map(
      ({ candidate }) => candidate.cluster.view.clusterId,
    );

  test('what fits now comes first, then what fits with scale-out, then what does not fit', () => {
    const grows = dated({
      id: 'grows',
      types: [{ idle: 0 }],
      pools: { gpu: { autoscaling: true, maxNodes: 1 } },
    });
    expect(order(one('full', 0), grows, one('fits', 1))).toEqual(['fits', 'grows', 'full']);
  });

  test('the cheaper one comes first, as a number and not as text, and a known price before an unknown one', () => {
    expect(order(one('a', 1), one('b', 1, '10'), one('c', 1, '9.5'), one('d', 1, '0'))).toEqual([
      'd',
      'c',
      'b',
      'a',
    ]);
  });

  test('currencies are kept apart', () => {
    expect(order(one('a', 1, '1', 'USD'), one('b', 1, '2', 'EUR'))).toEqual(['b', 'a']);
  });

  test('of the same price the one that takes more chains comes first, and then the order is that of the ids', () => {
    expect(order(one('b', 1, '5'), one('a', 1, '5.0'), one('c', 2, '5.00'))).toEqual(['c', 'a', 'b']);
    expect(order(one('a', 1, '5.0'), one('c', 2, '5.00'), one('b', 1, '5'))).toEqual(['c', 'a', 'b']);
  });
});

describe('price per hour', () => {
  const priceOf = (init: Parameters<typeof dated>[0], ...counts: number[]) => {
    const { cost } = first([dated(init)], { podRequirements: pods(...counts) });
    return cost === undefined ? undefined : { currency: cost.currency, ...formatFraction(cost.perHour) };
  };

  test('is the share of the node that the pods take', () => {
    expect(priceOf({ types: [{ idle: 2, price: '55.040000' }] }, 8, 2)).toEqual({
      currency: 'USD',
      amount: '68.8',
      roundedUp: false,
    });
  });

  test('is rounded up, and says so, where the share has no end', () => {
    expect(priceOf({ types: [{ perNode: 6, idle: 1, price: '1' }] }, 1)).toEqual({
      currency: 'USD',
      amount: '0.166666666667',
      roundedUp: true,
    });
  });

  test('is unknown where a price is, and free where it is 0', () => {
    expect(priceOf({ types: [{ idle: 1 }] }, 8)).toBeUndefined();
    expect(priceOf({ types: [{ idle: 1, price: '0' }] }, 8)).toEqual({
      currency: 'USD',
      amount: '0',
      roundedUp: false,
    });
  });

  test('is that of the cheaper accelerators, where pods may choose and there is room for all', () => {
    const types = [
      { type: 'a', idle: 1, price: '80' },
      { type: 'b', perNode: 4, idle: 2, price: '20' },
    ];
    expect(priceOf({ types }, 4, 4)?.amount).toBe('40');
  });
});

describe('several shapes in one question', () => {
  const view = dated({ types: [{ idle: 2 }] });

  test('are answered as if taken in order', () => {
    const responses = ask(
      [view],
      { podRequirements: pods(4) },
      { podRequirements: pods(8) },
      { podRequirements: pods(8) },
    );
    expect(responses.map(({ fits }) => fits)).toEqual([true, true, false]);
  });

  test('what is taken is pinned to no node: 4 and then 8 and then 4 fit on two nodes', () => {
    const responses = ask(
      [view],
      { podRequirements: pods(4) },
      { podRequirements: pods(8) },
      { podRequirements: pods(4) },
    );
    expect(responses.map(({ fits }) => fits)).toEqual([true, true, true]);
  });

  test('what does not fit takes nothing', () => {
    const responses = ask([view], { podRequirements: pods(8, 8, 8) }, { podRequirements: pods(8, 8) });
    expect(responses.map(({ fits }) => fits)).toEqual([false, true]);
  });

  test('each is taken in its first candidate, and leaves the others as they are', () => {
    const clusters = [dated({ id: 'a', types: [{ idle: 1 }] }), dated({ id: 'b', types: [{ idle: 1 }] })];
    const responses = ask(clusters, { podRequirements: pods(8) }, { podRequirements: pods(8) });
    expect(responses.map(({ candidates }) => candidates[0]?.candidate.cluster.view.clusterId)).toEqual([
      'a',
      'b',
    ]);
  });
});

describe('with scale-out', () => {
  const grown = (init: Parameters<typeof dated>[0], chains: number, ...counts: number[]) => {
    const { fits, fitsWithScaleOut, maxChainsWithScaleOut } = first([dated(init)], {
      podRequirements: pods(...counts),
      chains,
    });
    return { fits, fitsWithScaleOut, maxChainsWithScaleOut };
  };

  test('as many fit as on the nodes that the pool may still add', () => {
    const init = { types: [{ idle: 1 }], pools: { gpu: { autoscaling: true, maxNodes: 4 } } };
    expect(grown(init, 3, 8)).toEqual({
      fits: false,
      fitsWithScaleOut: true,
      maxChainsWithScaleOut: exactly(4),
    });
  });

  test('it is unknown where no bound is given, except for what fits already', () => {
    const init = { types: [{ idle: 1 }], pools: { gpu: { autoscaling: true } } };
    expect(grown(init, 2, 8)).toEqual({
      fits: false,
      fitsWithScaleOut: undefined,
      maxChainsWithScaleOut: undefined,
    });
    expect(grown(init, 1, 8)).toEqual({
      fits: true,
      fitsWithScaleOut: true,
      maxChainsWithScaleOut: undefined,
    });
  });

  test('the pool’s own deficit is served first', () => {
    const init = {
      types: [{ idle: 0 }],
      pools: { gpu: { autoscaling: true, maxNodes: 3 } },
      ranks: [pending('p', 8, 2)],
    };
    expect(grown(init, 1, 8).maxChainsWithScaleOut).toEqual(exactly(1));
  });

  test('a deficit on another node type of the pool keeps no node from coming', () => {
    const init = {
      types: [
        { type: 'a', model: 'H100', idle: 0 },
        { type: 'b', model: 'L40S', perNode: 1, idle: 0 },
      ],
      pools: { gpu: { autoscaling: true, maxNodes: 3 } },
      ranks: [pending('p', 1, 2, 'b')],
    };
    const { maxChainsWithScaleOut } = first([dated(init)], {
      podRequirements: [{ acceleratorModel: 'H100', acceleratorCount: 8 }],
    });
    expect(maxChainsWithScaleOut).toEqual(exactly(3));
  });

  test('two node types of a pool share its headroom', () => {
    const init = {
      types: [
        { type: 'a', model: 'H100', idle: 0 },
        { type: 'b', model: 'L40S', idle: 0 },
      ],
      pools: { gpu: { autoscaling: true, maxNodes: 100 } },
    };
    const { maxChainsWithScaleOut } = first([dated(init)], {
      podRequirements: [
        { acceleratorModel: 'H100', acceleratorCount: 8 },
        { acceleratorModel: 'L40S', acceleratorCount: 4 },
      ],
    });
    // n chains take n nodes of one type and n/2 of the other.
    expect(maxChainsWithScaleOut).toEqual(exactly(66));
  });

  test('what waits for a node type that takes no new work takes nothing from the headroom', () => {
    const init = {
      types: [
        { type: 'a', model: 'H100', idle: 0 },
        { type: 'b', model: 'L40S', idle: 0, eligible: false },
      ],
      pools: { gpu: { autoscaling: true, maxNodes: 1 } },
      ranks: [pending('p', 8, 1, 'b')],
    };
    const { maxChainsWithScaleOut } = first([dated(init)], {
      podRequirements: [{ acceleratorModel: 'H100', acceleratorCount: 8 }],
    });
    expect(maxChainsWithScaleOut).toEqual(exactly(1));
  });

  const twoTypes = (perNode: number) => ({
    types: [
      { type: 'a', idle: 0 },
      { type: 'b', perNode, idle: 0 },
    ],
    pools: { gpu: { autoscaling: true, maxNodes: 100 } },
  });

  test('pods that may stand in either of a pool’s node types share one headroom, however large', () => {
    expect(grown(twoTypes(8), 1, 8).maxChainsWithScaleOut).toEqual(exactly(100));
  });

  test('a headroom that can be shared in many ways is given to the type that holds the most', () => {
    // 100 nodes of b hold 100 chains, 5 + 3 on each.
    const { maxChainsWithScaleOut } = first([dated(twoTypes(8))], {
      podRequirements: [{ acceleratorCount: 5, nodeTypeId: 'b' }, { acceleratorCount: 3 }],
    });
    expect(maxChainsWithScaleOut).toEqual(exactly(100));
  });

  test('nodes on their way count, and are distinguished', () => {
    const pool = { gpu: { autoscaling: true, maxNodes: 4 } };
    const full = { nodes: freeNodes(8, [0]) };
    const before = grown({ types: [full], pools: pool }, 3, 8);
    const ordered = grown({ types: [{ ...full, pendingNodes: 3 }], pools: pool }, 3, 8);
    for (const response of [before, ordered]) {
      expect(response).toMatchObject({ fits: false, fitsWithScaleOut: true });
      expect(response.maxChainsWithScaleOut).toEqual(exactly(3));
    }
    const written = (response: ShapeFit) =>
      fitResponse([response], 1).shapes[0]?.candidates[0]?.scaleOutNodes.map(({ nodes, pendingNodes }) => [
        nodes,
        pendingNodes,
      ]);
    const shape = { podRequirements: pods(8), chains: 3 };
    expect(written(askOne([dated({ types: [full], pools: pool })], shape))).toEqual([[3n, 0n]]);
    expect(written(askOne([dated({ types: [{ ...full, pendingNodes: 2 }], pools: pool })], shape))).toEqual([
      [3n, 2n],
    ]);
  });

  test('nodes on their way come without autoscaling, too', () => {
    expect(grown({ types: [{ nodes: freeNodes(8, [0]), pendingNodes: 1 }] }, 1, 8).fitsWithScaleOut).toBe(
      true,
    );
  });

  test('demand that can never be placed keeps no new node from the question', () => {
    const init = {
      types: [{ nodes: freeNodes(8, [0]) }],
      pools: { gpu: { autoscaling: true, maxNodes: 2 } },
      ranks: [pending('w', 5, 2)],
    };
    expect(grown(init, 1, 3)).toMatchObject({ fits: false, fitsWithScaleOut: true });
    expect(grown(init, 1, 3).maxChainsWithScaleOut).toEqual(exactly(1));
  });

  test('a further node may serve more demand and take the room: the set that leaves it is found', () => {
    // On one node the 3 is served and leaves 1; on two all of {3, 2, 2} is, and leaves 1 as well.
    const init = (nodes: number) => ({
      types: [{ perNode: 4, idle: nodes }],
      pools: { gpu: { autoscaling: true, maxNodes: 2 } },
      ranks: [pending('a', 3, 1), pending('b', 2, 2)],
    });
    expect(grown(init(1), 1, 1).fits).toBe(true);
    expect(grown(init(0), 1, 1)).toMatchObject({ fits: false, fitsWithScaleOut: true });
    expect(grown(init(0), 1, 2).fitsWithScaleOut).toBe(false);
  });

  test('never fewer fit than without', () => {
    const init = {
      types: [{ nodes: freeNodes(8, [4]) }],
      pools: { gpu: { autoscaling: true, maxNodes: 1 } },
      ranks: [pending('p', 8, 1)],
    };
    expect(grown(init, 1, 4)).toEqual({
      fits: true,
      fitsWithScaleOut: true,
      maxChainsWithScaleOut: exactly(1),
    });
  });
});

test('more chains than the wire can count are counted to its end', () => {
  const view = dated({ types: [{ perNode: 4_294_967_295, idle: 4_294_967_295 }] });
  expect(first([view], { podRequirements: pods(1) }).maxChains).toEqual(exactly(4_294_967_295));
});

test('a question is left before every candidate, so that others get their turn', () => {
  const clusters = ['a', 'b', 'c'].map((id) => dated({ id, types: [{ idle: 1 }] }));
  const request = parseFitRequest(
    create(FitRequestSchema, { shapes: [{ podRequirements: pods(1) }, { podRequirements: pods(8) }] }),
  );
  const work = evaluateShapes(request.shapes, clusters, targetMatcher(ALL_TARGETS));
  let turns = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) turns++;
  expect(step.value.map(({ candidates }) => candidates.length)).toEqual([3, 3]);
  expect(turns).toBe(6);
});

test('a candidate that is hard to decide leaves the steps of the others', () => {
  const hard = dated({
    id: 'a',
    types: [
      {
        perNode: 101,
        nodes: freeNodes(
          101,
          Array.from({ length: 60 }, (_, i) => 61 + ((i * 7) % 40)),
        ),
      },
    ],
  });
  const work = new Work(STEPS_PER_REQUEST);
  const request = parseFitRequest(
    create(FitRequestSchema, {
      shapes: [{ podRequirements: pods(11, 13, 17, 19, 23, 29, 31), chains: 20 }],
    }),
  );
  atOnce(evaluateShapes(request.shapes, [hard], targetMatcher(ALL_TARGETS), work));
  expect(STEPS_PER_REQUEST - work.left).toBeGreaterThan(10_000);
  expect(STEPS_PER_REQUEST - work.left).toBeLessThanOrEqual(STEPS_PER_CANDIDATE + 10_000);
});
