import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { readOnePool } from '../../../../functions/core/bundle/wire/read-pool.ts';
import { readPlanRequest } from '../../../../functions/core/bundle/wire/read-request.ts';
import { decodeMessage } from '../../../../functions/core/snapshot/decode.ts';
import { PlanRequestSchema } from '../../../../functions/gen/resourcemap/bundle/v1/plan_pb.ts';
import { PoolSchema } from '../../../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { faultsOf, planRequestFrom } from './requests.ts';

const INVENTORY = { totalCapacity: 10, utilizationCap: 0.8, totalCores: 8, reachable: true };
const BUNDLE = { bundleId: 'b', pool: 'p', jobs: [{ jobName: 'a' }] };
const many = <T>(count: number, of: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => of(i));

const pool = (json: unknown) =>
  readOnePool(decodeMessage(PoolSchema, new TextEncoder().encode(JSON.stringify(json)), 'json'));

describe('a pool', () => {
  it('is read whole', () => {
    const given = {
      poolName: 'p',
      tiers: [
        {
          tierName: 'own',
          cluster: {
            provider: ['aws'],
            region: ['r'],
            clusterId: ['c'],
            poolId: ['cp'],
            nodeTypeId: ['nt'],
            acceleratorModel: ['H100', 'NVIDIA-H100-80GB-HBM3'],
          },
        },
        {
          tierName: 'bought',
          elastic: {
            provider: 'gcp',
            instanceTypes: [
              { instanceType: 'g2-standard-4', profile: { totalCapacity: 9, capabilities: [], gpus: [] } },
              { instanceType: 'g2-standard-8' },
            ],
          },
        },
      ],
    };
    expect(pool(given)).toEqual(given);
  });

  it('that takes every node has an empty selector', () => {
    expect(pool({ poolName: 'p', tiers: [{ cluster: {} }] }).tiers).toEqual([
      {
        tierName: '',
        cluster: {
          provider: [],
          region: [],
          clusterId: [],
          poolId: [],
          nodeTypeId: [],
          acceleratorModel: [],
        },
      },
    ]);
  });

  it.each([
    [{ poolName: '', tiers: [{ cluster: {} }] }, 'pool.pool_name: It is empty; it must have a name.'],
    [
      { poolName: 'a\u0000', tiers: [{ cluster: {} }] },
      'pool.pool_name: "a\\u0000" has a control character; remove it.',
    ],
    [
      { poolName: 'x'.repeat(254), tiers: [{ cluster: {} }] },
      `pool.pool_name: "${'x'.repeat(128)}"… (254 characters) has 254 bytes; at most 253 are taken.`,
    ],
    [{ poolName: 'p' }, 'pool.tiers: It is empty; give at least one tier, cluster or elastic.'],
    [
      { poolName: 'p', tiers: [{ tierName: 'x' }] },
      'pool.tiers[0]: It says nothing; give cluster (an empty one takes every node) or elastic.',
    ],
    [
      { poolName: 'p', tiers: [{ cluster: { region: ['a', ''] } }] },
      'pool.tiers[0].cluster.region[1]: It is empty, and what is not known is never selected; leave it out.',
    ],
    [
      { poolName: 'p', tiers: [{ elastic: {} }] },
      'pool.tiers[0].elastic.instance_types: It is empty; name at least one instance type.',
    ],
    [
      { poolName: 'p', tiers: [{ elastic: { instanceTypes: [{}] } }] },
      'pool.tiers[0].elastic.instance_types[0].instance_type: It is empty; it must have a name.',
    ],
    [
      {
        poolName: 'p',
        tiers: [{ elastic: { instanceTypes: [{ instanceType: 'g6', profile: { totalCapacity: -1 } }] } }],
      },
      'pool.tiers[0].elastic.instance_types[0].profile.total_capacity: -1 is no amount; give a finite number of 0 or more.',
    ],
    [
      { poolName: 'p', tiers: many(51, () => ({ cluster: {} })) },
      'pool.tiers: There are 51 entries; at most 50 are taken.',
    ],
    [
      {
        poolName: 'p',
        tiers: many(2, () => ({ elastic: { instanceTypes: many(501, (i) => ({ instanceType: `i${i}` })) } })),
      },
      'pool.tiers: There are 1002 instance types in all; at most 1000 are taken.',
    ],
    [
      { poolName: 'p', tiers: [{ cluster: { clusterId: many(1_001, String) } }] },
      'pool.tiers[0].cluster.cluster_id: There are 1001 entries; at most 1000 are taken.',
    ],
  ])('is refused as a whole: %j', (json, fault) => {
    expect(faultsOf(() => pool(json))).toEqual([fault]);
  });
});

