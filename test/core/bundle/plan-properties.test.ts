/** Planning against brute force, which tries every placement of small cases. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupJobs } from '../../../functions/core/bundle/model/groups.ts';
import type { Bundle, JobRequirements, Pool } from '../../../functions/core/bundle/model/model.ts';
import { planBundles } from '../../../functions/core/bundle/plan/plan.ts';
import type { BundlePlan, PlacedCopy } from '../../../functions/core/bundle/plan/plan-model.ts';
import type { InventoryCandidate } from '../../../functions/core/bundle/search/candidates.ts';
import { bundleOf, nodes, POOLS } from './arbitrary.ts';
import {
  type Assignment,
  assignments,
  copyHolds,
  fleetHolds,
  groupsOf,
  type SharedByJob,
  type Standing,
  sharedByJob,
  sharing,
  standingOf,
  tierOf,
} from './reference.ts';

/** More in a longer run: FUZZ_RUNS=20000 npx vitest run test/core/bundle/plan-properties.test.ts */
const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? 200) };

function poolNamed(name: string): Pool {
  return POOLS.find((pool) => pool.poolName === name) as Pool;
}

function backupPool(bundle: Bundle): Pool {
  return poolNamed(bundle.resiliencePolicy?.pool ?? bundle.pool);
}

function planOf(bundle: Bundle, fleet: readonly InventoryCandidate[]): BundlePlan {
  return planBundles([bundle], POOLS, fleet)[0] as BundlePlan;
}

function placedCopies(plan: BundlePlan): readonly PlacedCopy[] {
  if (plan.outcome !== 'placed' && plan.outcome !== 'partial') return [];
  return plan.copies.flatMap((copy) => (copy.outcome === 'placed' ? [copy] : []));
}

/** The answer of a plan as node indexes. */
function assignmentOf(copy: PlacedCopy, fleet: readonly InventoryCandidate[]): Assignment {
  return copy.placements.map(({ node }) =>
    fleet.findIndex((n) => node.node.kind === 'inventory' && n.nodeId === node.node.nodeId),
  );
}

/** Contradictory references have a test of their own. */
function isConsistent(bundle: Bundle): boolean {
  return groupJobs(bundle).contradictions.length === 0;
}

/** Every rule that a plan may not break, and that the devices it names are such as it says. */
function expectSound(
  bundle: Bundle,
  plan: BundlePlan,
  fleet: readonly InventoryCandidate[],
  before: readonly Standing[] = [],
): readonly Standing[] {
  const copies = placedCopies(plan);
  const standing = copies.flatMap((copy) => standingOf(bundle, assignmentOf(copy, fleet)));
  for (const copy of copies) {
    const pool = copy.copy === 'primary' ? poolNamed(bundle.pool) : backupPool(bundle);
    expect(copyHolds(bundle, pool, fleet, assignmentOf(copy, fleet))).toBe(true);
    for (const placement of copy.placements) {
      const at = fleet.find((n) => n.nodeId === (placement.node.node as { nodeId?: string }).nodeId);
      expect(placement.tier).toBe(tierOf(pool, (at as InventoryCandidate).place));
      expect(placement.poolName).toBe(pool.poolName);
    }
  }
  expect(fleetHolds(fleet, [...before, ...standing])).toBe(true);
  return [...before, ...standing];
}

