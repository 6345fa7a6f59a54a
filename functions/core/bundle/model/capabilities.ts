/** Capabilities: which entry of a list decides, and whether it has the attributes that are asked for. */
import type { Attributes, Capability } from './model.ts';

/** A whole device of NVIDIA's, for one job alone. */
export const NVIDIA_GPU = 'norsk.io/nvidia-gpu';

/** What an accelerator of the map is called. */
export const MAP_ACCELERATOR = 'resource-map/accelerator';

/** Capabilities whose units are the node's devices. */
export const WHOLE_DEVICE_CAPABILITIES: ReadonlySet<string> = new Set([NVIDIA_GPU, MAP_ACCELERATOR]);

/** By name. The first entry of a name decides; later ones of the same name are never looked at. */
export function firstByName(capabilities: readonly Capability[]): ReadonlyMap<string, Capability> {
  const first = new Map<string, Capability>();
  for (const capability of capabilities) {
    if (!first.has(capability.name)) first.set(capability.name, capability);
  }
  return first;
}

/** Whether every attribute that is asked for is there with the value that is asked for. */
export function hasAttributes(offered: Attributes | undefined, asked: Attributes | undefined): boolean {
  const wanted = Object.entries(asked ?? {});
  if (wanted.length === 0) return true;
  const there = new Map(Object.entries(offered ?? {}));
  return wanted.every(([name, value]) => there.get(name) === value);
}