describe('whose pools and nodes are meant', () => {
  const meant = (more: object) => {
    const { pools, candidates } = planRequestFrom({ bundles: [BUNDLE], ...more });
    return { pools: pools?.length, candidates: candidates?.length };
  };
  const POOLS = [{ poolName: 'p', tiers: [{ cluster: {} }] }];
  const CANDIDATES = [{ nodeId: 'n', inventory: INVENTORY }];

  it.each([
    ['the configured pools and the map', {}, { pools: undefined, candidates: undefined }],
    ['the configured pools and given nodes', { candidates: CANDIDATES }, { pools: undefined, candidates: 1 }],
    ['given pools and given nodes', { pools: POOLS, candidates: CANDIDATES }, { pools: 1, candidates: 1 }],
    ['given pools, and then no node that is not given', { pools: POOLS }, { pools: 1, candidates: 0 }],
  ])('%s', (_, more, expected) => {
    expect(meant(more)).toEqual(expected);
  });
});

describe('a candidate', () => {
  it('is read whole', () => {
    const [candidate] =
      planRequestFrom({
        bundles: [BUNDLE],
        candidates: [
          {
            nodeId: 'n',
            clusterId: 'c',
            provider: 'aws',
            region: 'r',
            zone: 'z',
            poolId: 'cp',
            nodeTypeId: 'nt',
            instanceType: 'it',
            eligible: false,
            inventory: {
              ...INVENTORY,
              gpus: [
                { index: 3, model: 'L4', totalCapacity: 1, reservedCapacity: 0.5, exclusivelyReserved: true },
              ],
              capabilities: [{ name: 'x', count: 2, attributes: { a: 'b' } }],
              reservedCapacity: 1,
              reservedCores: 2,
              reservedCapabilities: [{ name: 'x', count: 1 }],
              lastSeen: '2026-01-31T12:00:00Z',
              cordoned: true,
              assignedJobs: [{ jobId: 'j', coreSet: [0, 1, 2, 3], gpuIndex: 0 }, { jobId: 'k' }],
            },
          },
        ],
      }).candidates ?? [];
    expect(candidate).toEqual({
      kind: 'inventory',
      nodeId: 'n',
      place: {
        clusterId: 'c',
        provider: 'aws',
        region: 'r',
        zone: 'z',
        poolId: 'cp',
        nodeTypeId: 'nt',
        instanceType: 'it',
        acceleratorModels: ['L4'],
      },
      eligible: false,
      inventory: {
        ...INVENTORY,
        gpus: [{ index: 3, model: 'L4', totalCapacity: 1, reservedCapacity: 0.5, exclusivelyReserved: true }],
        capabilities: [{ name: 'x', count: 2, attributes: { a: 'b' } }],
        reservedCapacity: 1,
        reservedCores: 2,
        reservedCapabilities: [{ name: 'x', count: 1, attributes: {} }],
        lastSeen: '2026-01-31T12:00:00Z',
        cordoned: true,
        assignedJobs: [
          { jobId: 'j', coreSet: [0, 1, 2, 3], gpuIndex: 0 },
          { jobId: 'k', coreSet: [], gpuIndex: undefined },
        ],
      },
    });
  });

  it('is eligible where it does not say, and not reachable', () => {
    const [candidate] =
      planRequestFrom({
        bundles: [BUNDLE],
        candidates: [{ nodeId: 'n', acceleratorModel: 'own', inventory: { utilizationCap: 0 } }],
      }).candidates ?? [];
    expect(candidate).toMatchObject({
      eligible: true,
      place: { acceleratorModels: ['own'] },
      inventory: { reachable: false, utilizationCap: 0 },
    });
  });
});

it('a service is read whole', () => {
  const service = {
    serviceId: 's',
    jobSpec: { image: 'x' },
    consumes: [{ name: 'a', count: 1, attributeMatches: {} }],
    provides: [{ name: 'b', count: 2, attributes: { k: 'v' } }],
    pools: ['p', 'q'],
    lifecycle: 'lazy',
  };
  expect(planRequestFrom({ services: [service] }).services).toEqual([service]);
});

