/** Whether a node takes new work, by the rules of the scheduler and the fences that its work is known to pass. */
import type { NodeFacts, Taint, Toleration } from './facts.ts';

/** Fences of accelerator pools, which work that is meant for accelerators tolerates. */
export const DEFAULT_TOLERATIONS: readonly Toleration[] = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'google.com/tpu',
  'aws.amazon.com/neuron',
  'kubernetes.azure.com/scalesetpriority',
  'cloud.google.com/gke-queued',
  'cloud.google.com/gke-provisioning',
  'cloud.google.com/gke-spot',
  'cloud.google.com/gke-preemptible',
  'cloud.google.com/gke-flex-start',
  'cloud.google.com/compute-class',
  'eks.amazonaws.com/compute-type',
]
  .map((key): Toleration => ({ key, operator: 'Exists' }))
  .concat([{ key: 'sku', operator: 'Equal', value: 'gpu' }]);

/** Taints that no toleration of ordinary work makes harmless: the node is not there yet, or goes away. */
const NEVER_TOLERATED: ReadonlySet<string> = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/unregistered',
  'cloud.google.com/impending-node-termination',
]);

/**
 * Why a node takes no new work, or nothing where it does.
 *
 * @param tolerations that the work which is placed by the map carries
 * @param startupTaints that a pool's nodes have until they are set up
 */
export function closedReason(
  node: NodeFacts,
  tolerations: readonly Toleration[],
  startupTaints: readonly Taint[],
): string | undefined {
  if (node.deleting) return 'deleting';
  if (node.unschedulable) return 'cordoned';
  if (node.readiness === 'not-ready' || node.readiness === 'unknown') return 'not ready';
  for (const taint of node.taints) {
    if (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute') continue;
    const starting = startupTaints.some((each) => each.key === taint.key && each.effect === taint.effect);
    if (starting || NEVER_TOLERATED.has(taint.key) || taint.key.startsWith('aws-node-termination-handler/'))
      return `tainted ${taint.key}`;
    if (!tolerations.some((toleration) => tolerates(toleration, taint))) return `tainted ${taint.key}`;
  }
  return undefined;
}

/** Kubernetes' own rule. */
export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false;
  const everyKey = key === undefined || key === '';
  if (everyKey) return operator === 'Exists';
  if (key !== taint.key) return false;
  return operator === 'Exists' || (value ?? '') === taint.value;
}
