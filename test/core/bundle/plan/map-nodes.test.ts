import { readFileSync } from 'node:fs';
import { create, fromJsonString, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_CATALOGUE, catalogueWith } from '../../../../functions/core/bundle/model/catalogue.ts';
import type { Pool, Tier } from '../../../../functions/core/bundle/model/model.ts';
import {
  clusterNodes,
  describePool,
  mapCandidates,
} from '../../../../functions/core/bundle/plan/map-nodes.ts';
import { planBundles } from '../../../../functions/core/bundle/plan/plan.ts';
import { validateBundle } from '../../../../functions/core/bundle/validate/validate.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type NodeTypeCapacitySchema,
  PurchaseModel,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { bundle, job } from '../builders.ts';

type NodeTypeInit = Omit<MessageInitShape<typeof NodeTypeCapacitySchema>, '$typeName'>;

const EMPTY = new Map();

/** A cluster of one capacity pool with the given node types. */
function cluster(
  clusterId: string,
  nodeTypes: readonly NodeTypeInit[],
  provider = 'aws',
): ClusterResourceMap {
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId, provider, region: 'us-east-1' },
    capacityPools: [{ id: 'gpu', nodeTypes: nodeTypes.map((type) => ({ id: 'l4', ...type })) }],
  });
}

const L4: NodeTypeInit = {
  instanceType: 'g6.12xlarge',
  acceleratorModel: 'NVIDIA L4',
  acceleratorsPerNode: 4,
  totalCount: 5,
  eligibleForTandemn: true,
};

function sample(name: string): ClusterResourceMap {
  const url = new URL(`../../../../functions/local/samples/${name}`, import.meta.url);
  return fromJsonString(ClusterResourceMapSchema, readFileSync(url, 'utf8'));
}

function poolOf(...tiers: readonly Tier[]): Pool {
  return { poolName: 'p', tiers };
}

