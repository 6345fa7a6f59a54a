/** One run of the simulated world: a while with faults, then a while without, and what must hold in the end. */
import { create } from '@bufbuild/protobuf';
import {
  deleteBundle,
  moveCopy,
  putBundle,
  setStopTime,
} from '../../../../functions/core/bundle/live/commands.ts';
import { findPlace } from '../../../../functions/core/bundle/live/find-place.ts';
import { bandOf, readOneBundle } from '../../../../functions/core/bundle/live/spec.ts';
import { isLive } from '../../../../functions/core/claims/evaluate.ts';
import { ResourceMapError } from '../../../../functions/core/errors.ts';
import { atOnce } from '../../../../functions/core/stepwise.ts';
import { BundleSchema } from '../../../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import type { StoredBundle } from '../../../../functions/gen/resourcemap/bundle/v1/stored_pb.ts';
import { WorkloadPhase } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { SimulatedWorld, seeded } from './simulated-world.ts';

const ACTOR = { owner: 'o', mayChangeAny: false };
const STEP_MS = 20_000;
const BANDS = ['gold', 'silver', 'bronze'] as const;

export interface SimulatedRun {
  readonly violations: readonly string[];
  readonly met: SimulatedWorld['met'];
}

export async function simulate(seed: number, steps = 60): Promise<SimulatedRun> {
  const random = seeded(seed);
  const world = new SimulatedWorld(random);
  const chance = (p: number): boolean => random() < p;
  let made = 0;
  for (let step = 0; step < steps; step++) {
    if (made < 4 && chance(0.2)) put(world, `b${made++}`);
    owners(world, chance);
    faults(world, chance);
    if (chance(0.5)) world.deployer();
    if (chance(0.4)) world.begin(inOrder(world));
    if (chance(0.2)) world.sweep();
    for (let turn = 0; turn < 30 && world.busy; turn++) await world.turn();
    world.advance(STEP_MS);
  }
  calm(world);
  // Longer than a confirmed claim lives and its evidence takes, and than any back-off.
  for (let minute = 0; minute < 75; minute++) {
    world.begin(inOrder(world));
    await world.drain();
    world.deployer();
    world.advance(30_000);
    world.deployer();
    world.advance(30_000);
    world.sweep();
    if (world.violations.length > 0) break;
  }
  judge(world);
  return { violations: world.violations.map((one) => `seed ${seed}: ${one}`), met: world.met };
}

function inOrder(world: SimulatedWorld): readonly string[] {
  const band = (item: StoredBundle): number =>
    item.spec === undefined ? 0 : bandOf(readOneBundle(item.spec));
  return [...world.bundles]
    .sort(([, a], [, b]) => band(a.item) - band(b.item) || a.item.createdAtMs - b.item.createdAtMs)
    .map(([id]) => id);
}

function spec(world: SimulatedWorld, bundleId: string) {
  const jobs = 1 + Math.floor(world.random() * 2);
  const apart = world.random() < 0.3;
  return create(BundleSchema, {
    bundleId,
    pool: 'p',
    jobs: Array.from({ length: jobs }, (_, index) => ({
      jobName: `j${index}`,
      requirements: {
        requiredCapabilities: [
          { name: 'resource-map/accelerator', count: 1 + Math.floor(world.random() * 3) },
        ],
        priorityBand: world.pick(BANDS) ?? 'gold',
      },
      ...(apart && index === 1 ? { separateFrom: ['j0'] } : {}),
    })),
    ...(world.random() < 0.4 ? { resiliencePolicy: { sameAz: 'forbid', sameNode: 'forbid' } } : {}),
  });
}

function put(world: SimulatedWorld, id: string): void {
  const replaceUnknownAfterMs = world.random() < 0.3 ? 5 * 60_000 : 0;
  const options = {
    paused: world.random() < 0.1,
    replaceUnknownAfterMs,
    repairDegraded: world.random() < 0.5,
  };
  const item = putBundle(undefined, { spec: spec(world, id), options, replace: false }, ACTOR, world.nowMs);
  world.bundles.set(id, { rev: 1, item });
  world.begin([id]);
}

