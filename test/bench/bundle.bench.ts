/**
 * What it costs to plan 100 bundles over real snapshots, against first-fit-decreasing over
 * the nodes one by one: the loop that every scheduler begins with, which looks at each node
 * for each job, never turns back, and so cannot say that there is no plan.
 *
 *     npx tsx test/bench/bundle.bench.ts [FOLDER of snapshots in ProtoJSON]
 *
 * Without a folder it takes the samples of the repository. Of several snapshots of one
 * cluster the last is taken. Both sides get the same bundles and the same nodes; times are
 * medians of five runs. Where first-fit places fewer bundles, the last column says how many
 * it gave up although there was a plan.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromJsonString } from '@bufbuild/protobuf';
import { BUILT_IN_CATALOGUE } from '../../functions/core/bundle/model/catalogue.ts';
import { groupJobs } from '../../functions/core/bundle/model/groups.ts';
import { MAX_PLAN_STEPS } from '../../functions/core/bundle/model/limits.ts';
import type { Bundle, Pool } from '../../functions/core/bundle/model/model.ts';
import { needsOf, together } from '../../functions/core/bundle/model/needs.ts';
import { devicesFor, holdsAll, type NodeState, take } from '../../functions/core/bundle/model/node.ts';
import { compilePool } from '../../functions/core/bundle/model/tiers.ts';
import { clusterNodes, mapCandidates } from '../../functions/core/bundle/plan/map-nodes.ts';
import { planBundles } from '../../functions/core/bundle/plan/plan.ts';
import {
  type Candidate,
  nodeState,
  type SlotCandidate,
} from '../../functions/core/bundle/search/candidates.ts';
import { WorkBudget } from '../../functions/core/bundle/work.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { SHORT } from './short.ts';

const BUNDLES = 100;
const ROUNDS = SHORT ? 1 : 5;

const POOL: Pool = { poolName: 'all', tiers: [{ tierName: 'live', cluster: {} }] };

/** A pipeline of live production: an ingest that feeds transcoders, one of which needs several devices. */
function bundleOf(i: number): Bundle {
  const whole = (count: number) => [{ name: 'resource-map/accelerator', count }];
  return {
    bundleId: `b${i}`,
    pool: POOL.poolName,
    jobs: [
      {
        jobName: 'ingest',
        requirements: { requiredGpuCapacity: 0.25, priorityBand: i % 3 === 0 ? 'gold' : 'silver' },
      },
      { jobName: 'package', requirements: { requiredGpuCapacity: 0.5 }, coLocateWith: ['ingest'] },
      { jobName: 'transcode', requirements: { requiredCapabilities: whole([1, 2, 4, 8][i % 4] ?? 1) } },
      { jobName: 'spare', requirements: { requiredCapabilities: whole(1) }, separateFrom: ['transcode'] },
    ],
    ...(i % 2 === 0
      ? { resiliencePolicy: { sameNode: 'forbid', sameAz: 'allow', sameCloud: 'forbid' } }
      : {}),
  };
}

/** The named alternative, for bundles of one copy: groups by size, each on the first node that holds it. */
function firstFit(bundles: readonly Bundle[], fleet: readonly NodeState[]): number {
  const pool = compilePool(POOL);
  const nodes = [...fleet];
  let placed = 0;
  for (const bundle of bundles) {
    const groups = groupJobs(bundle);
    const undo: (readonly [number, NodeState])[] = [];
    const nodeOf = new Map<number, number>();
    const order = groups.groups
      .map((jobs, group) => ({
        group,
        needs: together(jobs.map((job) => needsOf(bundle.jobs[job]?.requirements, job))),
      }))
      .sort(
        (a, b) =>
          (b.needs.units.get('resource-map/accelerator') ?? 0) -
          (a.needs.units.get('resource-map/accelerator') ?? 0),
      );
    const whole = order.every(({ group, needs }) => {
      const at = nodes.findIndex((node, n) => {
        if (pool.tierOf(node.place) === undefined || !node.eligible) return false;
        for (const other of groups.apart[group] ?? []) if (nodeOf.get(other) === n) return false;
        return holdsAll(node, needs, new WorkBudget(1_000_000));
      });
      const node = nodes[at];
      if (node === undefined) return false;
      undo.push([at, node]);
      nodeOf.set(group, at);
      nodes[at] = take(node, needs, devicesFor(node, needs, new WorkBudget(1_000_000)) ?? new Map());
      return true;
    });
    if (whole) placed++;
    else for (const [at, node] of undo.reverse()) nodes[at] = node;
  }
  return placed;
}

