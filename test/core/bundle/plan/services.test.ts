import { describe, expect, it } from 'vitest';
import type { NodeService, Pool } from '../../../../functions/core/bundle/model/model.ts';
import type { NodeServicePlan } from '../../../../functions/core/bundle/plan/plan-model.ts';
import { planRequest } from '../../../../functions/core/bundle/plan/plan-request.ts';
import { planNodeServices } from '../../../../functions/core/bundle/plan/services.ts';
import type { Candidate, SlotCandidate } from '../../../../functions/core/bundle/search/candidates.ts';
import { bundle, job, NOWHERE, node, pool } from '../builders.ts';

const NIC = 'norsk.io/st2110-nic';
const nic = (count: number) => ({ capabilities: [{ name: NIC, count }] });

function service(more: Partial<NodeService> = {}): NodeService {
  return { serviceId: 's', pools: ['p'], lifecycle: 'eager', ...more };
}

function planned(plan: NodeServicePlan | undefined) {
  if (plan?.outcome !== 'planned') throw new Error('not planned');
  return plan;
}

function planOf(of: NodeService, candidates: readonly Candidate[], pools: readonly Pool[] = [pool()]) {
  return planned(planNodeServices([of], pools, candidates)[0]);
}

function nodeIds(plan: NodeServicePlan | undefined): readonly string[] {
  return planned(plan).placements.map(({ node }) =>
    node.node.kind === 'inventory' ? node.node.nodeId : `slots from ${node.node.number}`,
  );
}

it('places an eager service once on every eligible node, and says which filter left how many', () => {
  const nodes = [
    node('n1', nic(1)),
    node('n2', nic(2)),
    node('n3', nic(1), {}, false),
    node('n4', { ...nic(1), reachable: false }),
    node('n5', { ...nic(1), cordoned: true }),
    node('n6', nic(0)),
    node('n7'),
    node('n8', nic(1), { provider: 'gcp' }),
  ];
  const aws = pool({ tiers: [{ tierName: 'aws', cluster: { provider: ['aws'] } }] });
  const plan = planOf(service({ consumes: [{ name: NIC, count: 1 }] }), nodes, [aws]);
  expect(plan).toMatchObject({
    serviceId: 's',
    outcome: 'planned',
    running: 0,
    unknownPools: [],
    counts: [
      { filter: 'pool', left: 7 },
      { filter: 'eligible', left: 6 },
      { filter: 'reachable', left: 5 },
      { filter: 'cordoned', left: 4 },
      { filter: 'capabilities', left: 2 },
      { filter: 'gpu', left: 2 },
      { filter: 'demand', left: 2 },
    ],
  });
  expect(plan.placements).toEqual([
    {
      poolName: 'p',
      tier: 0,
      tierName: 'aws',
      node: { clusterId: 'c', poolId: 'cp', nodeTypeId: 'nt', node: { kind: 'inventory', nodeId: 'n1' } },
      nodes: 1,
    },
    {
      poolName: 'p',
      tier: 0,
      tierName: 'aws',
      node: { clusterId: 'c', poolId: 'cp', nodeTypeId: 'nt', node: { kind: 'inventory', nodeId: 'n2' } },
      nodes: 1,
    },
  ]);
});

it('defers a lazy service', () => {
  expect(planNodeServices([service({ lifecycle: 'lazy' })], [pool()], [node('n1')])).toEqual([
    { serviceId: 's', outcome: 'deferred' },
  ]);
});

it('places nothing where the service runs already', () => {
  const plan = planOf(service(), [
    node('n1', { assignedJobs: [{ jobId: 's' }, { jobId: 'x' }] }),
    node('n2'),
  ]);
  expect(plan.running).toBe(1);
  expect(nodeIds(plan)).toEqual(['n2']);
});

it('asks for no capacity and no cores, which its opaque spec may or may not need', () => {
  const full = node('n1', { reservedCapacity: 99, reservedCores: 99 });
  expect(nodeIds(planOf(service(), [full]))).toEqual(['n1']);
});

it('takes a node in the first of its pools, and names the pools that nobody configured', () => {
  const gcp = pool({ poolName: 'g', tiers: [{ cluster: { provider: ['gcp'] } }] });
  const nodes = [node('n1'), node('n2', {}, { provider: 'gcp' })];
  const plan = planOf(service({ pools: ['x', 'g', 'p', 'y'] }), nodes, [pool(), gcp]);
  expect(plan.placements.map((p) => p.poolName)).toEqual(['g', 'p']);
  expect(nodeIds(plan)).toEqual(['n2', 'n1']);
  expect(plan.unknownPools).toEqual(['x', 'y']);
});