describe('one copy', () => {
  it('is placed if and only if brute force finds a placement, and then breaks no rule', () => {
    const seen = { placed: 0, unplaced: 0 };
    fc.assert(
      fc.property(bundleOf(4, 'none').filter(isConsistent), nodes(4), (bundle, fleet) => {
        const plan = planOf(bundle, fleet);
        const exists = assignments(bundle, poolNamed('p'), fleet).some((at) =>
          fleetHolds(fleet, standingOf(bundle, at)),
        );
        expect(plan.outcome).toBe(exists ? 'placed' : 'unplaced');
        seen[exists ? 'placed' : 'unplaced']++;
        expectSound(bundle, plan, fleet);
      }),
      RUNS,
    );
    // Both answers must have been asked for, or the property said nothing.
    expect(Math.min(seen.placed, seen.unplaced)).toBeGreaterThan(RUNS.numRuns / 40);
  });

  it('stands in the tiers in order: no group could move to an earlier tier by itself', () => {
    fc.assert(
      fc.property(bundleOf(4, 'none').filter(isConsistent), nodes(4), (bundle, fleet) => {
        const [copy] = placedCopies(planOf(bundle, fleet));
        if (copy === undefined) return;
        const at = assignmentOf(copy, fleet);
        for (const moved of singleMoves(bundle, at, fleet)) {
          if (!copyHolds(bundle, poolNamed('p'), fleet, moved)) continue;
          if (!fleetHolds(fleet, standingOf(bundle, moved))) continue;
          for (const [i, n] of moved.entries()) {
            const tier = tierOf(poolNamed('p'), (fleet[n] as InventoryCandidate).place);
            expect(tier).toBeGreaterThanOrEqual(copy.placements[i]?.tier ?? -1);
          }
        }
      }),
      RUNS,
    );
  });
});

/** Every placement in which one group of jobs stands elsewhere. */
function singleMoves(
  bundle: Bundle,
  at: Assignment,
  fleet: readonly InventoryCandidate[],
): readonly Assignment[] {
  return groupsOf(bundle).flatMap((group) =>
    fleet.map((_, n) => bundle.jobs.map((job, i) => (group.includes(job.jobName) ? n : (at[i] ?? -1)))),
  );
}

