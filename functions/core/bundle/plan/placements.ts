/** From a solution of the search to the answer: which job stands where, on which devices. */

import type { Stepwise } from '../../stepwise.ts';
import { type DeviceAssignment, fewestIdleTaken, withIdle } from '../model/devices.ts';
import type { Bundle } from '../model/model.ts';
import { NO_NEEDS } from '../model/needs.ts';
import { devicesFor, type NodeState, take, unverified } from '../model/node.ts';
import type { NodeClass, PlannedNode } from '../search/fleet.ts';
import type { Rules, Solution } from '../search/search.ts';
import type { NodePosition, UsedNode, Variable } from '../search/search-model.ts';
import { sharedDomains } from '../search/sharing-cost.ts';
import { type CopyOfBundle, jobNumber } from '../search/variables.ts';
import { WorkBudget } from '../work.ts';
import type { JobPlacement, NodeRef, PlacedCopy, SharedDomain } from './plan-model.ts';

/** A solution with the devices of every node assigned. */
export interface AssignedSolution {
  readonly solution: Solution;
  /** By the node's key. */
  readonly devices: ReadonlyMap<string, DeviceAssignment>;
}

/** Assigns the devices of every node. The search found that there are enough, in as many steps as it took there. */
export function* assignAll(solution: Solution): Stepwise<AssignedSolution> {
  const devices = new Map<string, DeviceAssignment>();
  for (const node of solution.touched) {
    const unbounded = new WorkBudget(Number.POSITIVE_INFINITY);
    const assignment = devicesFor(sparing(node), node.needs, unbounded);
    if (assignment === undefined) throw new Error('A node of a plan does not hold what stands on it.');
    devices.set(nodeKeyOf(node), assignment);
    yield;
  }
  return { solution, devices };
}

/** Of a node that is owed to others, as few idle devices as will do: the search counted on the rest of them. */
function sparing({ class: { state, owed }, needs }: UsedNode): NodeState {
  if (owed === undefined || needs.devices.length === 0) return state;
  const unbounded = new WorkBudget(Number.POSITIVE_INFINITY);
  const taken = fewestIdleTaken(state.devices, needs.devices, unbounded);
  return { ...state, devices: withIdle(state.devices, taken) };
}

/** What the fleet must take. */
export function plannedNodes({ solution, devices }: AssignedSolution): readonly PlannedNode[] {
  return solution.touched
    .map((node) => ({
      from: node.class,
      position: node.position,
      state: take(node.class.state, node.needs, devices.get(nodeKeyOf(node)) ?? new Map()),
    }))
    .sort((a, b) => a.from.order - b.from.order || a.position - b.position);
}

function nodeKeyOf(node: NodePosition): string {
  return `${node.class.order}:${node.position}`;
}

/** Where each job of the copy stands. */
export function placedCopy(
  bundle: Bundle,
  { copy, groups, needs, pool }: CopyOfBundle,
  variables: readonly Variable[],
  { solution, devices }: AssignedSolution,
  degraded: readonly SharedDomain[],
): PlacedCopy {
  const byGroup = new Map(
    variables.flatMap((v, i) => {
      const node = solution.nodes[i];
      const tier = solution.tiers[i];
      return v.copy === copy && node !== undefined && tier !== undefined ? [[v.group, { node, tier }]] : [];
    }),
  );
  const placements = bundle.jobs.map((job, i): JobPlacement => {
    const at = byGroup.get(groups.groupOf[i] ?? -1);
    if (at === undefined) throw new Error('A job of a plan has no node.');
    const { node, tier } = at;
    return {
      jobName: job.jobName,
      poolName: pool.name,
      tier,
      tierName: pool.tiers[tier]?.tierName ?? '',
      node: nodeRef(node.class, node.position),
      gpuIndexes: devices.get(nodeKeyOf(node))?.get(jobNumber(bundle, copy, i)) ?? [],
      unverified: unverified(node.class.state, needs[i] ?? NO_NEEDS),
    };
  });
  return { copy, outcome: 'placed', placements, degraded };
}

export function nodeRef(from: NodeClass, position: number): NodeRef {
  const { clusterId, poolId, nodeTypeId } = from.state.place;
  return { clusterId, poolId, nodeTypeId, node: from.nodeAt(position) };
}

/** The domains that the backup shares with the primary against the policy, with the jobs that stand in them. */
export function degradationOf(
  bundle: Bundle,
  backup: CopyOfBundle,
  variables: readonly Variable[],
  solution: Solution,
  rules: Rules,
  unavoidable: boolean,
): readonly SharedDomain[] {
  const primary = solution.nodes.filter((_, i) => variables[i]?.copy === 'primary');
  const primaryDomains = new Set(primary.map((p) => p.class.domain));
  const found = new Map<
    string,
    { domain: SharedDomain['domain']; value: string; known: boolean; jobs: number[] }
  >();
  for (const [i, variable] of variables.entries()) {
    const node = solution.nodes[i];
    if (variable.copy !== 'backup' || node === undefined) continue;
    const isNodeOfPrimary = primary.some((p) => p.class === node.class && p.position === node.position);
    const shared = sharedDomains(node.class.domain, isNodeOfPrimary, primaryDomains, rules.forbid);
    const jobs = backup.groups.groups[variable.group] ?? [];
    const { place } = node.class.state;
    const domains = [
      ['node', describeNode(node), shared.node],
      ['az', place.zone, shared.az],
      ['cloud', place.provider, shared.cloud],
    ] as const;
    for (const [domain, value, same] of domains) {
      if (same === 'apart') continue;
      const known = same === 'same';
      const key = JSON.stringify([
        domain,
        value,
        known,
        domain === 'az' ? [place.provider, place.region] : [],
      ]);
      const entry = found.get(key);
      if (entry === undefined) found.set(key, { domain, value, known, jobs: [...jobs] });
      else entry.jobs.push(...jobs);
    }
  }
  const order = ['node', 'az', 'cloud'];
  return [...found.values()]
    .map(({ jobs, ...rest }) => ({ ...rest, jobs: jobs.sort((a, b) => a - b), unavoidable }))
    .sort((a, b) => order.indexOf(a.domain) - order.indexOf(b.domain) || (a.jobs[0] ?? 0) - (b.jobs[0] ?? 0))
    .map(({ jobs, ...rest }) => ({ ...rest, jobs: jobs.map((job) => bundle.jobs[job]?.jobName ?? '') }));
}

function describeNode(node: NodePosition): string {
  const name = node.class.nodeAt(node.position);
  return name.kind === 'inventory' ? name.nodeId : `${node.class.state.place.nodeTypeId} slot ${name.number}`;
}
