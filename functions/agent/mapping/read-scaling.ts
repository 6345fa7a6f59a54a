/** What is kept of the objects that make nodes: Karpenter's, OpenShift's, Cluster API's, the cluster autoscaler's status. */
import { parse } from 'yaml';
import type { CloudGroupFacts, MachineAutoscalerFacts, MachineFacts, NodeGroupFacts } from './facts.ts';
import { at, list, member, members, text, texts, whole } from './json.ts';
import { devicesOf } from './quantity.ts';
import { readTaints } from './read-node.ts';

/** A NodePool of Karpenter. @param accelerators names of whole-device resources, which a limit may be set on */
export function readNodePool(object: unknown, accelerators: readonly string[]): NodeGroupFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const limits = members(at(object, 'spec', 'limits'));
  const limited = accelerators.filter((resource) => Object.hasOwn(limits, resource));
  const replicas = whole(at(object, 'spec', 'replicas'));
  const nodes = limits.nodes === undefined ? undefined : devicesOf(limits.nodes);
  return {
    source: 'nodepool',
    namespace: '',
    name,
    autoscaling: replicas === undefined,
    min: replicas ?? 0,
    max: replicas ?? nodes,
    // Limits on two kinds of accelerators are two bounds, and the map has one.
    maxAccelerators: limited.length === 1 ? devicesOf(limits[limited[0] ?? '']) : undefined,
    startupTaints: readTaints(at(object, 'spec', 'template', 'spec', 'startupTaints')),
  };
}

export function readNodeClaim(object: unknown): MachineFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const labels = texts(at(object, 'metadata', 'labels'));
  return {
    namespace: '',
    name,
    group: labels['karpenter.sh/nodepool'],
    registered: hasCondition(object, 'Registered'),
    deleting: text(at(object, 'metadata', 'deletionTimestamp')) !== undefined,
    labels,
  };
}

function hasCondition(object: unknown, type: string): boolean {
  return list(at(object, 'status', 'conditions')).some(
    (condition) => member(condition, 'type') === type && member(condition, 'status') === 'True',
  );
}

const BOUNDS = ['cluster.x-k8s.io', 'machine.openshift.io'].map((group) => ({
  min: `${group}/cluster-api-autoscaler-node-group-min-size`,
  max: `${group}/cluster-api-autoscaler-node-group-max-size`,
}));

/** A MachineSet or MachineDeployment, whose annotations tell the cluster autoscaler its bounds. */
export function readMachineGroup(
  source: 'machineset' | 'machinedeployment',
  object: unknown,
): NodeGroupFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const annotations = at(object, 'metadata', 'annotations');
  const bounds = BOUNDS.map(({ min, max }) => ({
    min: whole(member(annotations, min)),
    max: whole(member(annotations, max)),
  })).find((each) => each.min !== undefined || each.max !== undefined);
  return {
    source,
    namespace: text(at(object, 'metadata', 'namespace')) ?? '',
    name,
    autoscaling: bounds !== undefined,
    min: bounds?.min,
    max: bounds?.max,
    maxAccelerators: undefined,
    startupTaints: [],
  };
}

/** A Machine of OpenShift or Cluster API. */
export function readMachine(object: unknown): MachineFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const labels = texts(at(object, 'metadata', 'labels'));
  return {
    namespace: text(at(object, 'metadata', 'namespace')) ?? '',
    name,
    group:
      labels['machine.openshift.io/cluster-api-machineset'] ??
      labels['cluster.x-k8s.io/deployment-name'] ??
      labels['cluster.x-k8s.io/set-name'],
    registered: text(at(object, 'status', 'nodeRef', 'name')) !== undefined,
    deleting: text(at(object, 'metadata', 'deletionTimestamp')) !== undefined,
    labels,
  };
}

export function readMachineAutoscaler(object: unknown): MachineAutoscalerFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  const machineSet = text(at(object, 'spec', 'scaleTargetRef', 'name'));
  if (name === undefined || machineSet === undefined) return undefined;
  return {
    namespace: text(at(object, 'metadata', 'namespace')) ?? '',
    name,
    machineSet,
    min: whole(at(object, 'spec', 'minReplicas')),
    max: whole(at(object, 'spec', 'maxReplicas')),
  };
}

/** Longer statuses are of more groups than a cloud allows a cluster. */
const MAX_STATUS_CHARS = 2_000_000;

/**
 * The ConfigMap `cluster-autoscaler-status`, in the form of current versions. The free text
 * of old ones says nothing here.
 */
export function readAutoscalerStatus(object: unknown): readonly CloudGroupFacts[] {
  const status = text(at(object, 'data', 'status'));
  if (status === undefined || status.length > MAX_STATUS_CHARS) return [];
  let parsed: unknown;
  try {
    parsed = parse(status, { maxAliasCount: 0, logLevel: 'silent' });
  } catch {
    return [];
  }
  return list(member(parsed, 'nodeGroups')).flatMap((group) => {
    const name = text(member(group, 'name'));
    const [min, max] = [whole(at(group, 'health', 'minSize')), whole(at(group, 'health', 'maxSize'))];
    if (name === undefined || min === undefined || max === undefined || min > max) return [];
    return [{ name, min, max, target: whole(at(group, 'health', 'cloudProviderTarget')) }];
  });
}
