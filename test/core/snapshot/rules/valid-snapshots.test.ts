import fc from 'fast-check';
import { expect, it } from 'vitest';
import { comparePaths } from '../../../../functions/core/snapshot/rules/document-order.ts';
import { checkSnapshot } from '../../../../functions/core/snapshot/rules/index.ts';
import type { ClusterResourceMap } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitrarySnapshot } from '../arbitrary-snapshot.ts';
import { NOW_MS } from '../builders.ts';

/** Enough for every shape to come up, as the last test here shows, in a few seconds. */
const RUNS = { numRuns: 400 };

it('no valid snapshot is refused', () => {
  fc.assert(
    fc.property(arbitrarySnapshot(), (snapshot) => {
      const { findings, rejects } = checkSnapshot(snapshot, {
        clusterId: snapshot.cluster?.clusterId,
        nowMs: NOW_MS,
      });
      expect(findings.filter((f) => f.severity === 'reject')).toEqual([]);
      expect(rejects).toBe(0);
    }),
    RUNS,
  );
});

it('findings come in document order', () => {
  fc.assert(
    fc.property(arbitrarySnapshot(), fc.nat(), (snapshot, seed) => {
      breakSomewhere(snapshot, seed);
      const paths = checkSnapshot(snapshot, { nowMs: NOW_MS }).findings.map((f) => f.path);
      expect(paths).toEqual(paths.toSorted(comparePaths));
    }),
    RUNS,
  );
});

it('checking leaves the snapshot as it was', () => {
  fc.assert(
    fc.property(arbitrarySnapshot(), (snapshot) => {
      const before = structuredClone(snapshot);
      checkSnapshot(snapshot, { nowMs: NOW_MS });
      expect(structuredClone(snapshot)).toEqual(before);
    }),
    { numRuns: 100 },
  );
});

it('the generator makes every shape', () => {
  const shapes = new Map<string, (snapshot: ClusterResourceMap) => boolean>([
    ['a node type without accelerators', (s) => typesOf(s).some((t) => t.acceleratorsPerNode === 0)],
    ['a node type without nodes', (s) => typesOf(s).some((t) => t.totalCount === 0)],
    ['4294967295 nodes', (s) => typesOf(s).some((t) => t.totalCount === 0xffff_ffff)],
    [
      'a node with two jobs',
      (s) => typesOf(s).some((t) => t.inUse.some((e) => new Set(e.allocations.map((a) => a.jobId)).size > 1)),
    ],
    ['a full node', (s) => typesOf(s).some((t) => t.inUse.some((e) => takenOf(e) === t.acceleratorsPerNode))],
    [
      'a chain of four pods',
      (s) => ranksOf(s).some((r) => r.chains.length > 0 && r.podRequirements.length === 4),
    ],
    [
      'a rank that spans node types',
      (s) =>
        ranksOf(s).some(
          (r) =>
            new Set(r.podRequirements.map((q) => `${q.poolId.length}:${q.poolId}${q.nodeTypeId}`)).size > 1,
        ),
    ],
    ['a reservation', (s) => typesOf(s).some((t) => t.reservedForAutoscaling.length > 0)],
    ['pods out of order', (s) => ranksOf(s).some((r) => r.chains.some((c) => c.pods[0]?.podIndex !== 0))],
    ['a job without ranks', (s) => s.jobs.some((j) => j.ranks.length === 0)],
    ['an id that is __proto__', (s) => s.jobs.some((j) => j.jobId === '__proto__')],
    ['an id of 253 bytes', (s) => s.capacityPools.some((p) => p.id.length === 253)],
    ['a link', (s) => (s.topology?.links.length ?? 0) > 0],
    ['nothing at all', (s) => s.jobs.length + s.capacityPools.length === 0],
  ]);
  const warnings = [
    'pool_out_of_bounds',
    'unknown_currency',
    'unspecified_purchase_model',
    'unknown_enum_value',
    'run_duration_without_flex_start',
    'allocation_after_end',
    'reservation_on_ineligible_type',
    'reservation_above_max',
    'unspecified_workload_kind',
    'chains_above_max',
    'chains_below_desired',
    'running_without_allocation',
    'zero_parallelism',
    'self_link',
    'component_versions_differ',
  ];
  const missing = new Set([...shapes.keys(), ...warnings]);
  for (const snapshot of fc.sample(arbitrarySnapshot(), { numRuns: RUNS.numRuns, seed: 1 })) {
    for (const [name, has] of shapes) if (has(snapshot)) missing.delete(name);
    for (const { code } of checkSnapshot(snapshot, { nowMs: NOW_MS }).findings) missing.delete(code);
  }
  expect([...missing]).toEqual([]);
});

function typesOf(snapshot: ClusterResourceMap) {
  return snapshot.capacityPools.flatMap((pool) => pool.nodeTypes);
}

function ranksOf(snapshot: ClusterResourceMap) {
  return snapshot.jobs.flatMap((job) => job.ranks);
}

function takenOf(entry: ReturnType<typeof typesOf>[number]['inUse'][number]): number {
  return entry.allocations.reduce(
    (sum, a) => sum + a.acceleratorCount,
    entry.externalAcceleratorsInUse + entry.unavailableAccelerators,
  );
}

/** Sets numbers to 0 and strings to '' here and there, which breaks something of nearly every section. */
function breakSomewhere(value: unknown, seed: number): void {
  let random = seed;
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, field] of Object.entries(node)) {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      const target = node as Record<string, unknown>;
      if (key === '$typeName' || random >>> 8 < 0xc0_0000) visit(field);
      else if (typeof field === 'string') target[key] = '';
      else if (typeof field === 'number') target[key] = 0;
      else if (Array.isArray(field) && field.length > 0 && typeof field[0] === 'object') {
        target[key] = [...field, field[0]];
        visit(field);
      } else visit(field);
    }
  };
  visit(value);
}