describe('candidates of a snapshot', () => {
  const occupied = cluster('c1', [
    {
      ...L4,
      zone: 'us-east-1a',
      inUse: [
        { allocations: [{ acceleratorCount: 1 }, { acceleratorCount: 2 }], externalAcceleratorsInUse: 1 },
        { unavailableAccelerators: 1 },
        { externalAcceleratorsInUse: 1 },
      ],
    },
  ]);

  it('are its nodes, those with equally many accelerators free together, the idle ones last', () => {
    const place = {
      clusterId: 'c1',
      provider: 'aws',
      region: 'us-east-1',
      zone: 'us-east-1a',
      poolId: 'gpu',
      nodeTypeId: 'l4',
      instanceType: 'g6.12xlarge',
      acceleratorModels: ['NVIDIA L4'],
    };
    const accelerator = {
      name: 'resource-map/accelerator',
      count: 4,
      attributes: { model: 'NVIDIA L4', instanceType: 'g6.12xlarge', zone: 'us-east-1a' },
    };
    const common = { kind: 'slots', place, eligible: true, accelerator, totalCores: 48 };
    expect(mapCandidates([clusterNodes(occupied)], BUILT_IN_CATALOGUE)).toEqual([
      { ...common, firstSlot: 0, count: 1, freeAccelerators: 0, idle: false },
      { ...common, firstSlot: 1, count: 2, freeAccelerators: 3, idle: false },
      { ...common, firstSlot: 3, count: 2, freeAccelerators: 4, idle: true },
    ]);
  });

  it('are the same for its occupancy in another order', () => {
    const reversed = create(ClusterResourceMapSchema, structuredClone(occupied));
    reversed.capacityPools[0]?.nodeTypes[0]?.inUse.reverse();
    expect(mapCandidates([clusterNodes(reversed)], EMPTY)).toEqual(
      mapCandidates([clusterNodes(occupied)], EMPTY),
    );
  });

  it('count what is not eligible, so that a plan can say that it was left out', () => {
    const plan = planBundles(
      [bundle([job('a')])],
      [poolOf({ cluster: {} })],
      mapCandidates([clusterNodes(cluster('c1', [{ ...L4, eligibleForTandemn: false }]))], EMPTY),
    )[0];
    expect(plan).toMatchObject({ outcome: 'unplaced', copies: [{ unplaced: [{ filter: 'eligible' }] }] });
  });

  it('have an accelerator for every attribute that the map knows, and none for what it leaves empty', () => {
    const all = cluster('c1', [
      {
        ...L4,
        zone: 'us-east-1a',
        fabricId: 'efa',
        purchaseModel: PurchaseModel.SPOT,
      },
      { id: 'bare', acceleratorsPerNode: 1, totalCount: 1 },
      { id: 'newer', acceleratorsPerNode: 1, totalCount: 1, purchaseModel: 99 as PurchaseModel },
      { id: 'cpu', totalCount: 1 },
    ]);
    expect(mapCandidates([clusterNodes(all)], EMPTY).map((c) => c.accelerator?.attributes)).toEqual([
      {
        model: 'NVIDIA L4',
        instanceType: 'g6.12xlarge',
        zone: 'us-east-1a',
        fabric: 'efa',
        purchaseModel: 'PURCHASE_MODEL_SPOT',
      },
      {},
      { purchaseModel: '99' },
      undefined,
    ]);
  });

  it('hold exactly the accelerators that are free, counted straight from the records', () => {
    // From the totals of the records that the snapshots were made from.
    const free = { 'openb-instant-t2.json': 6_162, 'kops-l4-t3.json': 0, 'aicr-eks-h100-t3.json': 14 };
    for (const [name, expected] of Object.entries(free)) {
      const slots = mapCandidates([clusterNodes(sample(name))], EMPTY);
      expect(
        slots.reduce((sum, s) => sum + s.count * s.freeAccelerators, 0),
        name,
      ).toBe(expected);
    }
    expect(
      mapCandidates([clusterNodes(sample('openb-instant-t2.json'))], EMPTY).reduce(
        (sum, s) => sum + s.count,
        0,
      ),
    ).toBe(1_523);
  });

  it('place one whole accelerator each until none is left', () => {
    const one = bundle([
      job('a', { requiredCapabilities: [{ name: 'resource-map/accelerator', count: 1 }] }),
    ]);
    const plans = planBundles(
      Array.from({ length: 16 }, () => one),
      [poolOf({ cluster: { acceleratorModel: ['NVIDIA-H100-80GB-HBM3'] } })],
      mapCandidates([sample('aicr-eks-h100-t3.json'), sample('kops-l4-t3.json')].map(clusterNodes), EMPTY),
    );
    expect(plans.filter((p) => p.outcome === 'placed').length).toBe(14);
  });
});