describe('primary and backup', () => {
  const cases = bundleOf(3, 'always').filter(isConsistent);
  const fleets = nodes(4);

  it('are both placed if and only if brute force places both, and the primary alone if only that can be', () => {
    const seen = { placed: 0, partial: 0, unplaced: 0 };
    fc.assert(
      fc.property(cases, fleets, (bundle, fleet) => {
        const plan = planOf(bundle, fleet);
        const primaries = assignments(bundle, poolNamed('p'), fleet);
        const backups = assignments(bundle, backupPool(bundle), fleet);
        const both = primaries.some((p) =>
          backups.some((b) => fleetHolds(fleet, [...standingOf(bundle, p), ...standingOf(bundle, b)])),
        );
        const alone = primaries.some((p) => fleetHolds(fleet, standingOf(bundle, p)));
        const expected = both ? 'placed' : alone ? 'partial' : 'unplaced';
        expect(plan.outcome).toBe(expected);
        seen[expected]++;
        expectSound(bundle, plan, fleet);
      }),
      RUNS,
    );
    expect(Math.min(seen.placed, seen.partial, seen.unplaced)).toBeGreaterThan(RUNS.numRuns / 40);
  });

  /** The jobs that are reported to share a domain. */
  const reported = ({ degraded }: PlacedCopy): readonly string[] =>
    inOrder(
      degraded.flatMap(({ domain, known, jobs }) =>
        jobs.map((jobName) => ({ jobName, domain, same: known })),
      ),
    );

  const inOrder = (shared: readonly SharedByJob[]): readonly string[] =>
    shared.map(({ jobName, domain, same }) => `${domain} of ${jobName} ${same ? 'is' : 'may be'}`).sort();

  /** The least that any two copies share of which the primary stands in no later tiers than this one. */
  const leastShared = (bundle: Bundle, fleet: readonly InventoryCandidate[], primary: PlacedCopy): number => {
    const backups = assignments(bundle, backupPool(bundle), fleet);
    let least = Number.POSITIVE_INFINITY;
    for (const p of assignments(bundle, poolNamed('p'), fleet)) {
      const isLater = p.some(
        (n, i) =>
          tierOf(poolNamed('p'), (fleet[n] as InventoryCandidate).place) >
          (primary.placements[i]?.tier ?? -1),
      );
      if (isLater) continue;
      for (const b of backups) {
        if (!fleetHolds(fleet, [...standingOf(bundle, p), ...standingOf(bundle, b)])) continue;
        least = Math.min(least, sharing(bundle, fleet, p, b));
      }
    }
    return least;
  };

  it('share a forbidden domain only where no other was free, and say so', () => {
    let degraded = 0;
    let apart = 0;
    fc.assert(
      fc.property(cases, fleets, (bundle, fleet) => {
        const [primary, backup] = placedCopies(planOf(bundle, fleet));
        if (primary === undefined || backup === undefined) return;
        const at = assignmentOf(primary, fleet);
        const shared = sharing(bundle, fleet, at, assignmentOf(backup, fleet));
        expect(reported(backup)).toEqual(
          inOrder(sharedByJob(bundle, fleet, at, assignmentOf(backup, fleet))),
        );
        expect(primary.degraded).toEqual([]);
        if (shared === 0) {
          apart++;
          return;
        }
        degraded++;
        // The case is small enough for the search to come to its end.
        expect(backup.degraded.every((d) => d.unavoidable)).toBe(true);
        expect(shared).toBe(leastShared(bundle, fleet, primary));
      }),
      RUNS,
    );
    expect(Math.min(degraded, apart)).toBeGreaterThan(RUNS.numRuns / 40);
  });

  it('share the least that can be, or say that the search stopped before that was shown', () => {
    const strict = cases.map(
      (bundle): Bundle => ({
        ...bundle,
        resiliencePolicy: { ...bundle.resiliencePolicy, sameNode: 'forbid', sameAz: 'forbid' },
      }),
    );
    const seen = { least: 0, stopped: 0 };
    fc.assert(
      fc.property(strict, fleets, fc.integer({ min: 50, max: 400 }), (bundle, fleet, maxSteps) => {
        const plan = planBundles([bundle], POOLS, fleet, { maxSteps })[0] as BundlePlan;
        const [primary, backup] = placedCopies(plan);
        if (primary === undefined || backup === undefined) return;
        const p = assignmentOf(primary, fleet);
        const b = assignmentOf(backup, fleet);
        expect(reported(backup)).toEqual(inOrder(sharedByJob(bundle, fleet, p, b)));
        if (backup.degraded.length === 0) return;
        if (backup.degraded.every((d) => d.unavoidable)) {
          expect(sharing(bundle, fleet, p, b)).toBe(leastShared(bundle, fleet, primary));
          seen.least++;
        } else {
          expect(backup.degraded.some((d) => d.unavoidable)).toBe(false);
          seen.stopped++;
        }
      }),
      // The search seldom stops between a first plan and the best one.
      { numRuns: RUNS.numRuns * 5 },
    );
    expect(Math.min(seen.least, seen.stopped)).toBeGreaterThan(RUNS.numRuns / 40);
  });

  it('stand in the tiers in order: no group could move to an earlier tier without sharing more', () => {
    fc.assert(
      fc.property(cases, fleets, (bundle, fleet) => {
        const [primary, backup] = placedCopies(planOf(bundle, fleet));
        if (primary === undefined || backup === undefined) return;
        const p = assignmentOf(primary, fleet);
        const b = assignmentOf(backup, fleet);
        const shared = sharing(bundle, fleet, p, b);
        const isAllowed = (p: Assignment, b: Assignment): boolean =>
          copyHolds(bundle, poolNamed('p'), fleet, p) &&
          copyHolds(bundle, backupPool(bundle), fleet, b) &&
          fleetHolds(fleet, [...standingOf(bundle, p), ...standingOf(bundle, b)]) &&
          sharing(bundle, fleet, p, b) <= shared;
        const expectNoEarlier = (copy: PlacedCopy, pool: Pool, moved: Assignment): void => {
          for (const [i, n] of moved.entries()) {
            const tier = tierOf(pool, (fleet[n] as InventoryCandidate).place);
            expect(tier).toBeGreaterThanOrEqual(copy.placements[i]?.tier ?? -1);
          }
        };
        for (const moved of singleMoves(bundle, p, fleet)) {
          if (isAllowed(moved, b)) expectNoEarlier(primary, poolNamed('p'), moved);
        }
        for (const moved of singleMoves(bundle, b, fleet)) {
          if (isAllowed(p, moved)) expectNoEarlier(backup, backupPool(bundle), moved);
        }
      }),
      RUNS,
    );
  });
});

