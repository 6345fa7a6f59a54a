/** From the objects of an API server, or of a file, to the facts of a cluster. */
import type { ClusterFacts, MachineFacts } from './facts.ts';
import { list, member, text } from './json.ts';
import { readClaim, readDeviceClass, readDeviceTaintRule, readSlice } from './read-dra.ts';
import { readNode } from './read-node.ts';
import { readPod } from './read-pod.ts';
import {
  readAutoscalerStatus,
  readMachine,
  readMachineAutoscaler,
  readMachineGroup,
  readNodeClaim,
  readNodePool,
} from './read-scaling.ts';
import { readHorizontalPodAutoscaler, readWorkload } from './read-workload.ts';
import type { AgentSettings } from './settings.ts';

/** What a dump of objects, as `kubectl get … -o json` writes them, says of a cluster. */
export interface DumpReading {
  readonly facts: ClusterFacts;
  /** Kinds that no snapshot is made of, with how many of each there are. */
  readonly unused: ReadonlyMap<string, number>;
}

/** Reads objects and lists of them, in any order and at any depth of lists. */
export function readDump(documents: readonly unknown[], settings: AgentSettings): DumpReading {
  const lists = {
    nodes: [] as ClusterFacts['nodes'][number][],
    pods: [] as ClusterFacts['pods'][number][],
    slices: [] as ClusterFacts['slices'][number][],
    claims: [] as ClusterFacts['claims'][number][],
    deviceClasses: [] as ClusterFacts['deviceClasses'][number][],
    deviceTaintRules: [] as ClusterFacts['deviceTaintRules'][number][],
    workloads: [] as ClusterFacts['workloads'][number][],
    autoscalers: [] as ClusterFacts['autoscalers'][number][],
    nodeGroups: [] as ClusterFacts['nodeGroups'][number][],
    machineAutoscalers: [] as ClusterFacts['machineAutoscalers'][number][],
    cloudGroups: [] as ClusterFacts['cloudGroups'][number][],
  };
  let machines: MachineFacts[] | undefined;
  let clusterUid: string | undefined;
  const unused = new Map<string, number>();
  const add = <T>(to: T[], fact: T | undefined) => {
    if (fact !== undefined) to.push(fact);
  };
  const addMachine = (fact: MachineFacts | undefined) => {
    machines ??= [];
    add(machines, fact);
  };

  const readObject = (object: unknown, kind: string) => {
    switch (kind) {
      case 'Node':
        return add(lists.nodes, readNode(object));
      case 'Pod':
        return add(lists.pods, readPod(object, { labelPrefix: settings.labelPrefix }));
      case 'ResourceSlice':
        return add(lists.slices, readSlice(object));
      case 'ResourceClaim':
        return add(lists.claims, readClaim(object));
      case 'DeviceClass':
        return add(lists.deviceClasses, readDeviceClass(object));
      case 'DeviceTaintRule':
        return add(lists.deviceTaintRules, readDeviceTaintRule(object));
      case 'Deployment':
      case 'StatefulSet':
      case 'Job':
      case 'LeaderWorkerSet':
      case 'JobSet':
      case 'PyTorchJob':
      case 'RayCluster':
        return add(lists.workloads, readWorkload(kind.toLowerCase(), object));
      case 'HorizontalPodAutoscaler':
        return add(lists.autoscalers, readHorizontalPodAutoscaler(object));
      case 'NodePool':
        return add(lists.nodeGroups, readNodePool(object, settings.acceleratorResources));
      case 'MachineSet':
        return add(lists.nodeGroups, readMachineGroup('machineset', object));
      case 'MachineDeployment':
        return add(lists.nodeGroups, readMachineGroup('machinedeployment', object));
      case 'NodeClaim':
        return addMachine(readNodeClaim(object));
      case 'Machine':
        return addMachine(readMachine(object));
      case 'MachineAutoscaler':
        return add(lists.machineAutoscalers, readMachineAutoscaler(object));
      case 'ConfigMap':
        lists.cloudGroups.push(...readAutoscalerStatus(object));
        return undefined;
      case 'Namespace':
        if (text(member(member(object, 'metadata'), 'name')) === 'kube-system')
          clusterUid = text(member(member(object, 'metadata'), 'uid'));
        return undefined;
      default:
        unused.set(kind, (unused.get(kind) ?? 0) + 1);
        return undefined;
    }
  };

  const readAny = (document: unknown, inherited: string | undefined) => {
    const kind = text(member(document, 'kind')) ?? inherited;
    const items = member(document, 'items');
    if (!Array.isArray(items)) {
      readObject(document, kind ?? '(no kind)');
      return;
    }
    // Items of a list that a server sent have no kind of their own: the list's says it.
    const ofItems = kind === undefined || kind === 'List' ? undefined : kind.replace(/List$/, '');
    for (const item of list(items)) readAny(item, ofItems);
  };
  for (const document of documents) {
    if (Array.isArray(document)) for (const item of document) readAny(item, undefined);
    else readAny(document, undefined);
  }
  const facts: ClusterFacts = { ...lists, machines, apiKinds: [], serverVersion: undefined, clusterUid };
  return { facts, unused };
}
