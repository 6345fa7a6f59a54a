/** The kinds of objects that a snapshot is made of: where they are served, and what is kept of each. */
import type {
  AutoscalerFacts,
  ClaimFacts,
  CloudGroupFacts,
  DeviceClassFacts,
  DeviceTaintRuleFacts,
  MachineAutoscalerFacts,
  MachineFacts,
  NodeFacts,
  NodeGroupFacts,
  PodFacts,
  SliceFacts,
  WorkloadFacts,
} from '../mapping/facts.ts';
import { readClaim, readDeviceClass, readDeviceTaintRule, readSlice } from '../mapping/read-dra.ts';
import { readNode } from '../mapping/read-node.ts';
import { readPod } from '../mapping/read-pod.ts';
import {
  readAutoscalerStatus,
  readMachine,
  readMachineAutoscaler,
  readMachineGroup,
  readNodeClaim,
  readNodePool,
} from '../mapping/read-scaling.ts';
import { readHorizontalPodAutoscaler, readWorkload } from '../mapping/read-workload.ts';
import type { AgentSettings } from '../mapping/settings.ts';

export interface WatchedKind<T> {
  /** Lower case plural, as in RBAC rules. */
  readonly resource: string;
  /** Empty for the core group. */
  readonly group: string;
  /** Best first; a server that has none of them does not have the kind. */
  readonly versions: readonly string[];
  /** Without it there is no snapshot. */
  readonly required: boolean;
  /** Only this object, in this namespace. */
  readonly single?: { readonly namespace: string; readonly name: string };
  /** What is kept; nothing for an object that counts for free. */
  read(object: unknown, before: T | undefined): T | undefined;
}

export interface Kinds {
  readonly nodes: WatchedKind<NodeFacts>;
  readonly pods: WatchedKind<PodFacts>;
  readonly slices: WatchedKind<SliceFacts>;
  readonly claims: WatchedKind<ClaimFacts>;
  readonly deviceClasses: WatchedKind<DeviceClassFacts>;
  readonly deviceTaintRules: WatchedKind<DeviceTaintRuleFacts>;
  readonly workloads: readonly WatchedKind<WorkloadFacts>[];
  readonly autoscalers: WatchedKind<AutoscalerFacts>;
  readonly nodeGroups: readonly WatchedKind<NodeGroupFacts>[];
  readonly machines: readonly WatchedKind<MachineFacts>[];
  readonly machineAutoscalers: WatchedKind<MachineAutoscalerFacts>;
  readonly cloudGroups: WatchedKind<readonly CloudGroupFacts[]>;
}

const DRA = { group: 'resource.k8s.io', versions: ['v1', 'v1beta2', 'v1beta1'], required: false };

export function kindsOf(settings: AgentSettings): Kinds {
  const { labelPrefix, acceleratorResources, recogniseJobs } = settings;
  const workload = (
    kind: string,
    resource: string,
    group: string,
    ...versions: readonly string[]
  ): readonly WatchedKind<WorkloadFacts>[] =>
    recogniseJobs.some((source) => source === kind)
      ? [{ resource, group, versions, required: false, read: (object) => readWorkload(kind, object) }]
      : [];
  return {
    nodes: { resource: 'nodes', group: '', versions: ['v1'], required: true, read: readNode },
    pods: {
      resource: 'pods',
      group: '',
      versions: ['v1'],
      required: true,
      read: (object, before) => readPod(object, { labelPrefix, before }),
    },
    slices: { resource: 'resourceslices', ...DRA, read: readSlice },
    claims: { resource: 'resourceclaims', ...DRA, read: readClaim },
    deviceClasses: { resource: 'deviceclasses', ...DRA, read: readDeviceClass },
    deviceTaintRules: {
      resource: 'devicetaintrules',
      group: 'resource.k8s.io',
      versions: ['v1', 'v1beta2', 'v1alpha3'],
      required: false,
      read: readDeviceTaintRule,
    },
    workloads: [
      ...workload('deployment', 'deployments', 'apps', 'v1'),
      ...workload('statefulset', 'statefulsets', 'apps', 'v1'),
      ...workload('job', 'jobs', 'batch', 'v1'),
      ...workload('leaderworkerset', 'leaderworkersets', 'leaderworkerset.x-k8s.io', 'v1'),
      ...workload('jobset', 'jobsets', 'jobset.x-k8s.io', 'v1', 'v1alpha2'),
      ...workload('pytorchjob', 'pytorchjobs', 'kubeflow.org', 'v1'),
      ...workload('raycluster', 'rayclusters', 'ray.io', 'v1', 'v1alpha1'),
    ],
    autoscalers: {
      resource: 'horizontalpodautoscalers',
      group: 'autoscaling',
      versions: ['v2'],
      required: false,
      read: readHorizontalPodAutoscaler,
    },
    nodeGroups: [
      {
        resource: 'nodepools',
        group: 'karpenter.sh',
        versions: ['v1', 'v1beta1'],
        required: false,
        read: (object) => readNodePool(object, acceleratorResources),
      },
      {
        resource: 'machinesets',
        group: 'machine.openshift.io',
        versions: ['v1beta1'],
        required: false,
        read: (object) => readMachineGroup('machineset', object),
      },
      {
        resource: 'machinedeployments',
        group: 'cluster.x-k8s.io',
        versions: ['v1beta2', 'v1beta1'],
        required: false,
        read: (object) => readMachineGroup('machinedeployment', object),
      },
    ],
    machines: [
      {
        resource: 'nodeclaims',
        group: 'karpenter.sh',
        versions: ['v1', 'v1beta1'],
        required: false,
        read: readNodeClaim,
      },
      {
        resource: 'machines',
        group: 'machine.openshift.io',
        versions: ['v1beta1'],
        required: false,
        read: readMachine,
      },
      {
        resource: 'machines',
        group: 'cluster.x-k8s.io',
        versions: ['v1beta2', 'v1beta1'],
        required: false,
        read: readMachine,
      },
    ],
    machineAutoscalers: {
      resource: 'machineautoscalers',
      group: 'autoscaling.openshift.io',
      versions: ['v1beta1'],
      required: false,
      read: readMachineAutoscaler,
    },
    cloudGroups: {
      resource: 'configmaps',
      group: '',
      versions: ['v1'],
      required: false,
      single: { namespace: 'kube-system', name: 'cluster-autoscaler-status' },
      read: readAutoscalerStatus,
    },
  };
}

/** The path of a kind's list, for one of its versions. */
export function listPath(
  { group, resource, single }: Pick<WatchedKind<unknown>, 'group' | 'resource' | 'single'>,
  version: string,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return single === undefined ? `${root}/${resource}` : `${root}/namespaces/${single.namespace}/${resource}`;
}