describe('the descriptor of a pool', () => {
  const map = [
    cluster('c1', [L4, { ...L4, id: 'off', instanceType: 'g6.48xlarge', eligibleForTandemn: false }]),
    cluster('c2', [{ ...L4, totalCount: 0 }], 'gcp'),
    cluster('c3', [L4], ''),
  ].map(clusterNodes);
  const accelerators = {
    name: 'resource-map/accelerator',
    count: 4,
    attributes: { model: 'NVIDIA L4', instanceType: 'g6.12xlarge' },
  };

  it('has a profile for every kind of eligible node that is there, with cores of the catalogue and capacity of nobody', () => {
    expect(describePool(poolOf({ cluster: {} }), map, BUILT_IN_CATALOGUE)).toEqual({
      poolName: 'p',
      kind: 'cluster',
      nodeProfiles: [{ totalCores: 48, capabilities: [accelerators] }],
      clouds: ['aws', 'gcp'],
    });
  });

  it('makes no finding of what neither map nor catalogue know', () => {
    const unknown = describePool(poolOf({ cluster: {} }), map, EMPTY);
    const asks = bundle([job('a', { requiredCapacity: 1e9, requiredCores: 1e9 })]);
    expect(validateBundle(asks, [unknown])).toEqual({ errors: [], warnings: [], advice: [] });
    const known = describePool(poolOf({ cluster: {} }), map, BUILT_IN_CATALOGUE);
    expect(validateBundle(asks, [known]).warnings.map((w) => w.message)).toEqual([
      'Job "a" needs cores 1000000000, and the best profile of pool "p" offers 48.',
    ]);
  });

  it('is of kind cluster if any tier is, elastic if none', () => {
    const elastic: Tier = { elastic: { instanceTypes: [] } };
    expect(describePool(poolOf(elastic), map, EMPTY).kind).toBe('elastic');
    expect(describePool(poolOf(elastic, { cluster: {} }), map, EMPTY).kind).toBe('cluster');
  });

  it('takes the profiles of an elastic tier as configured, completed by the catalogue', () => {
    const catalogue = catalogueWith([['g6.xlarge', { totalCapacity: 12 }]]);
    const tier: Tier = {
      elastic: {
        provider: 'aws',
        instanceTypes: [
          { instanceType: 'g6.xlarge' },
          {
            instanceType: 'g6.xlarge',
            profile: { totalCapacity: 9, capabilities: [{ name: 'n/x', count: 1 }] },
          },
          { instanceType: 'unheard.of' },
        ],
      },
    };
    expect(describePool(poolOf(tier), [], catalogue)).toEqual({
      poolName: 'p',
      kind: 'elastic',
      nodeProfiles: [
        { totalCapacity: 12, totalCores: 4 },
        { totalCapacity: 9, totalCores: 4, capabilities: [{ name: 'n/x', count: 1 }] },
        {},
      ],
      clouds: ['aws'],
    });
  });

  it.each([
    ['provider', { provider: ['gcp', 'azure'] }, ['gcp', 'azure']],
    ['region', { region: ['eu'] }, []],
    ['clusterId', { clusterId: ['c1', 'c3'] }, ['aws']],
    ['poolId', { poolId: ['cpu'] }, []],
    ['nodeTypeId', { nodeTypeId: ['off'] }, ['aws']],
    ['acceleratorModel', { acceleratorModel: ['NVIDIA L4'] }, ['aws', 'gcp']],
    ['two fields, which must both hold', { clusterId: ['c1'], acceleratorModel: ['l4'] }, []],
  ])('spans the providers that its tiers name or else stand in: %s', (_, selector, clouds) => {
    expect(describePool(poolOf({ cluster: selector }), map, EMPTY).clouds).toEqual(clouds);
  });

  it('spans each provider once, over all tiers', () => {
    const tiers: readonly Tier[] = [
      { cluster: { clusterId: ['c1'] } },
      { elastic: { provider: 'aws', instanceTypes: [] } },
      { elastic: { provider: 'gcp', instanceTypes: [] } },
      { elastic: { instanceTypes: [] } },
    ];
    expect(describePool(poolOf(...tiers), map, EMPTY).clouds).toEqual(['aws', 'gcp']);
  });
});

describe('the catalogue', () => {
  it('knows the cores of accelerator instances and claims no capacity', () => {
    expect(BUILT_IN_CATALOGUE.size).toBe(122);
    expect(BUILT_IN_CATALOGUE.get('p5.48xlarge')).toEqual({ totalCores: 192 });
    expect(BUILT_IN_CATALOGUE.get('a3-highgpu-8g')).toEqual({ totalCores: 208 });
    expect([...BUILT_IN_CATALOGUE.values()].every((f) => f.totalCapacity === undefined)).toBe(true);
  });

  it("takes the operator's word field by field", () => {
    const catalogue = catalogueWith([
      ['p5.48xlarge', { totalCapacity: 400 }],
      ['rack-7', { totalCores: 128 }],
    ]);
    expect(catalogue.get('p5.48xlarge')).toEqual({ totalCapacity: 400, totalCores: 192 });
    expect(catalogue.get('rack-7')).toEqual({ totalCapacity: undefined, totalCores: 128 });
    expect(BUILT_IN_CATALOGUE.get('rack-7')).toBeUndefined();
  });
});
