/** A node profile as an empty node, so that validation and planning ask the same question of it. */

import { boundedBy, WorkBudget } from '../work.ts';
import { Amount, NOTHING } from './amounts.ts';
import { firstByName, MAP_ACCELERATOR, WHOLE_DEVICE_CAPABILITIES } from './capabilities.ts';
import type { Device } from './devices.ts';
import { MAX_DEVICES, MAX_PROFILE_STEPS, MAX_PROFILE_STEPS_IN_ALL } from './limits.ts';
import type { NodeProfile } from './model.ts';
import type { Needs } from './needs.ts';
import type { NodeState } from './node.ts';
import { holdsAll } from './node.ts';

/** The bound on a question of which profiles may hold what. */
export function profileBudget(): WorkBudget {
  return new WorkBudget(MAX_PROFILE_STEPS_IN_ALL);
}

const NOWHERE = {
  clusterId: '',
  provider: '',
  region: '',
  zone: '',
  poolId: '',
  nodeTypeId: '',
  instanceType: '',
  acceleratorModels: [],
};

/** A new node of the profile. */
export function emptyNode(profile: NodeProfile): NodeState {
  const capabilities = firstByName(profile.capabilities ?? []);
  return {
    place: NOWHERE,
    eligible: true,
    reachable: true,
    cordoned: false,
    capacity: { limit: amount(profile.totalCapacity), taken: NOTHING, takenKnown: true },
    cores: { limit: amount(profile.totalCores), taken: NOTHING, takenKnown: true },
    capabilities: new Map(
      [...capabilities].map(([name, { count, attributes }]) => [
        name,
        { total: count, taken: 0, attributes },
      ]),
    ),
    devices: devicesOf(profile),
    services: new Set(),
  };
}

/** Whether a new node may hold all of the needs at once. Unknown amounts may be enough, and so may what there was no time to look at. */
export function mayHold(node: NodeState, needs: Needs, budget: WorkBudget): boolean {
  const response = boundedBy(() => {
    budget.spend(1 + needs.capabilities.length);
    return holdsAll(node, needs, new WorkBudget(MAX_PROFILE_STEPS, budget));
  });
  return response === 'exhausted' || response;
}

/** The listed devices, or else those that stand behind the accelerator capabilities. */
function devicesOf(profile: NodeProfile): readonly Device[] {
  if (profile.gpus !== undefined && profile.gpus.length > 0) {
    return profile.gpus
      .slice(0, MAX_DEVICES)
      .map((gpu, index) => newDevice(index, gpu.model || undefined, Amount.of(gpu.totalCapacity)));
  }
  const devices: Device[] = [];
  for (const [name, { count, attributes }] of firstByName(profile.capabilities ?? [])) {
    if (!WHOLE_DEVICE_CAPABILITIES.has(name)) continue;
    const model = new Map(Object.entries(attributes ?? {})).get('model');
    // An accelerator of the map is one whole; how large others are the capability does not say.
    const total = name === MAP_ACCELERATOR ? Amount.of(1) : undefined;
    for (let i = 0; i < count && devices.length < MAX_DEVICES; i++) {
      devices.push(newDevice(devices.length, model, total));
    }
  }
  return devices;
}

/** What is negative or no number at all offers nothing; what is absent stays unknown. */
function amount(offered: number | undefined): Amount | undefined {
  if (offered === undefined) return undefined;
  return offered > 0 ? Amount.of(offered) : NOTHING;
}

function newDevice(index: number, model: string | undefined, total: Amount | undefined): Device {
  return { index, model, total, reserved: NOTHING, shared: false, exclusive: false };
}
