/** What a job takes from a node, and what several jobs take together. */
import { Amount, NOTHING, sumOf } from './amounts.ts';
import { WHOLE_DEVICE_CAPABILITIES } from './capabilities.ts';
import type { DeviceNeed } from './devices.ts';
import type { CapabilityRequirement, JobRequirements } from './model.ts';

/** The needs of one job, or of jobs that share a node. */
export interface Needs {
  readonly capacity: Amount;
  readonly cores: Amount;
  /** Each must be met by the node's entry of that name: presence, attributes, and its own count. */
  readonly capabilities: readonly CapabilityRequirement[];
  /** Units of each capability that are taken in all. */
  readonly units: ReadonlyMap<string, number>;
  readonly devices: readonly DeviceNeed[];
}

export const NO_NEEDS: Needs = {
  capacity: NOTHING,
  cores: NOTHING,
  capabilities: [],
  units: new Map(),
  devices: [],
};

/**
 * The needs of one job. A need that is not above 0 takes nothing: a negative one must not
 * make room for others.
 *
 * @param job whatever identifies the job in {@link DeviceNeed}
 */
export function needsOf(requirements: JobRequirements | undefined, job: number): Needs {
  if (requirements === undefined) return NO_NEEDS;
  const capabilities = requirements.requiredCapabilities ?? [];
  const units = new Map<string, number>();
  for (const { name, count } of capabilities) units.set(name, (units.get(name) ?? 0) + positive(count));
  return {
    capacity: Amount.of(positive(requirements.requiredCapacity)),
    cores: Amount.of(positive(requirements.requiredCores)),
    capabilities,
    units,
    devices: devicesOf(requirements, units, job),
  };
}

/** The needs of all of them at once. */
export function together(needs: readonly Needs[]): Needs {
  const [only] = needs;
  if (needs.length === 1 && only !== undefined) return only;
  const units = new Map<string, number>();
  for (const one of needs) {
    for (const [name, count] of one.units) units.set(name, (units.get(name) ?? 0) + count);
  }
  return {
    capacity: sumOf(needs.map((n) => n.capacity)),
    cores: sumOf(needs.map((n) => n.cores)),
    capabilities: needs.flatMap((n) => n.capabilities),
    units,
    devices: needs.flatMap((n) => n.devices),
  };
}

/** Equal for needs that are interchangeable, whatever jobs they belong to. */
export function needsKey(needs: Needs): string {
  return JSON.stringify([
    needs.capacity,
    needs.cores,
    needs.capabilities.map((c) => [c.name, c.count, Object.entries(c.attributeMatches ?? {}).sort()]),
    needs.devices.map(({ job: _, ...device }) => device),
  ]);
}

/** A whole device is taken instead of a share: a job that asks for both gets the device, if it is large enough. */
function devicesOf(
  requirements: JobRequirements,
  units: ReadonlyMap<string, number>,
  job: number,
): readonly DeviceNeed[] {
  const share = Amount.of(positive(requirements.requiredGpuCapacity));
  const model = requirements.requiredGpuModel ?? '';
  const whole = [...units]
    .filter(([name]) => WHOLE_DEVICE_CAPABILITIES.has(name))
    .reduce((sum, [, count]) => sum + count, 0);
  if (whole > 0) return [{ kind: 'whole', job, count: whole, atLeast: share, model }];
  // A model without an amount still asks for a device of that model.
  return share.isPositive || model !== '' ? [{ kind: 'share', job, amount: share, model }] : [];
}

function positive(amount: number | undefined): number {
  return amount !== undefined && amount > 0 ? amount : 0;
}
