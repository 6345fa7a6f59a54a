/**
 * What is kept of the objects of a cluster: only what a snapshot is made of. Whole pods would
 * be some 15 KB each, and carry environment variables, which are nobody's business here.
 */

/** Devices, or shares of devices, by resource name; none that is 0 in requests. */
export type Counts = Readonly<Record<string, number>>;
export type Labels = Readonly<Record<string, string>>;

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

/** A toleration as Kubernetes has it; an empty key with `Exists` tolerates everything. */
export interface Toleration {
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

/** The `Ready` condition; a node without one has not reported, and its taints decide. */
export type Readiness = 'ready' | 'not-ready' | 'unknown' | 'unreported';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Labels;
  readonly providerId: string;
  readonly unschedulable: boolean;
  readonly deleting: boolean;
  readonly readiness: Readiness;
  readonly taints: readonly Taint[];
  /** Extended resources only. A resource that is 0 is listed, one that is missing is not. */
  readonly capacity: Counts;
  readonly allocatable: Counts;
  readonly kubeletVersion: string | undefined;
  /** `namespace/name` or name of the machine that OpenShift or Cluster API made the node for. */
  readonly machine: string | undefined;
  /** The MachineSet or MachineDeployment that Cluster API names on the node. */
  readonly machineOwner: string | undefined;
  /** Physical devices that HAMi's device plugin registered. */
  readonly hamiDevices: number | undefined;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export interface Owner {
  readonly kind: string;
  readonly name: string;
}

/** One term of required node affinity: all of its expressions must match. */
export interface SelectorTerm {
  readonly expressions: readonly SelectorExpression[];
}

export interface SelectorExpression {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** Where an unbound pod may go. */
export interface PodPlacement {
  readonly nodeSelector: Labels;
  readonly terms: readonly SelectorTerm[];
  readonly tolerations: readonly Toleration[];
}

/** What runs in the container that has the devices. */
export interface ContainerFacts {
  readonly image: string;
  readonly digest: string | undefined;
  readonly tensor: number | undefined;
  readonly pipeline: number | undefined;
  readonly data: number | undefined;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdMs: number;
  readonly nodeName: string | undefined;
  readonly phase: PodPhase;
  readonly deleting: boolean;
  readonly ready: boolean;
  /** Was ready at some time since it was first seen. */
  readonly everReady: boolean;
  /** Why it is not scheduled or not ready, in one word of Kubernetes. */
  readonly reason: string | undefined;
  /** Effective requests of extended resources, as the scheduler counts them. */
  readonly requests: Counts;
  /** Names of the ResourceClaims that it uses. */
  readonly claims: readonly string[];
  /** The claim that was made for its requests of extended resources, where a DRA driver serves them. */
  readonly extendedResourceClaim: string | undefined;
  readonly owner: Owner | undefined;
  /** Only those that say what the pod belongs to. */
  readonly labels: Labels;
  readonly annotations: Labels;
  /** For a pod that has no node yet. */
  readonly placement: PodPlacement | undefined;
  readonly container: ContainerFacts | undefined;
}

export interface DeviceFacts {
  readonly name: string;
  readonly nodeName: string | undefined;
  readonly type: string | undefined;
  readonly product: string | undefined;
  readonly brand: string | undefined;
  readonly uuid: string | undefined;
  readonly parentUuid: string | undefined;
  readonly pciBusId: string | undefined;
  readonly partitionProfile: string | undefined;
  readonly healthy: boolean;
  readonly tainted: boolean;
  readonly rdma: boolean;
  readonly counterSets: readonly string[];
}

export interface SliceFacts {
  readonly name: string;
  readonly driver: string;
  readonly nodeName: string | undefined;
  readonly poolName: string;
  readonly generation: number;
  readonly sliceCount: number;
  readonly devices: readonly DeviceFacts[];
}

export interface AllocatedDevice {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess: boolean;
}

export interface ClaimRequest {
  readonly deviceClass: string;
  readonly count: number;
}

export interface ClaimFacts {
  readonly namespace: string;
  readonly name: string;
  readonly allocated: readonly AllocatedDevice[];
  /** Names of the pods that it is reserved for. */
  readonly reservedFor: readonly string[];
  readonly requests: readonly ClaimRequest[];
}

export interface DeviceClassFacts {
  readonly name: string;
  /** Drivers that its selectors name. */
  readonly drivers: readonly string[];
  readonly extendedResourceName: string | undefined;
}

/** An administrator's taint on devices. What is absent matches every device. */
export interface DeviceTaintRuleFacts {
  readonly name: string;
  readonly driver: string | undefined;
  readonly pool: string | undefined;
  readonly device: string | undefined;
}

/** The size of a workload, from its own object. */
export interface WorkloadFacts {
  /** Lower case: `deployment`, `leaderworkerset`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly desired: number | undefined;
  /** Pods of one chain: an indexed Job's completions, a LeaderWorkerSet's size. */
  readonly chainSize: number | undefined;
  /** Completion indexes that have succeeded, of a Job. */
  readonly succeeded: ReadonlySet<number>;
  /** By name of the part: a JobSet's replicated jobs, a RayCluster's groups. */
  readonly parts: ReadonlyMap<string, WorkloadPart>;
  /** Present for the Deployment of an operator that work on accelerators relies on. */
  readonly operator?: { readonly name: string; readonly version: string };
}

export interface WorkloadPart {
  readonly desired: number | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly chainSize: number | undefined;
}

export interface AutoscalerFacts {
  readonly namespace: string;
  readonly name: string;
  readonly targetKind: string;
  readonly targetName: string;
  readonly min: number;
  readonly max: number | undefined;
}

/** A group of nodes that something scales, from whichever object says so. */
export interface NodeGroupFacts {
  readonly source: 'nodepool' | 'machineset' | 'machinedeployment';
  readonly namespace: string;
  readonly name: string;
  readonly autoscaling: boolean;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly maxAccelerators: number | undefined;
  readonly startupTaints: readonly Taint[];
}

/** A machine that may not be a node yet: a NodeClaim or a Machine. */
export interface MachineFacts {
  readonly namespace: string;
  readonly name: string;
  /** The pool (NodePool or MachineSet) that it belongs to. */
  readonly group: string | undefined;
  readonly registered: boolean;
  readonly deleting: boolean;
  readonly labels: Labels;
}

/** The bounds that a MachineAutoscaler sets for a MachineSet. */
export interface MachineAutoscalerFacts {
  readonly namespace: string;
  readonly name: string;
  readonly machineSet: string;
  readonly min: number | undefined;
  readonly max: number | undefined;
}

/** One cloud group of the cluster autoscaler's status. */
export interface CloudGroupFacts {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly target: number | undefined;
}

export interface ApiKindFacts {
  readonly group: string;
  readonly kind: string;
  /** Best first. */
  readonly versions: readonly string[];
}

/** All that a snapshot is made of, cut from all stores at one moment. */
export interface ClusterFacts {
  readonly nodes: readonly NodeFacts[];
  readonly pods: readonly PodFacts[];
  readonly slices: readonly SliceFacts[];
  readonly claims: readonly ClaimFacts[];
  readonly deviceClasses: readonly DeviceClassFacts[];
  readonly deviceTaintRules: readonly DeviceTaintRuleFacts[];
  readonly workloads: readonly WorkloadFacts[];
  readonly autoscalers: readonly AutoscalerFacts[];
  readonly nodeGroups: readonly NodeGroupFacts[];
  /** Nothing where no kind of machine can be read: then nobody knows what is pending. */
  readonly machines: readonly MachineFacts[] | undefined;
  readonly machineAutoscalers: readonly MachineAutoscalerFacts[];
  readonly cloudGroups: readonly CloudGroupFacts[];
  readonly apiKinds: readonly ApiKindFacts[];
  readonly serverVersion: string | undefined;
  /** UID of the namespace `kube-system`, the identity that every cluster has. */
  readonly clusterUid: string | undefined;
}

/** A cluster of which nothing is known. */
export const NO_FACTS: ClusterFacts = {
  nodes: [],
  pods: [],
  slices: [],
  claims: [],
  deviceClasses: [],
  deviceTaintRules: [],
  workloads: [],
  autoscalers: [],
  nodeGroups: [],
  machines: undefined,
  machineAutoscalers: [],
  cloudGroups: [],
  apiKinds: [],
  serverVersion: undefined,
  clusterUid: undefined,
};
