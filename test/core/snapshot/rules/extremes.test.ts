/** Numbers at the end of their range, snapshots of very many of something, and findings by the ten thousand. */
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { FindingCollector } from '../../../../functions/core/findings.ts';
import { checkSnapshot, mergeFindings } from '../../../../functions/core/snapshot/rules/index.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  WorkloadPhase,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  allocation,
  chain,
  type JobInit,
  job,
  NOW_MS,
  nodeType,
  pool,
  type RankInit,
  rank,
  requirement,
  reservation,
  type SnapshotInit,
  snapshotOf,
} from '../builders.ts';

const UINT32_MAX = 0xffff_ffff;

function check(init: SnapshotInit) {
  return checkSnapshot(snapshotOf(init), { nowMs: NOW_MS });
}

/** Without the warning that such counts are not plausible. */
function findingsOf(init: SnapshotInit) {
  return check(init).findings.filter(({ code }) => code !== 'implausible_count');
}

describe('sums do not wrap', () => {
  const halves = rank({
    podRequirements: [
      requirement({ acceleratorCount: 0x8000_0000 }),
      requirement({ acceleratorCount: 0x7fff_ffff }),
    ],
    chains: [chain({ pods: [{ podIndex: 0 }, { podIndex: 1 }] })],
  });
  const allocations = [
    allocation({ acceleratorCount: 0x8000_0000 }),
    allocation({ podIndex: 1, acceleratorCount: 0x7fff_ffff }),
  ];

  it('a node of 4294967295 accelerators can be full', () => {
    const nodeTypes = [nodeType({ acceleratorsPerNode: UINT32_MAX, inUse: [{ allocations }] })];
    expect(findingsOf({ capacityPools: [pool({ nodeTypes })], jobs: [job([halves])] })).toEqual([]);
  });

  it('and cannot hold one more', () => {
    const inUse = [{ allocations, unavailableAccelerators: 1 }];
    const nodeTypes = [nodeType({ acceleratorsPerNode: UINT32_MAX, inUse })];
    expect(findingsOf({ capacityPools: [pool({ nodeTypes })], jobs: [job([halves])] })).toEqual([
      {
        code: 'node_overcommitted',
        severity: 'reject',
        path: 'capacity_pools[0].node_types[0].in_use[0]',
        message:
          '4294967295 allocated, 0 external and 1 unavailable accelerators are 4294967296, but a node of node type "t" of pool "p" has 4294967295',
      },
    ]);
  });

  it('what wraps to 8 is not 8', () => {
    const inUse = [{ externalAcceleratorsInUse: UINT32_MAX, unavailableAccelerators: 9 }];
    expect(check({ capacityPools: [pool({ nodeTypes: [nodeType({ inUse })] })] }).findings).toMatchObject([
      { code: 'node_overcommitted', message: expect.stringContaining('are 4294967304,') },
    ]);
  });

  it('a pool of 2^66 accelerators is counted to the last one', () => {
    const huge = { acceleratorsPerNode: UINT32_MAX, totalCount: UINT32_MAX, pendingNodeCount: UINT32_MAX };
    const nodeTypes = ['a', 'b', 'c'].map((id) => nodeType({ ...huge, id }));
    const bounds = { minNodes: UINT32_MAX, maxNodes: UINT32_MAX, maxAccelerators: UINT32_MAX };
    const accelerators = 6n * BigInt(UINT32_MAX) ** 2n;
    expect(findingsOf({ capacityPools: [pool({ ...bounds, nodeTypes })] }).map((f) => f.message)).toEqual([
      `pool "p" has ${3 * UINT32_MAX} nodes and ${3 * UINT32_MAX} pending ones, more than its max_nodes ${UINT32_MAX}`,
      `pool "p" has ${accelerators} accelerators on its nodes and pending nodes, more than its max_accelerators ${UINT32_MAX}`,
    ]);
  });

  it('a pool at its bounds of 4294967295 is in bounds, and one above is not', () => {
    const bounds = { minNodes: UINT32_MAX, maxNodes: UINT32_MAX };
    const filled = (pendingNodeCount: number) => {
      const nodeTypes = [nodeType({ totalCount: UINT32_MAX, pendingNodeCount })];
      return findingsOf({ capacityPools: [pool({ ...bounds, nodeTypes })] }).map((f) => f.path);
    };
    expect(filled(0)).toEqual([]);
    expect(filled(1)).toEqual(['capacity_pools[0].max_nodes']);
  });

  it('4294967295 chains to come and one that is there are more than 4294967295', () => {
    const reserved = [reservation({ additionalChains: UINT32_MAX })];
    const withChains = (chains: RankInit['chains']) =>
      check({
        capacityPools: [pool({ nodeTypes: [nodeType({ reservedForAutoscaling: reserved })] })],
        jobs: [job([rank({ maxChains: UINT32_MAX, ...(chains === undefined ? {} : { chains }) })])],
      }).findings.map((f) => f.code);
    expect(withChains([])).toEqual([]);
    expect(withChains([chain()])).toEqual(['reservation_above_max']);
  });
});

