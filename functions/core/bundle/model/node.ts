/**
 * One node as planning sees it: what it has, what of that is taken, and whether a set of
 * jobs fits on it. States are values: taking something gives another state.
 */

import type { WorkBudget } from '../work.ts';
import { type Amount, fits, NOTHING } from './amounts.ts';
import { hasAttributes } from './capabilities.ts';
import {
  assignDevices,
  canAssign,
  type Device,
  type DeviceAssignment,
  type DeviceNeed,
  isIdle,
  takeDevices,
} from './devices.ts';
import type { Attributes } from './model.ts';
import type { Needs } from './needs.ts';
import type { Place } from './place.ts';

/** Something that is counted or measured. */
export interface Stock {
  /** What may be taken in all; absent where the source does not say. */
  readonly limit: Amount | undefined;
  /** What is taken, as far as it is known. */
  readonly taken: Amount;
  /** False where others may have taken more than `taken` says. */
  readonly takenKnown: boolean;
}

/** Units of one capability. */
export interface Units {
  readonly total: number;
  readonly taken: number;
  readonly attributes: Attributes | undefined;
}

export interface NodeState {
  readonly place: Place;
  readonly eligible: boolean;
  readonly reachable: boolean;
  readonly cordoned: boolean;
  readonly capacity: Stock;
  readonly cores: Stock;
  readonly capabilities: ReadonlyMap<string, Units>;
  /** Empty: no device, or none that is known one by one. */
  readonly devices: readonly Device[];
  /** Node services that run on it, of those that the request is about. */
  readonly services: ReadonlySet<string>;
}

/** Filters on what a node has left, in the order in which they are applied. */
export const RESOURCE_FILTERS = ['capacity', 'cores', 'gpu', 'capabilities'] as const;
export type ResourceFilter = (typeof RESOURCE_FILTERS)[number];

/** The first filter that keeps the needs off the node; nothing where they fit. */
export function obstacle(node: NodeState, needs: Needs, budget: WorkBudget): ResourceFilter | undefined {
  if (!holdsCapacity(node, needs)) return 'capacity';
  if (!holdsCores(node, needs)) return 'cores';
  // The devices are looked at last, since assigning them is the one check that searches.
  const capabilities = unmetCapability(node, needs) === undefined;
  if (!canAssign(node.devices, assignable(node, needs), budget)) return 'gpu';
  return capabilities ? undefined : 'capabilities';
}

/** Whether the needs fit. The order of the checks is that of their cost. */
export function holdsAll(node: NodeState, needs: Needs, budget: WorkBudget): boolean {
  return (
    holdsCapacity(node, needs) &&
    holdsCores(node, needs) &&
    unmetCapability(node, needs) === undefined &&
    canAssign(node.devices, assignable(node, needs), budget)
  );
}

/** A device for every need that asks for one, or nothing. */
export function devicesFor(node: NodeState, needs: Needs, budget: WorkBudget): DeviceAssignment | undefined {
  return assignDevices(node.devices, assignable(node, needs), budget);
}

/** Whole devices that are known only by their number are counted as a capability, and not assigned. */
function assignable(node: NodeState, needs: Needs): readonly DeviceNeed[] {
  if (node.devices.length > 0 || needs.devices.length === 0) return needs.devices;
  return needs.devices.filter((need) => need.kind === 'share');
}

/** What must be known of a node, and is not, to be sure that the needs fit. */
export function unverified(node: NodeState, needs: Needs): readonly ('capacity' | 'cores')[] {
  return (['capacity', 'cores'] as const).filter((what) => isUnsure(node[what], needs[what]));
}

/** How many they are. */
export function countUnverified({ capacity, cores }: NodeState, needs: Needs): number {
  return Number(isUnsure(capacity, needs.capacity)) + Number(isUnsure(cores, needs.cores));
}

function isUnsure({ limit, takenKnown }: Stock, need: Amount): boolean {
  return need.isPositive && (limit === undefined || !takenKnown);
}

/** The node once the needs stand on it with these devices. */
export function take(node: NodeState, needs: Needs, devices: DeviceAssignment): NodeState {
  const capabilities = new Map(node.capabilities);
  for (const [name, count] of needs.units) {
    const units = capabilities.get(name);
    if (units !== undefined && count > 0) capabilities.set(name, { ...units, taken: units.taken + count });
  }
  return {
    ...node,
    capacity: { ...node.capacity, taken: node.capacity.taken.plus(needs.capacity) },
    cores: { ...node.cores, taken: node.cores.taken.plus(needs.cores) },
    capabilities,
    devices: takeDevices(node.devices, needs.devices, devices),
  };
}

/** What is left of a stock; absent where that is not known. */
export function room(stock: Stock): Amount | undefined {
  if (stock.limit === undefined) return undefined;
  const left = stock.limit.minus(stock.taken);
  return left.isPositive ? left : NOTHING;
}

/** Devices on which nothing stands. */
export function idleDevices(node: NodeState): number {
  return node.devices.reduce((sum, device) => sum + (isIdle(device) ? 1 : 0), 0);
}

/** The first capability that the node has too little of, or with other attributes. */
export function unmetCapability(node: NodeState, needs: Needs): string | undefined {
  for (const requirement of needs.capabilities) {
    const units = node.capabilities.get(requirement.name);
    if (units === undefined) return requirement.name;
    if (!hasAttributes(units.attributes, requirement.attributeMatches)) return requirement.name;
    const asked = needs.units.get(requirement.name) ?? 0;
    if (asked > 0 && units.taken + asked > units.total) return requirement.name;
  }
  return undefined;
}

/** Equal for nodes that no job could tell apart. */
export function nodeKey(node: NodeState): string {
  const { place } = node;
  return JSON.stringify([
    place.clusterId,
    place.poolId,
    place.nodeTypeId,
    place.provider,
    place.region,
    place.zone,
    place.instanceType,
    place.acceleratorModels,
    node.eligible,
    node.reachable,
    node.cordoned,
    stockKey(node.capacity),
    stockKey(node.cores),
    [...node.capabilities]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, u]) => [name, u.total, u.taken, Object.entries(u.attributes ?? {}).sort()]),
    [...node.services].sort(),
    node.devices.map((d) => [d.index, d.model ?? null, d.total ?? null, d.reserved, d.shared, d.exclusive]),
  ]);
}

function stockKey(stock: Stock): readonly unknown[] {
  return [stock.limit ?? null, stock.taken, stock.takenKnown];
}

/** What needs no capacity stands on a node that is over its limit, too. */
function holdsCapacity({ capacity }: NodeState, needs: Needs): boolean {
  return (
    !needs.capacity.isPositive ||
    capacity.limit === undefined ||
    fits(capacity.taken, needs.capacity, capacity.limit)
  );
}

/** A job that pins no cores does not care how many are pinned. */
function holdsCores({ cores }: NodeState, needs: Needs): boolean {
  return !needs.cores.isPositive || cores.limit === undefined || fits(cores.taken, needs.cores, cores.limit);
}