it('leaves no node where it names no pool', () => {
  expect(planOf(service({ pools: [] }), [node('n1')])).toMatchObject({
    placements: [],
    counts: [{ filter: 'pool', left: 0 }, {}, {}, {}, {}, {}, {}],
  });
});

it('counts what earlier services consume as taken', () => {
  const needs = { consumes: [{ name: NIC, count: 1 }] };
  const plans = planNodeServices(
    [service({ serviceId: 's1', ...needs }), service({ serviceId: 's2', ...needs })],
    [pool()],
    [node('n1', nic(1)), node('n2', nic(2))],
  );
  expect(plans.map(nodeIds)).toEqual([['n2', 'n1'].sort(), ['n2']]);
});

it('believes what a service provides only once a node shows it', () => {
  const gives = service({ serviceId: 'gives', provides: [{ name: 'n/gateway', count: 4 }] });
  const takes = service({ serviceId: 'takes', consumes: [{ name: 'n/gateway', count: 1 }] });
  const asks = bundle([job('a', { requiredCapabilities: [{ name: 'n/gateway', count: 1 }] })]);
  const before = planRequest({
    services: [gives, takes],
    bundles: [asks],
    pools: [pool()],
    candidates: [node('n1')],
  });
  expect(before.services.map(nodeIds)).toEqual([['n1'], []]);
  expect(before.bundles[0]?.outcome).toBe('unplaced');

  const shown = node('n1', {
    capabilities: [{ name: 'n/gateway', count: 4 }],
    assignedJobs: [{ jobId: 'gives' }],
  });
  const after = planRequest({
    services: [gives, takes],
    bundles: [asks],
    pools: [pool()],
    candidates: [shown],
  });
  expect(after.services.map(nodeIds)).toEqual([[], ['n1']]);
  expect(after.bundles[0]?.outcome).toBe('placed');
});

it('takes from the bundles of its request what the services consume', () => {
  const needs = { consumes: [{ name: NIC, count: 1 }] };
  const asks = (count: number) => bundle([job('a', { requiredCapabilities: [{ name: NIC, count }] })]);
  const outcome = (count: number) =>
    planRequest({
      services: [service(needs)],
      bundles: [asks(count)],
      pools: [pool()],
      candidates: [node('n1', nic(3))],
    }).bundles[0]?.outcome;
  expect([outcome(2), outcome(3)]).toEqual(['placed', 'unplaced']);
});

describe('on slots of the map', () => {
  const slots = (more: Partial<SlotCandidate> = {}): SlotCandidate => ({
    kind: 'slots',
    place: NOWHERE,
    eligible: true,
    firstSlot: 0,
    count: 1_000_000,
    freeAccelerators: 0,
    idle: true,
    accelerator: undefined,
    ...more,
  });

  it('is told in one entry for nodes with successive numbers, however many', () => {
    const plan = planOf(service(), [slots(), slots({ firstSlot: 1_000_000, count: 5, idle: false })]);
    expect(plan.placements.map((p) => [p.node.node, p.nodes])).toEqual([
      [{ kind: 'slot', number: 1_000_000, freeAccelerators: 0 }, 5],
      [{ kind: 'slot', number: 0, freeAccelerators: 0 }, 1_000_000],
    ]);
  });

  it('leaves the bundles of its request as many nodes as there were', () => {
    const accelerator = { name: 'resource-map/accelerator', count: 2 };
    const two = slots({ count: 2, freeAccelerators: 2, accelerator });
    const asks = bundle([job('a', { requiredCapabilities: [{ name: accelerator.name, count: 1 }] })]);
    const { bundles } = planRequest({
      services: [service({ consumes: [{ name: accelerator.name, count: 1 }] })],
      bundles: [asks, asks, asks],
      pools: [pool()],
      candidates: [two],
    });
    expect(bundles.map((b) => b.outcome)).toEqual(['placed', 'placed', 'unplaced']);
  });
});

it('is the same for the same candidates in any order', () => {
  const nodes = [node('n3', nic(1)), node('n1', nic(1)), node('n2', nic(2), { zone: 'z' })];
  const needs = [service({ consumes: [{ name: NIC, count: 1 }] })];
  expect(planNodeServices(needs, [pool()], nodes)).toEqual(
    planNodeServices(needs, [pool()], [...nodes].reverse()),
  );
});
