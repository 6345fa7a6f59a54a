/**
 * The rules of planning a second time, written straight from the contract and sharing no
 * code with the planner: whether a placement holds, and every placement that does, by
 * trying all of them. For cases of a few jobs and nodes.
 */

import type { Bundle, BundleJobSpec, Pool } from '../../../functions/core/bundle/model/model.ts';
import type { Place } from '../../../functions/core/bundle/model/place.ts';
import type { InventoryCandidate } from '../../../functions/core/bundle/search/candidates.ts';

/** Node index by job, one copy. */
export type Assignment = readonly number[];

export type CopyName = 'primary' | 'backup';

/** A job that stands on a node. */
export interface Standing {
  readonly job: BundleJobSpec;
  readonly node: number;
}

const WHOLE = ['norsk.io/nvidia-gpu', 'resource-map/accelerator'];

export function tierOf(pool: Pool, place: Place): number {
  return pool.tiers.findIndex((tier) => {
    if (tier.elastic !== undefined) {
      return (
        tier.elastic.instanceTypes.some((t) => t.instanceType === place.instanceType) &&
        (!tier.elastic.provider || tier.elastic.provider === place.provider)
      );
    }
    const s = tier.cluster;
    const ok = (values: readonly string[] | undefined, value: string) =>
      !values || values.length === 0 || values.includes(value);
    return (
      ok(s.provider, place.provider) &&
      ok(s.region, place.region) &&
      ok(s.clusterId, place.clusterId) &&
      ok(s.poolId, place.poolId) &&
      ok(s.nodeTypeId, place.nodeTypeId)
    );
  });
}

/** Whether everything that stands on the node has room there, its devices by trying all of them. */
export function nodeHolds(node: InventoryCandidate, jobs: readonly BundleJobSpec[]): boolean {
  const inv = node.inventory;
  if (jobs.length === 0) return true;
  if (!node.eligible || !inv.reachable || inv.cordoned) return false;
  const sum = (of: (job: BundleJobSpec) => number | undefined) =>
    jobs.reduce((s, job) => s + (of(job) ?? 0), 0);
  if (
    (inv.reservedCapacity ?? 0) + sum((j) => j.requirements?.requiredCapacity) >
    inv.totalCapacity * inv.utilizationCap + 1e-9
  )
    return false;
  const cores = sum((j) => j.requirements?.requiredCores);
  if (cores > 0 && (inv.reservedCores ?? 0) + cores > (inv.totalCores ?? 0)) return false;
  const asked = jobs.flatMap((j) => j.requirements?.requiredCapabilities ?? []);
  for (const need of asked) {
    const entry = (inv.capabilities ?? []).find((c) => c.name === need.name);
    if (entry === undefined) return false;
    for (const [k, v] of Object.entries(need.attributeMatches ?? {}))
      if (entry.attributes?.[k] !== v) return false;
    const all = asked.filter((a) => a.name === need.name).reduce((s, a) => s + a.count, 0);
    const reserved = (inv.reservedCapabilities ?? [])
      .filter((c) => c.name === need.name)
      .reduce((s, c) => s + c.count, 0);
    if (all > 0 && reserved + all > entry.count) return false;
  }
  return devicesHold(node, jobs);
}

function devicesHold(node: InventoryCandidate, jobs: readonly BundleJobSpec[]): boolean {
  const gpus = node.inventory.gpus ?? [];
  type Piece = { whole: boolean; amount: number; model: string };
  const pieces: Piece[] = [];
  for (const { requirements: r } of jobs) {
    const whole = (r?.requiredCapabilities ?? [])
      .filter((c) => WHOLE.includes(c.name))
      .reduce((s, c) => s + c.count, 0);
    const amount = r?.requiredGpuCapacity ?? 0;
    const model = r?.requiredGpuModel ?? '';
    if (whole > 0) {
      if (gpus.length > 0) for (let i = 0; i < whole; i++) pieces.push({ whole: true, amount, model });
    } else if (amount > 0 || model !== '') pieces.push({ whole: false, amount, model });
  }
  const tryFrom = (i: number, on: readonly (readonly Piece[])[]): boolean => {
    const piece = pieces[i];
    if (piece === undefined) return true;
    return gpus.some((gpu, g) => {
      const here = [...(on[g] ?? []), piece];
      const taken = gpu.reservedCapacity ?? 0;
      if (gpu.exclusivelyReserved) return false;
      if (piece.model !== '' && gpu.model !== piece.model) return false;
      if (here.some((p) => p.whole)) {
        if (here.length > 1 || taken > 0 || piece.amount > gpu.totalCapacity) return false;
      } else if (taken + here.reduce((s, p) => s + p.amount, 0) > gpu.totalCapacity + 1e-9) return false;
      return tryFrom(
        i + 1,
        on.map((pieces, at) => (at === g ? here : pieces)),
      );
    });
  };
  return tryFrom(
    0,
    gpus.map(() => []),
  );
}

/** Names of jobs that share a node, transitively, those that sameNodeDefault binds included. */
export function groupsOf(bundle: Bundle): readonly (readonly string[])[] {
  let groups = bundle.jobs.map((job) => new Set([job.jobName]));
  const merge = (a: string, b: string): void => {
    const both = groups.filter((g) => g.has(a) || g.has(b));
    groups = [...groups.filter((g) => !both.includes(g)), new Set(both.flatMap((g) => [...g]))];
  };
  for (const job of bundle.jobs) for (const other of job.coLocateWith ?? []) merge(job.jobName, other);
  if (bundle.intraReplicaPlacement?.sameNodeDefault) {
    const free = bundle.jobs.filter((j) => !j.coLocateWith?.length && !j.separateFrom?.length);
    for (const job of free) merge(free[0]?.jobName ?? '', job.jobName);
  }
  return groups.map((g) => [...g]);
}

