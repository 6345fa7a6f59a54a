/** Whether the accelerators of a node are offered in shares, which the map withholds: it counts whole devices. */
import { migInstances } from './accelerators.ts';
import type { NodeFacts } from './facts.ts';
import { countLabelOf, firstLabel } from './platform.ts';

export type Sharing =
  | { readonly kind: 'whole' }
  /** Nothing says so, and nothing that would say so is there yet. */
  | { readonly kind: 'unsaid' }
  /** Every device may be in several hands. */
  | { readonly kind: 'shared'; readonly devices: number | undefined }
  /** Some devices are cut into instances; the others are offered whole. */
  | { readonly kind: 'partly-cut'; readonly devices: number | undefined };

/**
 * @param resource that counts the node's devices
 * @param known devices of the instance type, where a table or a setting says
 */
export function sharingOf(node: NodeFacts, resource: string, known: number | undefined): Sharing {
  const { labels, capacity } = node;
  const offered = capacity[resource] ?? 0;
  const labelled = countLabelOf(labels);
  const devices = labelled ?? known;

  if (node.hamiDevices !== undefined) return { kind: 'shared', devices: node.hamiDevices };
  if (resource === 'nvidia.com/gpu') {
    const product = labels['nvidia.com/gpu.product'] ?? '';
    if (product.includes('-MIG-') && labels['nvidia.com/mig.strategy'] === 'single')
      return { kind: 'shared', devices: known };
    if (migInstances(capacity) > 0) {
      const count = devices ?? (offered > 0 ? offered : undefined);
      // Whole devices and their instances offered at once, by mistake: nothing there is safe to take.
      return { kind: count !== undefined && offered >= count ? 'shared' : 'partly-cut', devices: count };
    }
    const strategy = labels['nvidia.com/gpu.sharing-strategy'];
    if (
      strategy === 'time-slicing' ||
      strategy === 'mps' ||
      product.endsWith('-SHARED') ||
      labels['nvidia.com/mps.capable'] === 'true' ||
      Number(labels['nvidia.com/gpu.replicas'] ?? 1) > 1 ||
      (capacity['nvidia.com/gpu.shared'] ?? 0) > 0
    )
      return { kind: 'shared', devices };
    if (labels['nvidia.com/vgpu.present'] === 'true' || product.startsWith('GRID-'))
      return { kind: 'shared', devices };
    if (firstLabel(labels, 'cloud.google.com/gke-gpu-partition-size') !== undefined)
      return { kind: 'shared', devices: known };
    if (firstLabel(labels, 'cloud.google.com/gke-gpu-sharing-strategy') !== undefined) {
      const clients = Number(
        firstLabel(labels, 'cloud.google.com/gke-max-shared-clients-per-gpu') ?? Number.NaN,
      );
      return { kind: 'shared', devices: known ?? (clients >= 1 ? Math.floor(offered / clients) : undefined) };
    }
  }
  if (devices !== undefined && offered > devices) return { kind: 'shared', devices };
  return { kind: labelled === undefined ? 'unsaid' : 'whole' };
}