describe('a batch', () => {
  const batch = fc
    .array(bundleOf(2, 'maybe').filter(isConsistent), { minLength: 2, maxLength: 4 })
    .map((bundles) => bundles.map((bundle, i) => ({ ...bundle, bundleId: `b${i}` })));

  it('takes each node once, whatever the bundles', () => {
    fc.assert(
      fc.property(batch, nodes(4), (bundles, fleet) => {
        let standing: readonly Standing[] = [];
        for (const [i, plan] of planBundles(bundles, POOLS, fleet).entries()) {
          standing = expectSound(bundles[i] as Bundle, plan, fleet, standing);
        }
      }),
      RUNS,
    );
  });

  it('gives devices to one job each, or in shares that they hold', () => {
    fc.assert(
      fc.property(batch, nodes(4), (bundles, fleet) => {
        const shares = new Map<string, number>();
        const whole = new Set<string>();
        for (const [i, plan] of planBundles(bundles, POOLS, fleet).entries()) {
          for (const copy of placedCopies(plan)) {
            for (const [j, placement] of copy.placements.entries()) {
              const { nodeId } = placement.node.node as { nodeId: string };
              const needs = bundles[i]?.jobs[j]?.requirements;
              const gpus = fleet.find((n) => n.nodeId === nodeId)?.inventory.gpus ?? [];
              const units = (needs?.requiredCapabilities ?? [])
                .filter((c) => c.name === 'norsk.io/nvidia-gpu')
                .reduce((sum, c) => sum + c.count, 0);
              const share = needs?.requiredGpuCapacity ?? 0;
              const asked =
                units > 0 ? (gpus.length > 0 ? units : 0) : share > 0 || needs?.requiredGpuModel ? 1 : 0;
              expect(placement.gpuIndexes.length).toBe(asked);
              expect(new Set(placement.gpuIndexes).size).toBe(asked);
              for (const index of placement.gpuIndexes) {
                const gpu = gpus.find((g) => g.index === index);
                if (needs?.requiredGpuModel) expect(gpu?.model).toBe(needs.requiredGpuModel);
                expect(gpu?.exclusivelyReserved).toBe(false);
                const key = `${nodeId}:${index}`;
                expect(whole.has(key)).toBe(false);
                const taken = shares.get(key) ?? gpu?.reservedCapacity ?? 0;
                if (units > 0) {
                  expect(taken).toBe(0);
                  whole.add(key);
                } else {
                  shares.set(key, taken + share);
                  expect(taken + share).toBeLessThanOrEqual(gpu?.totalCapacity ?? 0);
                }
              }
            }
          }
        }
      }),
      RUNS,
    );
  });

  /** Every bundle against the same planner with nothing but that bundle and what the nodes have left. */
  function expectAsIfAlone(bundles: readonly Bundle[], fleet: readonly InventoryCandidate[]): void {
    const plans = planBundles(bundles, POOLS, fleet);
    const rank = (bundle: Bundle): number =>
      Math.min(
        ...bundle.jobs.map((j) =>
          ['gold', 'silver', 'bronze'].indexOf(j.requirements?.priorityBand ?? 'bronze'),
        ),
      );
    const turns = [...bundles.keys()].sort(
      (a, b) => rank(bundles[a] as Bundle) - rank(bundles[b] as Bundle) || a - b,
    );
    let left = fleet;
    for (const turn of turns) {
      const bundle = bundles[turn] as Bundle;
      const plan = plans[turn] as BundlePlan;
      const alone = planOf(bundle, left);
      expect(plan.outcome).toBe(alone.outcome);
      expect(placedCopies(plan).map((c) => c.degraded.length)).toEqual(
        placedCopies(alone).map((c) => c.degraded.length),
      );
      left = placedCopies(plan).reduce((rest, copy) => withTaken(rest, bundle, copy), left);
    }
  }

  it('plans a bundle as if it came alone to what those before it have left', () => {
    fc.assert(fc.property(batch, nodes(4), expectAsIfAlone), RUNS);
  });

  it('does so too where equal bundles bring equal nodes into the same states again and again', () => {
    const replicas = fc
      .tuple(bundleOf(1, 'none'), bundleOf(1, 'none'))
      .map(([a, b]) => [...Array.from({ length: 6 }, () => a), b, ...Array.from({ length: 6 }, () => a)]);
    const equal = nodes(1).map(([only]) =>
      only === undefined ? [] : ['n0', 'n1', 'n2'].map((nodeId) => ({ ...only, nodeId })),
    );
    fc.assert(fc.property(replicas, equal, expectAsIfAlone), RUNS);
  });

  it('is the same for the same candidates in any order', () => {
    fc.assert(
      fc.property(
        batch,
        nodes(4).chain((fleet) =>
          fc.tuple(fc.constant(fleet), fc.shuffledSubarray([...fleet], { minLength: fleet.length })),
        ),
        (bundles, [fleet, shuffled]) => {
          expect(planBundles(bundles, POOLS, shuffled)).toEqual(planBundles(bundles, POOLS, fleet));
        },
      ),
      RUNS,
    );
  });
});

