/** Plans behind pending pods and reserved chains. */
import { describe, expect, it } from 'vitest';
import type { Bundle, NodeService } from '../../../../functions/core/bundle/model/model.ts';
import { clusterNodes, mapCandidates } from '../../../../functions/core/bundle/plan/map-nodes.ts';
import { planBundles } from '../../../../functions/core/bundle/plan/plan.ts';
import { planNodeServices } from '../../../../functions/core/bundle/plan/services.ts';
import { type ClusterInit, cluster, freeNodes, pending } from '../../capacity/builders.ts';
import { bundle, job, pool } from '../builders.ts';

function candidates(init: ClusterInit) {
  return mapCandidates([clusterNodes(cluster(init))], new Map());
}

function plan(init: ClusterInit, ...bundles: readonly Bundle[]) {
  return planBundles(bundles, [pool()], candidates(init));
}

const whole = (count: number) => ({ requiredCapabilities: [{ name: 'resource-map/accelerator', count }] });
const share = (requiredGpuCapacity: number) => ({ requiredGpuCapacity });

/** One node of 8, and pods of these sizes that wait for it. */
function oneNode(...sizes: readonly number[]): ClusterInit {
  return { types: [{ idle: 1 }], ranks: sizes.map((size, index) => pending(`w${index}`, size, 1)) };
}

describe('a plan behind demand', () => {
  it('leaves a node alone that is owed to a pending chain, and says so', () => {
    expect(plan(oneNode(8), bundle([job('j', whole(8))]))).toEqual([
      {
        bundleId: 'b',
        outcome: 'unplaced',
        message:
          'There is no plan for the bundle. Job "j": None of the 1 node that is left of pool "p" can be had: ' +
          'demand comes first on node type "h100" of capacity pool "gpu" of cluster "c1": 1 pod of 8.',
        copies: [
          {
            copy: 'primary',
            outcome: 'unplaced',
            unplaced: [
              expect.objectContaining({
                jobName: 'j',
                filter: 'demand',
                counts: expect.arrayContaining([
                  { filter: 'sameAz', left: 1 },
                  { filter: 'demand', left: 0 },
                ]),
              }),
            ],
          },
        ],
      },
    ]);
  });

  it('leaves a node alone that is owed to a reserved chain', () => {
    const reserved: ClusterInit = {
      types: [{ idle: 1, reserved: { serve: 1 } }],
      ranks: [{ name: 'serve', pods: [{ count: 8 }] }],
    };
    expect(plan(reserved, bundle([job('j', whole(1))]))[0]?.outcome).toBe('unplaced');
  });

  it('takes what the demand leaves', () => {
    expect(plan(oneNode(5), bundle([job('j', whole(3))]))[0]?.outcome).toBe('placed');
    expect(plan(oneNode(5), bundle([job('j', whole(4))]))[0]?.outcome).toBe('unplaced');
  });

  it('is kept out by no pod that has no place itself', () => {
    expect(plan(oneNode(5, 5), bundle([job('j', whole(3))]))[0]?.outcome).toBe('placed');
  });

  it('chooses another node where the tightest one is needed by a pod', () => {
    const init: ClusterInit = {
      types: [{ nodes: freeNodes(8, [5, 6]) }],
      ranks: [pending('a', 5, 1), pending('b', 4, 1)],
    };
    const [planned] = plan(init, bundle([job('j', whole(2))]));
    expect(planned).toMatchObject({
      outcome: 'placed',
      copies: [{ placements: [{ node: { node: { freeAccelerators: 6 } } }] }],
    });
  });

  it('asks nothing of jobs that need no accelerators', () => {
    expect(plan(oneNode(8), bundle([job('j', { requiredCores: 1 })]))[0]?.outcome).toBe('placed');
  });

  it('counts shares by the devices that they need at least', () => {
    const halves = [job('a', share(0.5)), job('b', share(0.5)), job('c', share(0.5)), job('d', share(0.5))];
    expect(plan(oneNode(6), bundle(halves))[0]?.outcome).toBe('placed');
    expect(plan(oneNode(7), bundle(halves))[0]?.outcome).toBe('unplaced');
  });

  it('gives shares no more devices than were counted', () => {
    const [planned] = plan(
      oneNode(6),
      bundle([job('a', share(0.6)), job('b', share(0.4)), job('c', share(0.9))]),
    );
    if (planned?.outcome !== 'placed') throw new Error('the bundle has a plan');
    const [copy] = planned.copies;
    expect(new Set(copy?.placements.flatMap(({ gpuIndexes }) => gpuIndexes)).size).toBe(2);
  });

  it('counts what an earlier bundle took', () => {
    const four = (id: string) => bundle([job('j', whole(2))], { bundleId: id });
    const outcomes = plan(oneNode(4), four('x'), four('y'), four('z')).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['placed', 'placed', 'unplaced']);
  });

  it('leaves a backup without a plan that would stand on what is owed', () => {
    const init: ClusterInit = { types: [{ idle: 2 }], ranks: [pending('w', 8, 1)] };
    const planned = plan(init, bundle([job('j', whole(8))], { resiliencePolicy: {} }));
    expect(planned[0]?.outcome).toBe('partial');
  });

  it('puts a service on as many nodes as the demand leaves', () => {
    const init: ClusterInit = { types: [{ idle: 3 }], ranks: [pending('w', 8, 2)] };
    const service: NodeService = {
      serviceId: 's',
      pools: ['p'],
      lifecycle: 'eager',
      consumes: [{ name: 'resource-map/accelerator', count: 1 }],
    };
    const [planned] = planNodeServices([service], [pool()], candidates(init));
    expect(planned).toMatchObject({
      placements: [{ nodes: 1 }],
      counts: expect.arrayContaining([
        { filter: 'gpu', left: 3 },
        { filter: 'demand', left: 1 },
      ]),
    });
  });
});
