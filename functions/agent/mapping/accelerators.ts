/** Which resources of a node are accelerators, and which are shares of one. */
import type { Counts } from './facts.ts';

/** Resources that count whole devices, each a kind of its own; never to be added up. */
export const WHOLE_DEVICE_RESOURCES: readonly string[] = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'google.com/tpu',
  'aws.amazon.com/neuron',
  'gpu.intel.com/i915',
  'alibabacloud.com/gpu-count',
];

/** DRA drivers whose devices are accelerators. */
export const ACCELERATOR_DRIVERS: ReadonlySet<string> = new Set([
  'gpu.nvidia.com',
  'gpu.amd.com',
  'gaudi.intel.com',
  'gpu.intel.com',
]);

/** The resource that device plugins of the same vendor offer, by DRA driver. */
export const RESOURCE_OF_DRIVER: ReadonlyMap<string, string> = new Map([
  ['gpu.nvidia.com', 'nvidia.com/gpu'],
  ['gpu.amd.com', 'amd.com/gpu'],
  ['gaudi.intel.com', 'habana.ai/gaudi'],
  ['gpu.intel.com', 'gpu.intel.com/i915'],
]);

/** What a pod has of one kind of accelerator. */
export interface Holding {
  /** Devices that are its own. */
  readonly whole: number;
  /** Devices that shares of it may lie on, at most: no API says on which they do. */
  readonly shared: number;
}

/** Reads what a pod that requests these resources has of an accelerator. */
export function holdingOf(resource: string, requests: Counts): Holding {
  const whole = requests[resource] ?? 0;
  if (resource === 'nvidia.com/gpu')
    return { whole, shared: migInstances(requests) + (requests['nvidia.com/gpu.shared'] ?? 0) };
  const synonyms =
    resource === 'aws.amazon.com/neuron'
      ? Math.max(requests['aws.amazon.com/neuroncore'] ?? 0, requests['aws.amazon.com/neurondevice'] ?? 0)
      : resource === 'alibabacloud.com/gpu-count'
        ? Math.ceil((requests['alibabacloud.com/gpu-milli'] ?? 0) / 1_000)
        : 0;
  // One chip under several names at once is one chip.
  return { whole, shared: Math.max(0, synonyms - whole) };
}

const MIG_PREFIX = 'nvidia.com/mig-';

/** MIG instances among these resources, of every profile. */
export function migInstances(counts: Counts): number {
  let instances = 0;
  for (const [name, count] of Object.entries(counts)) if (name.startsWith(MIG_PREFIX)) instances += count;
  return instances;
}