function median(run: () => void): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
}

function readSnapshots(folder: string): ReadonlyMap<string, ClusterResourceMap> {
  const latest = new Map<string, ClusterResourceMap>();
  for (const file of readdirSync(folder)
    .filter((name) => /-t\d+\.json$/.test(name))
    .sort()) {
    const snapshot = fromJsonString(ClusterResourceMapSchema, readFileSync(join(folder, file), 'utf8'));
    latest.set(snapshot.cluster?.clusterId ?? file, snapshot);
  }
  return latest;
}

/** Every node by itself, as a loop over nodes needs it. */
function oneByOne(slots: readonly SlotCandidate[]): readonly NodeState[] {
  return slots.flatMap((slot) =>
    Array.from({ length: slot.count }, (_, i) =>
      nodeState({ ...slot, firstSlot: slot.firstSlot + i, count: 1 }, new Set()),
    ),
  );
}

function report(name: string, snapshots: readonly ClusterResourceMap[], bundles: readonly Bundle[]): void {
  const slots = mapCandidates(snapshots.map(clusterNodes), BUILT_IN_CATALOGUE);
  const nodes = slots.reduce((sum, slot) => sum + slot.count, 0);
  const candidates: readonly Candidate[] = slots;
  const plans = planBundles(bundles, [POOL], candidates);
  const outcomes = new Map<string, number>();
  for (const { outcome } of plans) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const degraded = plans.filter(
    (p) => p.outcome === 'placed' && p.copies.some((copy) => copy.degraded.length > 0),
  ).length;
  const planMs = median(() => planBundles(bundles, [POOL], candidates));

  const fleet = oneByOne(slots);
  const single = bundles.map(({ resiliencePolicy: _, ...rest }) => rest);
  const exact = planBundles(single, [POOL], candidates).filter((p) => p.outcome === 'placed').length;
  const exactMs = median(() => planBundles(single, [POOL], candidates));
  const greedy = firstFit(single, fleet);
  const greedyMs = median(() => firstFit(single, fleet));
  const reported = [...outcomes].map(([outcome, n]) => `${n} ${outcome}`).join(', ');
  console.log(
    `${name}: ${nodes} nodes in ${slots.length} kinds\n` +
      `  with backups     ${planMs.toFixed(1)} ms (${reported}; ${degraded} degraded)\n` +
      `  one copy each    ${exactMs.toFixed(1)} ms, ${exact} placed; first-fit-decreasing node by node ${greedyMs.toFixed(1)} ms, ${greedy} placed: ` +
      `${(greedyMs / exactMs).toFixed(1)} times as long, ${exact - greedy} given up that had a plan`,
  );
}

const folder = process.argv[2] ?? fileURLToPath(new URL('../../functions/local/samples', import.meta.url));
const snapshots = readSnapshots(folder);
const bundles = Array.from({ length: BUNDLES }, (_, i) => bundleOf(i));
console.log(`${BUNDLES} bundles of four jobs, every second with a backup; at most ${MAX_PLAN_STEPS} steps`);
for (const [id, snapshot] of snapshots) report(id, [snapshot], bundles);
report('all together', [...snapshots.values()], bundles);

/** As many clusters as a large fleet has, each like one of the real ones. */
const FLEET = SHORT ? 20 : 1_000;
const kinds = [...snapshots.values()];
const fleet = Array.from({ length: FLEET }, (_, i): ClusterResourceMap => {
  const like = kinds[i % kinds.length] as ClusterResourceMap;
  return {
    ...like,
    cluster: { ...like.cluster, clusterId: `c${i}` } as NonNullable<ClusterResourceMap['cluster']>,
  };
});
const candidates = mapCandidates(fleet.map(clusterNodes), BUILT_IN_CATALOGUE);
console.log(
  `${FLEET} clusters like these: ${candidates.reduce((sum, c) => sum + c.count, 0)} nodes in ${candidates.length} kinds, ` +
    `${median(() => planBundles(bundles, [POOL], candidates)).toFixed(0)} ms`,
);
