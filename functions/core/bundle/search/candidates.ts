/** The nodes that a plan may use: one by one with their inventories, or as anonymous slots of the map. */
import type { Owed } from '../../capacity/view/owed.ts';
import { Amount, NOTHING } from '../model/amounts.ts';
import { firstByName, MAP_ACCELERATOR } from '../model/capabilities.ts';
import type { Device } from '../model/devices.ts';
import { MAX_DEVICES } from '../model/limits.ts';
import type { Capability, GpuResource, NodeInventory } from '../model/model.ts';
import type { NodeState, Stock, Units } from '../model/node.ts';
import type { Place } from '../model/place.ts';

/** A node that is known by its id and its inventory. */
export interface InventoryCandidate {
  readonly kind: 'inventory';
  /** Unique in its cluster. */
  readonly nodeId: string;
  readonly place: Place;
  readonly eligible: boolean;
  readonly inventory: NodeInventory;
}

/** Nodes of the map that are alike: one node type, equally many accelerators free. */
export interface SlotCandidate {
  readonly kind: 'slots';
  readonly place: Place;
  readonly eligible: boolean;
  /** Slots are numbered in their node type, these from here on. */
  readonly firstSlot: number;
  readonly count: number;
  readonly freeAccelerators: number;
  /** Nothing runs on them; of a node in use it is not known what else than accelerators is taken. */
  readonly idle: boolean;
  /** All accelerators of one node; absent where it has none. */
  readonly accelerator: Capability | undefined;
  /**
   * Pods that have their place on the nodes of this node type, all its candidates together, before
   * anything is planned; each of them says the same. Absent: none.
   */
  readonly owed?: Owed | undefined;
  /** Absent: unknown. */
  readonly totalCapacity?: number | undefined;
  /** Absent: unknown. */
  readonly totalCores?: number | undefined;
}

export type Candidate = InventoryCandidate | SlotCandidate;

/** The candidate as planning sees it, before anything is planned on it. */
export function nodeState(candidate: Candidate, serviceIds: ReadonlySet<string>): NodeState {
  return candidate.kind === 'inventory' ? inventoryState(candidate, serviceIds) : slotState(candidate);
}

function inventoryState(
  { inventory, place, eligible }: InventoryCandidate,
  serviceIds: ReadonlySet<string>,
): NodeState {
  const reserved = new Map<string, number>();
  for (const { name, count } of inventory.reservedCapabilities ?? []) {
    reserved.set(name, (reserved.get(name) ?? 0) + count);
  }
  const capabilities = new Map<string, Units>();
  for (const [name, { count, attributes }] of firstByName(inventory.capabilities ?? [])) {
    capabilities.set(name, { total: count, taken: reserved.get(name) ?? 0, attributes });
  }
  // Whatever its share, a job that stands on a device keeps it from being given whole.
  const used = new Set((inventory.assignedJobs ?? []).map((a) => a.gpuIndex));
  return {
    place,
    eligible,
    reachable: inventory.reachable ?? false,
    cordoned: inventory.cordoned ?? false,
    capacity: known(
      Amount.product(inventory.totalCapacity, inventory.utilizationCap),
      inventory.reservedCapacity,
    ),
    cores: known(Amount.of(inventory.totalCores ?? 0), inventory.reservedCores),
    capabilities,
    devices: [...(inventory.gpus ?? [])]
      .sort((a, b) => a.index - b.index)
      .map((gpu) => deviceOf(gpu, used.has(gpu.index))),
    services: new Set((inventory.assignedJobs ?? []).map((a) => a.jobId).filter((id) => serviceIds.has(id))),
  };
}

function deviceOf(gpu: GpuResource, used: boolean): Device {
  return {
    index: gpu.index,
    model: gpu.model ?? '',
    total: Amount.of(gpu.totalCapacity),
    reserved: Amount.of(gpu.reservedCapacity ?? 0),
    shared: used || (gpu.reservedCapacity ?? 0) > 0,
    exclusive: gpu.exclusivelyReserved ?? false,
  };
}

const ONE = Amount.of(1);

/**
 * An accelerator of the map is one device of capacity 1, of which a job may have a share.
 * Those in use come first; they are nobody else's, and need not be listed.
 */
function slotState(slot: SlotCandidate): NodeState {
  const { place, accelerator, freeAccelerators } = slot;
  const total = accelerator?.count ?? 0;
  const inUse = total - freeAccelerators;
  return {
    place,
    eligible: slot.eligible,
    // The agent of the cluster counted it, and lists a cordoned node's accelerators as unavailable.
    reachable: true,
    cordoned: false,
    capacity: { limit: unlessUnknown(slot.totalCapacity), taken: NOTHING, takenKnown: slot.idle },
    cores: { limit: unlessUnknown(slot.totalCores), taken: NOTHING, takenKnown: slot.idle },
    capabilities:
      accelerator === undefined
        ? new Map()
        : new Map([[MAP_ACCELERATOR, { total, taken: inUse, attributes: accelerator.attributes }]]),
    devices: Array.from({ length: Math.min(freeAccelerators, MAX_DEVICES) }, (_, i) => ({
      index: inUse + i,
      model: place.acceleratorModels[0] ?? '',
      total: ONE,
      reserved: NOTHING,
      shared: false,
      exclusive: false,
    })),
    // The map names no service.
    services: new Set(),
  };
}

function known(limit: Amount, taken: number | undefined): Stock {
  return { limit, taken: Amount.of(taken ?? 0), takenKnown: true };
}

function unlessUnknown(limit: number | undefined): Amount | undefined {
  return limit === undefined ? undefined : Amount.of(limit);
}