/** Whether one copy's own rules hold: pool, co-location, separation, hard zone. */
export function copyHolds(
  bundle: Bundle,
  pool: Pool,
  nodes: readonly InventoryCandidate[],
  at: Assignment,
): boolean {
  const nodeOf = new Map(bundle.jobs.map((job, i) => [job.jobName, at[i] ?? -1]));
  if (at.some((n) => tierOf(pool, (nodes[n] as InventoryCandidate).place) === -1)) return false;
  for (const group of groupsOf(bundle))
    if (new Set(group.map((name) => nodeOf.get(name))).size > 1) return false;
  for (const job of bundle.jobs) {
    for (const other of job.separateFrom ?? [])
      if (nodeOf.get(other) === nodeOf.get(job.jobName)) return false;
  }
  if (bundle.intraReplicaPlacement?.sameAz === 'hard') {
    for (const a of at) {
      for (const b of at) {
        if (a === b) continue;
        const x = (nodes[a] as InventoryCandidate).place;
        const y = (nodes[b] as InventoryCandidate).place;
        if (x.zone === '' || x.zone !== y.zone || x.provider !== y.provider || x.region !== y.region)
          return false;
      }
    }
  }
  return true;
}

/** Every assignment of one copy that its own rules allow. */
export function assignments(
  bundle: Bundle,
  pool: Pool,
  nodes: readonly InventoryCandidate[],
): readonly Assignment[] {
  let partial: readonly Assignment[] = [[]];
  for (const _ of bundle.jobs) partial = partial.flatMap((p) => nodes.map((_n, n) => [...p, n]));
  return partial.filter((at) => copyHolds(bundle, pool, nodes, at));
}

/** Whether all nodes hold what stands on them. */
export function fleetHolds(nodes: readonly InventoryCandidate[], standing: readonly Standing[]): boolean {
  return nodes.every((node, n) =>
    nodeHolds(
      node,
      standing.filter((s) => s.node === n).map((s) => s.job),
    ),
  );
}

export function standingOf(bundle: Bundle, at: Assignment): readonly Standing[] {
  return bundle.jobs.map((job, i) => ({ job, node: at[i] ?? -1 }));
}

/** A job of the backup in a domain of the primary that the policy forbids; `same` if it is known to be one. */
export interface SharedByJob {
  readonly jobName: string;
  readonly domain: 'node' | 'az' | 'cloud';
  readonly same: boolean;
}

/** What each job of the backup shares with the primary as a whole. */
export function sharedByJob(
  bundle: Bundle,
  nodes: readonly InventoryCandidate[],
  primary: Assignment,
  backup: Assignment,
): readonly SharedByJob[] {
  const policy = bundle.resiliencePolicy ?? {};
  return bundle.jobs.flatMap(({ jobName }, i) => {
    const b = backup[i] ?? -1;
    const mine = (nodes[b] as InventoryCandidate).place;
    const others = primary.map((p) => ({ same: p === b, place: (nodes[p] as InventoryCandidate).place }));
    const shared: SharedByJob[] = [];
    const compare = (
      domain: 'az' | 'cloud',
      same: (p: Place) => boolean,
      apart: (p: Place) => boolean,
    ): void => {
      if (others.some((o) => o.same || same(o.place))) shared.push({ jobName, domain, same: true });
      else if (others.some((o) => !apart(o.place))) shared.push({ jobName, domain, same: false });
    };
    if (policy.sameNode === 'forbid' && others.some((o) => o.same)) {
      shared.push({ jobName, domain: 'node', same: true });
    }
    if (policy.sameAz === 'forbid') {
      compare(
        'az',
        (p) =>
          mine.zone !== '' &&
          JSON.stringify([p.zone, p.provider, p.region]) ===
            JSON.stringify([mine.zone, mine.provider, mine.region]),
        (p) => azApart(mine, p),
      );
    }
    if (policy.sameCloud === 'forbid') {
      compare(
        'cloud',
        (p) => mine.provider !== '' && p.provider === mine.provider,
        (p) => cloudApart(mine, p),
      );
    }
    return shared;
  });
}

/**
 * What the backup shares against the policy: for each group of jobs and each rule 2 where
 * some node of the primary stands in the same domain, 1 where it may.
 */
export function sharing(
  bundle: Bundle,
  nodes: readonly InventoryCandidate[],
  primary: Assignment,
  backup: Assignment,
): number {
  const leaders = new Set(groupsOf(bundle).map((group) => group[0]));
  return sharedByJob(bundle, nodes, primary, backup)
    .filter(({ jobName }) => leaders.has(jobName))
    .reduce((sum, { same }) => sum + (same ? 2 : 1), 0);
}

function cloudApart(a: Place, b: Place): boolean {
  return a.provider !== '' && b.provider !== '' && a.provider !== b.provider;
}

function azApart(a: Place, b: Place): boolean {
  if (cloudApart(a, b)) return true;
  if (a.region !== '' && b.region !== '' && a.region !== b.region) return true;
  return a.zone !== '' && b.zone !== '' && a.zone !== b.zone;
}
