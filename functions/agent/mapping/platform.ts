/** What the labels of each platform say of a node. */

import { PurchaseModel } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { Labels, NodeFacts } from './facts.ts';
import { cleanText } from './ids.ts';

/** The first of these labels that says anything. */
export function firstLabel(labels: Labels, ...keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}

/** Labels that name the pool of a node, by platform. */
const POOL_LABELS = [
  'karpenter.sh/nodepool',
  'eks.amazonaws.com/nodegroup',
  'sagemaker.amazonaws.com/instance-group-name',
  'alpha.eksctl.io/nodegroup-name',
  'cloud.google.com/gke-nodepool',
  'kubernetes.azure.com/agentpool',
  'agentpool',
  'hypershift.openshift.io/nodePool',
  'kops.k8s.io/instancegroup',
  'vks.vmware.com/nodepool',
  'lke.linode.com/pool-id',
  'doks.digitalocean.com/node-pool',
];

/** The pool that a node's labels name, first by the label of the settings. */
export function poolLabelOf(labels: Labels, configured: string | undefined): string | undefined {
  return configured === undefined
    ? firstLabel(labels, ...POOL_LABELS)
    : firstLabel(labels, configured, ...POOL_LABELS);
}

/** Distributions that write their own name where a cloud writes a machine type. */
const NO_INSTANCE_TYPES: ReadonlySet<string> = new Set(['k3s', 'rke2', 'kubeadm', 'microk8s']);

/** The machine type as a cloud names it; nothing on machines of one's own. */
export function cloudInstanceType(labels: Labels): string | undefined {
  const type = firstLabel(labels, 'node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type');
  return type === undefined || NO_INSTANCE_TYPES.has(type) ? undefined : cleanText(type);
}

/** AKS writes 0 and -1 where a machine is in no zone. */
const NO_ZONES: ReadonlySet<string> = new Set(['0', '-1', '']);

export function zoneOf(labels: Labels): string {
  const zone =
    firstLabel(labels, 'topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone') ?? '';
  return NO_ZONES.has(zone) ? '' : cleanText(zone);
}

export function regionOf(labels: Labels): string | undefined {
  return firstLabel(labels, 'topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region');
}

/** The scheme of the node's provider id: `aws`, `gce`, `azure`, `oci`, `kind`. */
export function providerOf(node: NodeFacts): string | undefined {
  const end = node.providerId.indexOf('://');
  return end > 0 ? node.providerId.slice(0, end) : undefined;
}

/** How the node is paid for, as far as a label says. */
export function purchaseModelOf(labels: Labels): PurchaseModel {
  const is = (key: string, ...values: readonly string[]) =>
    Object.hasOwn(labels, key) && values.includes((labels[key] ?? '').toLowerCase());
  const has = (...keys: readonly string[]) => firstLabel(labels, ...keys) !== undefined;

  if (
    is('karpenter.sh/capacity-type', 'spot') ||
    is('eks.amazonaws.com/capacityType', 'spot') ||
    is('cloud.google.com/gke-spot', 'true') ||
    is('cloud.google.com/gke-preemptible', 'true') ||
    is('cloud.google.com/gke-provisioning', 'spot', 'preemptible') ||
    is('kubernetes.azure.com/scalesetpriority', 'spot')
  )
    return PurchaseModel.SPOT;
  if (is('cloud.google.com/gke-flex-start', 'true') || has('autoscaling.gke.io/provisioning-request'))
    return PurchaseModel.FLEX_START;
  if (
    is('karpenter.sh/capacity-type', 'reserved') ||
    is('eks.amazonaws.com/capacityType', 'capacity_block') ||
    has(
      'karpenter.k8s.aws/capacity-reservation-id',
      'topology.k8s.aws/capacity-block-id',
      'cloud.google.com/reservation-name',
      'oci.oraclecloud.com/host.capacity_reservation_id',
    )
  )
    return PurchaseModel.RESERVED;
  if (
    is('karpenter.sh/capacity-type', 'on-demand') ||
    is('eks.amazonaws.com/capacityType', 'on_demand') ||
    is('cloud.google.com/gke-provisioning', 'standard') ||
    is('kubernetes.azure.com/scalesetpriority', 'regular')
  )
    return PurchaseModel.ON_DEMAND;
  return PurchaseModel.UNSPECIFIED;
}

/** The part of a node type's id that a purchase model is. */
export function purchaseModelPart(model: PurchaseModel): string {
  switch (model) {
    case PurchaseModel.ON_DEMAND:
      return 'on-demand';
    case PurchaseModel.SPOT:
      return 'spot';
    case PurchaseModel.FLEX_START:
      return 'flex-start';
    case PurchaseModel.FIXED_ASSET:
      return 'fixed-asset';
    case PurchaseModel.RESERVED:
      return 'reserved';
    default:
      return '';
  }
}

/** The accelerator model that a label names, without what sharing adds to it. */
export function modelLabelOf(labels: Labels): string | undefined {
  const product = firstLabel(labels, 'nvidia.com/gpu.product');
  if (product !== undefined) return modelName(product.replace(/-MIG-.*$/, '').replace(/-SHARED$/, ''));
  const named = firstLabel(
    labels,
    'amd.com/gpu.product-name',
    'cloud.google.com/gke-accelerator',
    'cloud.google.com/gke-tpu-accelerator',
    'karpenter.k8s.aws/instance-gpu-name',
    'karpenter.k8s.aws/instance-accelerator-name',
    'alibabacloud.com/gpu-card-model',
  );
  if (named !== undefined) return modelName(named);
  const beta = 'beta.amd.com/gpu.product-name.';
  const older = Object.keys(labels)
    .filter((key) => key.startsWith(beta))
    .sort();
  return older[0] === undefined ? undefined : modelName(older[0].slice(beta.length));
}

/** DRA drivers write blanks where labels have dashes: one model is to have one name. */
export function modelName(raw: string): string {
  return cleanText(raw.trim().replace(/\s+/g, '-'));
}

/** Accelerators that a label counts; what GFD counts under MIG strategy `single` are instances. */
export function countLabelOf(labels: Labels): number | undefined {
  const keys = [
    ...(labels['nvidia.com/mig.strategy'] === 'single' &&
    (labels['nvidia.com/gpu.product'] ?? '').includes('-MIG-')
      ? []
      : ['nvidia.com/gpu.count']),
    'karpenter.k8s.aws/instance-gpu-count',
    'karpenter.k8s.aws/instance-accelerator-count',
    'cloud.google.com/gke-accelerator-count',
  ];
  const value = firstLabel(labels, ...keys);
  return value !== undefined && /^[1-9]\d{0,5}$/.test(value) ? Number(value) : undefined;
}