it('no accepted snapshot has less than nothing free', () => {
  const count = fc.oneof(fc.nat(4), fc.constantFrom(UINT32_MAX, 0x8000_0000, 0x7fff_ffff));
  const entries = fc.array(
    fc.record({ pods: fc.array(count, { maxLength: 3 }), external: count, unavailable: count }),
  );
  let accepted = 0;
  fc.assert(
    fc.property(count, fc.nat(4), entries, (acceleratorsPerNode, totalCount, inUse) => {
      const counts = inUse.flatMap((entry) => entry.pods);
      let podIndex = 0;
      const snapshot = snapshotOf({
        capacityPools: [
          pool({
            nodeTypes: [
              nodeType({
                acceleratorsPerNode,
                totalCount,
                inUse: inUse.map(({ pods, external, unavailable }) => ({
                  allocations: pods.map((acceleratorCount) =>
                    allocation({ podIndex: podIndex++, acceleratorCount }),
                  ),
                  externalAcceleratorsInUse: external,
                  unavailableAccelerators: unavailable,
                })),
              }),
            ],
          }),
        ],
        jobs: [
          job(
            counts.length === 0
              ? []
              : [
                  rank({
                    podRequirements: counts.map((acceleratorCount) => requirement({ acceleratorCount })),
                    chains: [chain({ pods: counts.map((_, i) => ({ podIndex: i })) })],
                  }),
                ],
          ),
        ],
      });
      if (checkSnapshot(snapshot, { nowMs: NOW_MS }).rejects > 0) return;
      accepted++;
      expect(leastFree(snapshot)).toBeGreaterThanOrEqual(0n);
    }),
    { numRuns: 3_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

/** The smallest number of free accelerators on a node, or of idle nodes of a type, by plain exact arithmetic. */
function leastFree(snapshot: ClusterResourceMap): bigint {
  let least = 0n;
  for (const type of snapshot.capacityPools.flatMap((p) => p.nodeTypes)) {
    const figures = [BigInt(type.totalCount) - BigInt(type.inUse.length)];
    for (const entry of type.inUse) {
      let free = BigInt(type.acceleratorsPerNode);
      for (const a of entry.allocations) free -= BigInt(a.acceleratorCount);
      figures.push(free - BigInt(entry.externalAcceleratorsInUse) - BigInt(entry.unavailableAccelerators));
    }
    for (const figure of figures) if (figure < least) least = figure;
  }
  return least;
}

describe('very many findings', () => {
  const twentyThousand = {
    capacityPools: [
      pool({
        nodeTypes: [nodeType({ totalCount: 20_000, inUse: Array.from({ length: 20_000 }, () => ({})) })],
      }),
    ],
  };

  it('the first 1,000 are given, and all are counted', () => {
    const { findings, omitted, rejects, warnings } = check(twentyThousand);
    expect({ given: findings.length, omitted, rejects, warnings }).toEqual({
      given: 1_000,
      omitted: 19_000,
      rejects: 20_000,
      warnings: 0,
    });
    expect(findings[0]?.path).toBe('capacity_pools[0].node_types[0].in_use[0]');
    expect(findings.at(-1)?.path).toBe('capacity_pools[0].node_types[0].in_use[999]');
  });

  it('as many are given as are asked for', () => {
    const { findings, omitted } = checkSnapshot(snapshotOf(twentyThousand), {
      nowMs: NOW_MS,
      maxFindings: 3,
    });
    expect([findings.length, omitted]).toEqual([3, 19_997]);
  });

  it('a reject after a thousand warnings refuses, and is among what is given', () => {
    const nodeTypes = Array.from({ length: 1_500 }, (_, i) => nodeType({ id: `t${i}`, purchaseModel: 0 }));
    const { findings, omitted, rejects } = check({ capacityPools: [pool({ nodeTypes }), pool()] });
    expect(findings.map((f) => f.severity)).toEqual([...Array(999).fill('warn'), 'reject']);
    expect(findings.at(-1)?.code).toBe('duplicate_pool_id');
    expect([omitted, rejects]).toEqual([501, 1]);
    const merged = mergeFindings(
      [
        { findings: findings.slice(0, 999), omitted: 0, rejects: 0, warnings: 999 },
        { findings: findings.slice(-1), omitted: 0, rejects: 1, warnings: 0 },
      ],
      5,
    );
    expect(merged.findings.map((f) => f.severity)).toEqual(['warn', 'warn', 'warn', 'warn', 'reject']);
  });

  it('nothing is written about those that are left out', () => {
    const message = vi.fn(() => '');
    const collector = new FindingCollector({ cap: 2 });
    for (let i = 0; i < 10; i++) collector.report({ code: 'x', severity: 'warn' }, message, message);
    expect(message).toHaveBeenCalledTimes(4);
  });

  it('the response stays small where the ids are not', () => {
    const long = (suffix: string) => '\u{1f9ea}'.repeat(60) + suffix;
    const jobs = Array.from({ length: 1_000 }, (_, j) =>
      job([rank({ rankId: long('r'), podRequirements: [requirement({ poolId: 'x'.repeat(100_000) })] })], {
        jobId: long(`${j}`),
      }),
    );
    const bytes = Buffer.byteLength(JSON.stringify(check({ jobs })));
    expect(bytes).toBeLessThan(1_000_000);
  });
});

describe('very many of something', () => {
  const many = 20_000;
  const podIndexes = (count: number) => Array.from({ length: count }, (_, podIndex) => ({ podIndex }));

  it('pods of a chain, in reverse', () => {
    const podRequirements = podIndexes(many).map(() => requirement());
    const allocations = podIndexes(many).map(({ podIndex }) => allocation({ podIndex }));
    const inUse = allocations.map((a) => ({ allocations: [a] }));
    const running = podIndexes(many)
      .reverse()
      .map((pod) => ({ ...pod, status: { phase: WorkloadPhase.RUNNING } }));
    const nodeTypes = [nodeType({ totalCount: many, inUse })];
    const jobs = [job([rank({ podRequirements, chains: [chain({ pods: running })] })])];
    expect(check({ capacityPools: [pool({ nodeTypes })], jobs }).findings).toEqual([]);
  });

  it('chains without pods, of a rank of many requirements', () => {
    const podRequirements = podIndexes(many).map(() => requirement());
    const chains = Array.from({ length: many }, (_, c) => chain({ chainId: `c${c}`, pods: [] }));
    const jobs = [job([rank({ podRequirements, chains })])];
    const { rejects, findings } = check({ capacityPools: [pool({ nodeTypes: [nodeType()] })], jobs });
    expect(rejects).toBe(many);
    expect(findings[0]?.message).toMatch(/^pod_index 0 is missing in chain "c0"/);
  });

  it('definitions of one id, and references to it', () => {
    const jobs: JobInit[] = Array.from({ length: many }, () => job([rank({ chains: [chain()] })]));
    const inUse = Array.from({ length: many }, () => ({ allocations: [allocation()] }));
    const nodeTypes = [nodeType({ totalCount: many, inUse })];
    const { rejects } = check({ capacityPools: [pool({ nodeTypes })], jobs });
    // Each job but the first is a duplicate, and each allocation but the first.
    expect(rejects).toBe(2 * (many - 1));
  });

  it('reservations of one rank on as many node types', () => {
    const nodeTypes = Array.from({ length: many }, (_, t) =>
      nodeType({ id: `t${t}`, reservedForAutoscaling: [reservation()] }),
    );
    const podRequirements = nodeTypes.map(({ id }) =>
      requirement(id === undefined ? {} : { nodeTypeId: id }),
    );
    const jobs = [job([rank({ podRequirements })])];
    expect(check({ capacityPools: [pool({ nodeTypes })], jobs }).findings).toEqual([]);
    const [first, ...others] = nodeTypes;
    const unreserved = [nodeType({ id: first?.id ?? '' }), ...others];
    expect(check({ capacityPools: [pool({ nodeTypes: unreserved })], jobs }).rejects).toBe(1);
  });

  it('links between as many fabrics', () => {
    const fabrics = Array.from({ length: many }, (_, f) => ({ id: `f${f}` }));
    const links = fabrics.map(({ id }) => ({ fromFabricId: 'f0', toFabricId: id }));
    expect(check({ topology: { fabrics, links } }).findings.map((f) => f.code)).toEqual(['self_link']);
  });
});

describe('awkward ids', () => {
  it('are distinguished where joining or normalising them would not', () => {
    const pairs = [
      ['a/b', 'c'],
      ['a', 'b/c'],
      ['é', 'x'],
      ['e\u0301', 'x'],
      ['A', 'x'],
      ['a', 'x'],
      [' a', 'x'],
      ['1', '11'],
      ['11', '1'],
    ] as const;
    const jobs = pairs.map(([jobId]) => jobId);
    const ranksOf = (jobId: string) =>
      pairs.filter(([id]) => id === jobId).map(([, rankId]) => rank({ rankId, chains: [chain()] }));
    const inUse = pairs.map(([jobId, rankId]) => ({ allocations: [allocation({ jobId, rankId })] }));
    const nodeTypes = [nodeType({ totalCount: pairs.length, inUse })];
    const unique = [...new Set(jobs)].map((jobId) => job(ranksOf(jobId), { jobId }));
    expect(check({ capacityPools: [pool({ nodeTypes })], jobs: unique }).findings).toEqual([]);
  });

  it.each(['__proto__', 'constructor', 'hasOwnProperty', 'toString', '', '0'])(
    'a reference to %j finds nothing that was not defined',
    (id) => {
      const inUse = [{ allocations: [allocation({ jobId: id, rankId: id, chainId: id })] }];
      const nodeTypes = [
        nodeType({ inUse, fabricId: id, reservedForAutoscaling: [reservation({ jobId: id })] }),
      ];
      const jobs = [job([rank({ podRequirements: [requirement({ poolId: id })] })])];
      const topology = { fabrics: [{ id: 'f' }], links: [{ fromFabricId: id, toFabricId: 'f' }] };
      const codes = check({ capacityPools: [pool({ nodeTypes })], jobs, topology }).findings.map(
        (f) => f.code,
      );
      expect(codes.filter((code) => code !== 'invalid_id')).toEqual([
        ...(id === '' ? [] : ['unknown_fabric']),
        'unknown_allocation',
        'unknown_reservation_rank',
        'unknown_requirement_target',
        'unknown_link_fabric',
      ]);
    },
  );

  it('of 253 bytes are right in every place', () => {
    const id = 'x'.repeat(253);
    const podRequirements = [requirement({ poolId: id, nodeTypeId: id })];
    const ids = { jobId: id, rankId: id };
    const inUse = [{ allocations: [allocation({ ...ids, chainId: id })] }];
    const nodeTypes = [nodeType({ id, fabricId: id, inUse, reservedForAutoscaling: [reservation(ids)] })];
    const jobs = [
      job([rank({ rankId: id, podRequirements, chains: [chain({ chainId: id })] })], { jobId: id }),
    ];
    const topology = { fabrics: [{ id }, { id: 'f' }], links: [{ fromFabricId: id, toFabricId: 'f' }] };
    const cluster = { clusterId: id };
    expect(check({ cluster, capacityPools: [pool({ id, nodeTypes })], jobs, topology }).findings).toEqual([]);
  });
});

it('an empty message is refused with what it lacks, and nothing throws', () => {
  expect(
    checkSnapshot(create(ClusterResourceMapSchema), { nowMs: NOW_MS }).findings.map((f) => f.code),
  ).toEqual(['missing_cluster_id', 'missing_collected_at', 'missing_counter']);
});
