/**
 * Node services: an eager one runs once on every usable node of its pools whose
 * capabilities it finds; a lazy one is deferred. What a service provides is not counted
 * here: placement believes a capability only once the node's inventory shows it.
 */

import { largest } from '../../capacity/monotone.ts';
import { atOnce, type Stepwise } from '../../stepwise.ts';
import type { NodeService, Pool } from '../model/model.ts';
import { type Needs, needsOf } from '../model/needs.ts';
import { devicesFor, take, unmetCapability } from '../model/node.ts';
import { type CompiledPool, compilePools } from '../model/tiers.ts';
import type { Candidate } from '../search/candidates.ts';
import { Fleet, firstOf, type NodeClass } from '../search/fleet.ts';
import { WorkBudget } from '../work.ts';
import type { Filter, NodeServicePlacement, NodeServicePlan } from './plan-model.ts';

/**
 * Plans the services in the order of the request; what an earlier one consumes is taken.
 * A node runs a service already where its inventory has the service's id among its jobs.
 *
 * @example
 * ```ts
 * import { planNodeServices } from '@resource-map/client/bundle';
 *
 * const [plan] = planNodeServices([{ serviceId: 'logs', pools: ['h100'], lifecycle: 'eager' }], [], []);
 * console.log(plan?.serviceId);
 * ```
 */
export function planNodeServices(
  services: readonly NodeService[],
  pools: readonly Pool[],
  candidates: readonly Candidate[],
): readonly NodeServicePlan[] {
  return atOnce(planServicesOnFleet(atOnce(fleetFor(services, candidates)), services, pools));
}

/** A fleet that knows which nodes run which of the services. */
export function fleetFor(
  services: readonly NodeService[],
  candidates: readonly Candidate[],
): Stepwise<Fleet> {
  return Fleet.of(candidates, new Set(services.map((service) => service.serviceId)));
}

/** As {@link planNodeServices}, on a fleet from {@link fleetFor}; takes from it. */
export function* planServicesOnFleet(
  fleet: Fleet,
  services: readonly NodeService[],
  pools: readonly Pool[],
): Stepwise<readonly NodeServicePlan[]> {
  const byName = compilePools(pools);
  const plans: NodeServicePlan[] = [];
  for (const service of services) plans.push(yield* planService(fleet, service, byName));
  return plans;
}

/** Filters on the way to a service's nodes, in the order in which they are applied. */
const SERVICE_FILTERS = [
  'pool',
  'eligible',
  'reachable',
  'cordoned',
  'capabilities',
  'gpu',
  'demand',
] as const satisfies readonly Filter[];
type ServiceFilter = (typeof SERVICE_FILTERS)[number];

interface ServiceNodes {
  readonly class: NodeClass;
  readonly pool: CompiledPool;
  /** Position of the pool in the service's list. */
  readonly rank: number;
  readonly tier: number;
}

function* planService(
  fleet: Fleet,
  service: NodeService,
  pools: ReadonlyMap<string, CompiledPool>,
): Stepwise<NodeServicePlan> {
  const { serviceId } = service;
  if (service.lifecycle === 'lazy') return { serviceId, outcome: 'deferred' };

  const named = service.pools.flatMap((name) => pools.get(name) ?? []);
  const needs = needsOf({ requiredCapabilities: service.consumes ?? [] }, 0);
  const stopped = new Map<ServiceFilter, number>();
  const chosen: ServiceNodes[] = [];
  let total = 0;
  let running = 0;
  for (const candidate of fleet.classes) {
    if (candidate.size === 0) continue;
    yield;
    total += candidate.size;
    const nodes = poolOf(candidate, named);
    const filter = nodes === undefined ? 'pool' : firstObstacle(candidate, serviceId, needs);
    if (filter === 'running') running += candidate.size;
    else if (filter !== undefined) stopped.set(filter, (stopped.get(filter) ?? 0) + candidate.size);
    else if (nodes !== undefined) chosen.push(nodes);
  }
  chosen.sort((a, b) => a.rank - b.rank || a.tier - b.tier || a.class.order - b.class.order);
  const placements: NodeServicePlacement[] = [];
  for (const nodes of chosen) {
    const all = nodes.class.size;
    const count = mostBehindDemand(nodes.class, needs);
    if (count < all) stopped.set('demand', (stopped.get('demand') ?? 0) + all - count);
    placements.push(...placementsOf(nodes, count));
    takeFromFirst(fleet, nodes.class, count, serviceId, needs);
    yield;
  }

  let left = total;
  const counts = SERVICE_FILTERS.map((filter) => {
    left -= stopped.get(filter) ?? 0;
    return { filter, left };
  });
  const unknownPools = service.pools.filter((name) => !pools.has(name));
  return { serviceId, outcome: 'planned', placements, running, counts, unknownPools };
}

/** The first of the service's pools that the nodes stand in. */
function poolOf(candidate: NodeClass, named: readonly CompiledPool[]): ServiceNodes | undefined {
  for (const [rank, pool] of named.entries()) {
    const tier = pool.tierOf(candidate.state.place);
    if (tier !== undefined) return { class: candidate, pool, rank, tier };
  }
  return undefined;
}

function firstObstacle(
  { state }: NodeClass,
  serviceId: string,
  needs: Needs,
): ServiceFilter | 'running' | undefined {
  if (!state.eligible) return 'eligible';
  if (!state.reachable) return 'reachable';
  if (state.cordoned) return 'cordoned';
  if (state.services.has(serviceId)) return 'running';
  if (unmetCapability(state, needs) !== undefined) return 'capabilities';
  return devicesFor(state, needs, new WorkBudget(Number.POSITIVE_INFINITY)) === undefined ? 'gpu' : undefined;
}

/** How many nodes of a class may take the needs, so that what comes first on the node type keeps its place. */
function mostBehindDemand(nodes: NodeClass, needs: Needs): number {
  const { owed, size } = nodes;
  if (owed === undefined || needs.devices.length === 0) return size;
  const unbounded = new WorkBudget(Number.POSITIVE_INFINITY);
  return largest(size, (count) => owed.holdsBeside([{ class: nodes, count, needs }], unbounded)).atLeast;
}

function placementsOf(
  { class: from, pool, tier }: ServiceNodes,
  nodes: number,
): readonly NodeServicePlacement[] {
  const { clusterId, poolId, nodeTypeId } = from.state.place;
  return firstOf(from.runs(), nodes).map(({ first, count }) => ({
    poolName: pool.name,
    tier,
    tierName: pool.tiers[tier]?.tierName ?? '',
    node: { clusterId, poolId, nodeTypeId, node: first },
    nodes: count,
  }));
}

function takeFromFirst(fleet: Fleet, from: NodeClass, count: number, serviceId: string, needs: Needs): void {
  const devices = devicesFor(from.state, needs, new WorkBudget(Number.POSITIVE_INFINITY)) ?? new Map();
  const state = take(from.state, needs, devices);
  fleet.move(from, count, { ...state, services: new Set([...state.services, serviceId]) });
}
