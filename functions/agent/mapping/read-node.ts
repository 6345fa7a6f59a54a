/** What is kept of a Node. */
import type { Counts, NodeFacts, Readiness, Taint } from './facts.ts';
import { at, isTrue, list, member, members, text, texts } from './json.ts';
import { devicesOf } from './quantity.ts';

/** @returns nothing for an object without a name */
export function readNode(object: unknown): NodeFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const annotations = at(object, 'metadata', 'annotations');
  const machineNamespace = text(member(annotations, 'cluster.x-k8s.io/cluster-namespace'));
  const clusterApiMachine = text(member(annotations, 'cluster.x-k8s.io/machine'));
  return {
    name,
    labels: texts(at(object, 'metadata', 'labels')),
    providerId: text(at(object, 'spec', 'providerID')) ?? '',
    unschedulable: isTrue(at(object, 'spec', 'unschedulable')),
    deleting: text(at(object, 'metadata', 'deletionTimestamp')) !== undefined,
    readiness: readiness(at(object, 'status', 'conditions')),
    taints: readTaints(at(object, 'spec', 'taints')),
    capacity: extendedResources(at(object, 'status', 'capacity')),
    allocatable: extendedResources(at(object, 'status', 'allocatable')),
    kubeletVersion: text(at(object, 'status', 'nodeInfo', 'kubeletVersion')),
    machine:
      text(member(annotations, 'machine.openshift.io/machine')) ??
      (clusterApiMachine === undefined ? undefined : `${machineNamespace ?? ''}/${clusterApiMachine}`),
    machineOwner: text(member(annotations, 'cluster.x-k8s.io/owner-name')),
    hamiDevices: hamiDevices(text(member(annotations, 'hami.io/node-nvidia-register'))),
  };
}

/** Names with a slash; those of cpu, memory, pods and hugepages have none. Volume limits count no devices. */
function extendedResources(value: unknown): Counts {
  const out: Record<string, number> = {};
  for (const [name, quantity] of Object.entries(members(value))) {
    if (name.includes('/')) out[name] = devicesOf(quantity);
  }
  return out;
}

function readiness(conditions: unknown): Readiness {
  for (const condition of list(conditions)) {
    if (member(condition, 'type') !== 'Ready') continue;
    const status = member(condition, 'status');
    if (isTrue(status) || status === 'True') return 'ready';
    return status === 'Unknown' ? 'unknown' : 'not-ready';
  }
  return 'unreported';
}

export function readTaints(value: unknown): readonly Taint[] {
  return list(value).flatMap((taint) => {
    const key = text(member(taint, 'key'));
    if (key === undefined) return [];
    return [{ key, value: text(member(taint, 'value')) ?? '', effect: text(member(taint, 'effect')) ?? '' }];
  });
}

/** HAMi writes a JSON array of devices, and wrote `id,…:id,…:` before. */
function hamiDevices(register: string | undefined): number | undefined {
  if (register === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(register);
    return Array.isArray(parsed) ? parsed.length : undefined;
  } catch {
    return register.split(':').filter((device) => device.includes(',')).length;
  }
}