function owners(world: SimulatedWorld, chance: (p: number) => boolean): void {
  const change = (decide: (item: StoredBundle) => StoredBundle): void => {
    const id = world.pick([...world.bundles.keys()]);
    const kept = id === undefined ? undefined : world.bundles.get(id);
    if (id === undefined || kept === undefined) return;
    try {
      world.bundles.set(id, { rev: kept.rev + 1, item: decide(kept.item) });
    } catch (error) {
      if (!(error instanceof ResourceMapError)) throw error;
    }
  };
  if (chance(0.02)) change((item) => deleteBundle(item, ACTOR, ''));
  if (chance(0.02)) change((item) => setStopTime(item, ACTOR, world.nowMs + 10 * 60_000));
  if (chance(0.04)) change((item) => moveCopy(item, ACTOR, 'primary'));
  if (chance(0.03)) {
    change((item) => {
      const { paused, replaceUnknownAfterMs, repairDegraded } = item;
      const options = { paused, replaceUnknownAfterMs, repairDegraded };
      return putBundle(
        item,
        { spec: spec(world, item.spec?.bundleId ?? ''), options, replace: true },
        ACTOR,
        world.nowMs,
      );
    });
  }
  if (chance(0.05)) change((item) => ({ ...item, paused: !item.paused }));
}

function faults(world: SimulatedWorld, chance: (p: number) => boolean): void {
  for (const cluster of world.clusters.values()) {
    if (chance(0.03)) {
      const node = Math.floor(world.random() * cluster.nodes.length);
      cluster.nodes[node] = false;
      for (const chain of cluster.chains.filter((one) => one.node === node)) {
        // A node that died takes its pods along; a controller may see them fail, or they are gone.
        if (chance(0.5)) cluster.fail(chain);
        else cluster.chains = cluster.chains.filter((one) => one !== chain);
      }
    }
    if (chance(0.1)) cluster.nodes = cluster.nodes.map((up) => up || chance(0.5));
    if (chance(0.03)) cluster.agentUp = false;
    if (chance(0.06)) cluster.agentUp = true;
    if (chance(0.015)) cluster.cutOffSinceMs ??= world.nowMs;
    if (chance(0.02)) cluster.cutOffSinceMs = undefined;
    const chain = world.pick(cluster.chains);
    if (chain !== undefined && chain.phase === WorkloadPhase.RUNNING && chance(0.03)) cluster.fail(chain);
  }
  if (chance(0.003)) {
    const [, last] = [...world.clusters.values()];
    if (last !== undefined) {
      last.omitted = { reason: 'deleted', atMs: world.nowMs };
      last.chains = [];
      last.agentUp = false;
    }
  }
}

/** From now on everything works, and nobody changes anything. */
function calm(world: SimulatedWorld): void {
  world.faults = false;
  for (const cluster of world.clusters.values()) {
    cluster.agentUp = cluster.omitted?.reason !== 'deleted';
    cluster.cutOffSinceMs = undefined;
    cluster.nodes = cluster.nodes.map(() => true);
  }
  for (const [id, { rev, item }] of world.bundles) {
    if (item.paused) world.bundles.set(id, { rev: rev + 1, item: { ...item, paused: false } });
  }
}

function judge(world: SimulatedWorld): void {
  const snapshot = world.world();
  for (const [id, { item }] of world.bundles) {
    if (item.state === 'deleting') {
      world.violations.push(`${id} is deleted and not gone: ${JSON.stringify(item.copies.map(shown))}`);
      continue;
    }
    for (const copy of item.copies) {
      if (copy.phase === 'running' || copy.phase === 'done') continue;
      const bundle = item.spec === undefined ? undefined : readOneBundle(item.spec);
      if (bundle === undefined) throw new Error('A bundle has no spec.');
      const name = copy.copy === 'backup' ? 'backup' : 'primary';
      const found = atOnce(findPlace(bundle, name, [], [], snapshot));
      // A backup waits for its primary.
      const primary = item.copies.find((one) => one.copy === 'primary');
      const waits = name === 'backup' && primary?.phase === 'pending';
      if (found.kind === 'placed' && !waits)
        world.violations.push(`${id}.${name} fits and is ${JSON.stringify(shown(copy))}`);
    }
  }
  for (const cluster of world.clusters.values()) {
    if (cluster.omitted?.reason === 'deleted') continue;
    const live = cluster.ledger.holds.filter(isLive);
    if (live.length > 0) world.violations.push(`${live.length} claims are left in ${cluster.id}`);
  }
}

function shown({
  copy,
  phase,
  generation,
  reason,
  failures,
  ending,
  retryAtMs,
}: StoredBundle['copies'][number]) {
  return {
    copy,
    phase,
    generation: String(generation),
    reason,
    failures,
    retryAtMs,
    ending: ending.map((past) => ({
      ...past,
      generation: String(past.generation),
      claims: past.claims.length,
    })),
  };
}