/** The inventories as workers would show them once the copy runs. */
function withTaken(
  fleet: readonly InventoryCandidate[],
  bundle: Bundle,
  copy: PlacedCopy,
): readonly InventoryCandidate[] {
  return fleet.map((node) => {
    const here = copy.placements.flatMap((placement, i) =>
      (placement.node.node as { nodeId?: string }).nodeId === node.nodeId
        ? [{ placement, needs: bundle.jobs[i]?.requirements }]
        : [],
    );
    const { inventory } = node;
    const taken = here.flatMap(({ needs }) =>
      (needs?.requiredCapabilities ?? []).map(({ name, count }) => ({ name, count })),
    );
    const sum = (of: (needs: JobRequirements) => number | undefined): number =>
      here.reduce((total, { needs }) => total + (needs === undefined ? 0 : (of(needs) ?? 0)), 0);
    return {
      ...node,
      inventory: {
        ...inventory,
        reservedCapacity: (inventory.reservedCapacity ?? 0) + sum((n) => n.requiredCapacity),
        reservedCores: (inventory.reservedCores ?? 0) + sum((n) => n.requiredCores),
        reservedCapabilities: [...(inventory.reservedCapabilities ?? []), ...taken],
        assignedJobs: [
          ...(inventory.assignedJobs ?? []),
          ...here.flatMap(({ placement }) =>
            placement.gpuIndexes.map((gpuIndex) => ({ jobId: 'earlier', gpuIndex })),
          ),
        ],
        gpus: (inventory.gpus ?? []).map((gpu) => {
          const users = here.filter(({ placement }) => placement.gpuIndexes.includes(gpu.index));
          const whole = users.some(({ needs }) =>
            needs?.requiredCapabilities?.some((c) => c.name === 'norsk.io/nvidia-gpu' && c.count > 0),
          );
          if (whole) return { ...gpu, exclusivelyReserved: true };
          const shares = users.reduce((total, { needs }) => total + (needs?.requiredGpuCapacity ?? 0), 0);
          return { ...gpu, reservedCapacity: (gpu.reservedCapacity ?? 0) + shares };
        }),
      },
    };
  });
}

it('says of every job that has no node which filter left none, with counts that only fall', () => {
  fc.assert(
    fc.property(bundleOf(3, 'maybe').filter(isConsistent), nodes(3), (bundle, fleet) => {
      const plan = planOf(bundle, fleet);
      if (plan.outcome !== 'unplaced' && plan.outcome !== 'partial') return;
      const copy = plan.copies.find((c) => c.outcome !== 'placed');
      if (copy?.outcome !== 'unplaced') throw new Error('the search was cut short');
      expect(copy.unplaced.map((u) => u.jobName)).toEqual(bundle.jobs.map((j) => j.jobName));
      expect(copy.unplaced.some((u) => u.filter !== 'bundle')).toBe(true);
      for (const { filter, counts } of copy.unplaced) {
        const left = counts.map((c) => c.left);
        expect(left).toEqual([...left].sort((a, b) => b - a));
        if (filter === 'bundle') expect(left.at(-1)).toBeGreaterThan(0);
        else expect(counts.at(-1)).toEqual({ filter, left: 0 });
      }
    }),
    RUNS,
  );
});