describe('faults', () => {
  const candidate = (inventory: object, more: object = {}) => ({
    candidates: [{ nodeId: 'n', inventory: { ...INVENTORY, ...inventory }, ...more }],
  });

  it.each([
    [
      'nothing to plan',
      { bundles: [] },
      'bundles: There is nothing to plan; send bundles, services or both.',
    ],
    [
      'too many bundles',
      { bundles: many(501, () => BUNDLE) },
      'bundles: There are 501 entries; at most 500 are taken.',
    ],
    [
      'too many jobs of all bundles',
      { bundles: many(21, () => ({ jobs: many(480, () => ({})) })) },
      'bundles: There are 10080 jobs in all; at most 10000 are taken.',
    ],
    [
      'too many services',
      { services: many(33, (i) => ({ serviceId: `s${i}`, lifecycle: 'eager' })) },
      'services: There are 33 entries; at most 32 are taken.',
    ],
    [
      'too many services for so many candidates',
      {
        services: many(11, (i) => ({ serviceId: `s${i}`, lifecycle: 'eager' })),
        candidates: many(10_000, (i) => ({ nodeId: `n${i}`, inventory: INVENTORY })),
      },
      'services: 11 services on 10000 candidates have up to 110000 placements; at most 100000 are planned at a time.',
    ],
    [
      'too many candidates',
      { candidates: many(20_001, () => ({})) },
      'candidates: There are 20001 entries; at most 20000 are taken.',
    ],
    [
      'a node without its inventory',
      { candidates: [{ nodeId: 'n' }] },
      'candidates[0].inventory: It is missing; say what the node has.',
    ],
    [
      'a node without a name',
      { candidates: [{ inventory: INVENTORY }] },
      'candidates[0].node_id: It is empty; it must have a name.',
    ],
    [
      'a node given twice',
      {
        candidates: [
          { nodeId: 'n', inventory: INVENTORY },
          { nodeId: 'n', inventory: INVENTORY },
        ],
      },
      'candidates[1].node_id: "n" is candidates[0] already; a node of a cluster is given once.',
    ],
    [
      'no cap',
      candidate({ utilizationCap: null }),
      'candidates[0].inventory.utilization_cap: It is missing; give the share that is safe to allocate, from 0 to 1.',
    ],
    [
      'a cap above 1',
      candidate({ utilizationCap: 80 }),
      'candidates[0].inventory.utilization_cap: 80 is no share; give a number from 0 to 1.',
    ],
    [
      'a capacity of NaN',
      candidate({ totalCapacity: 'NaN' }),
      'candidates[0].inventory.total_capacity: NaN is no amount; give a finite number of 0 or more.',
    ],
    [
      'reserved cores below 0',
      candidate({ reservedCores: -1 }),
      'candidates[0].inventory.reserved_cores: -1 is no amount; give a finite number of 0 or more.',
    ],
    [
      'two devices of one index',
      candidate({ gpus: [{ index: 1 }, { index: 1 }] }),
      'candidates[0].inventory.gpus[1].index: 1 is given twice; every device has its own.',
    ],
    [
      'too many devices',
      candidate({ gpus: many(257, (index) => ({ index })) }),
      'candidates[0].inventory.gpus: There are 257 entries; at most 256 are taken.',
    ],
    [
      'a long name of a place, which an answer would repeat for every job',
      candidate({}, { poolId: 'x'.repeat(300) }),
      `candidates[0].pool_id: "${'x'.repeat(128)}"… (300 characters) has 300 bytes; at most 253 are taken.`,
    ],
    [
      'a service without its lifecycle',
      { services: [{ serviceId: 's' }] },
      'services[0].lifecycle: It is missing; it can be "eager", "lazy".',
    ],
    [
      'a service given twice',
      { services: many(2, () => ({ serviceId: 's', lifecycle: 'eager' })) },
      'services[1].service_id: "s" is given twice; every service has its own.',
    ],
    [
      'a service that consumes less than nothing',
      { services: [{ serviceId: 's', lifecycle: 'eager', consumes: [{ name: 'x', count: -1 }] }] },
      'services[0].consumes[0].count: -1 is no amount; give a finite number of 0 or more.',
    ],
    [
      'a pool of the request, as one of the store',
      { pools: [{ poolName: 'p', tiers: [{}] }] },
      'pools[0].tiers[0]: It says nothing; give cluster (an empty one takes every node) or elastic.',
    ],
  ])('%s', (_, more, fault) => {
    expect(faultsOf(() => planRequestFrom({ bundles: [BUNDLE], ...more }))).toEqual([fault]);
  });

  it('a time that is none, which only Protobuf can carry', () => {
    const request = create(PlanRequestSchema, {
      bundles: [{}],
      candidates: [{ nodeId: 'n', inventory: { utilizationCap: 1, lastSeen: { seconds: 1n << 60n } } }],
    });
    expect(faultsOf(() => readPlanRequest(request))).toEqual([
      'candidates[0].inventory.last_seen: 1152921504606846976 s and 0 ns after 1970 is no time of the years 1 to 9999.',
    ]);
  });
});
