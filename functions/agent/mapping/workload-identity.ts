/** Which job, rank and chain a pod is of, by what its deployer or its controller wrote on it. */
import { WorkloadKind } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { Labels, PodFacts } from './facts.ts';
import { validId } from './ids.ts';
import type { AgentSettings, JobSource } from './settings.ts';

/** The object that owns a job, for its size. */
export interface WorkloadRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface WorkloadIdentity {
  readonly jobId: string;
  readonly kind: WorkloadKind;
  /** What all chains of one shape have in common: a rank, before targets split it. */
  readonly role: string;
  readonly chainId: string;
  /** As the controller numbers pods; those without accelerators leave gaps. */
  readonly index: number;
  /** Where the deployer meant it to go: pool id, a slash, node type id. */
  readonly target: string | undefined;
  /** Whether the deployer named the rank, so that its id is to be kept. */
  readonly named: boolean;
  readonly workload: WorkloadRef | undefined;
  /** The part of the workload that the role is, where it has parts. */
  readonly part: string | undefined;
  /** Ended pods are replaced and say nothing any more. */
  readonly replaced: boolean;
}

/** @returns nothing for a pod that nobody manages by way of the map: its devices are external use */
export function identityOf(pod: PodFacts, settings: AgentSettings): WorkloadIdentity | undefined {
  // It holds a device for others, whose work is not known.
  if (pod.labels.app === 'runai-reservation') return undefined;
  const named = byContract(pod, settings.labelPrefix);
  if (named !== undefined) return named;
  for (const source of settings.recogniseJobs) {
    const identity = RECOGNISERS[source](pod);
    if (identity !== undefined) return identity;
  }
  return undefined;
}

/** The annotation wins: a label's value ends at 63 characters. */
function byContract(pod: PodFacts, prefix: string): WorkloadIdentity | undefined {
  const value = (key: string) =>
    own(pod.annotations, `${prefix}/${key}`) ?? own(pod.labels, `${prefix}/${key}`);
  const jobId = value('job-id');
  if (jobId === undefined) return undefined;
  const job = labelOf(pod, 'batch.kubernetes.io/job-name') ?? labelOf(pod, 'job-name');
  return {
    jobId: validId(jobId),
    kind: job === undefined ? WorkloadKind.ONLINE : WorkloadKind.BATCH,
    role: validId(value('rank-id') ?? 'rank'),
    chainId: validId(value('chain-id') ?? pod.name),
    index: indexOf(value('pod-index')) ?? 0,
    target: value('target'),
    named: true,
    workload: undefined,
    part: undefined,
    replaced: false,
  };
}

type Recogniser = (pod: PodFacts) => WorkloadIdentity | undefined;

const RECOGNISERS: Readonly<Record<JobSource, Recogniser>> = {
  leaderworkerset: (pod) => {
    const name = labelOf(pod, 'leaderworkerset.sigs.k8s.io/name');
    if (name === undefined) return undefined;
    return recognised(pod, 'leaderworkerset', name, WorkloadKind.ONLINE, {
      role: labelOf(pod, 'llm-d.ai/role') ?? name,
      chainId: labelOf(pod, 'leaderworkerset.sigs.k8s.io/group-index') ?? pod.name,
      index: indexOf(labelOf(pod, 'leaderworkerset.sigs.k8s.io/worker-index')) ?? 0,
    });
  },
  jobset: (pod) => {
    const name = labelOf(pod, 'jobset.sigs.k8s.io/jobset-name');
    if (name === undefined) return undefined;
    const part = labelOf(pod, 'jobset.sigs.k8s.io/replicatedjob-name') ?? name;
    return recognised(pod, 'jobset', name, WorkloadKind.BATCH, {
      role: part,
      chainId: labelOf(pod, 'jobset.sigs.k8s.io/job-index') ?? '0',
      index: completionIndex(pod) ?? 0,
      part,
    });
  },
  pytorchjob: (pod) => {
    const name = labelOf(pod, 'training.kubeflow.org/job-name');
    if (name === undefined) return undefined;
    const part = labelOf(pod, 'training.kubeflow.org/replica-type') ?? 'worker';
    return recognised(pod, 'pytorchjob', name, WorkloadKind.BATCH, {
      role: part,
      chainId: name,
      index: indexOf(labelOf(pod, 'training.kubeflow.org/replica-index')) ?? 0,
      part,
    });
  },
  raycluster: (pod) => {
    const name = labelOf(pod, 'ray.io/cluster');
    if (name === undefined) return undefined;
    const part = labelOf(pod, 'ray.io/group') ?? 'headgroup';
    const replica = labelOf(pod, 'ray.io/worker-group-replica-name') ?? labelOf(pod, 'replicaIndex');
    const batch = labelOf(pod, 'ray.io/originated-from-crd') === 'RayJob';
    return recognised(pod, 'raycluster', name, batch ? WorkloadKind.BATCH : WorkloadKind.ONLINE, {
      role: part,
      chainId: replica ?? pod.name,
      index: replica === undefined ? 0 : (indexOf(labelOf(pod, 'ray.io/replica-host-index')) ?? 0),
      part,
      replaced: true,
    });
  },
  grove: (pod) => {
    const name =
      labelOf(pod, 'nvidia.com/dynamo-graph-deployment-name') ?? labelOf(pod, 'grove.io/podcliqueset-name');
    const clique = labelOf(pod, 'grove.io/podclique');
    if (name === undefined || clique === undefined) return undefined;
    const group = labelOf(pod, 'grove.io/podcliquescalinggroup');
    const replica =
      labelOf(pod, 'grove.io/podcliquescalinggroup-replica-index') ??
      labelOf(pod, 'grove.io/podcliqueset-replica-index');
    return recognised(pod, 'podcliqueset', name, WorkloadKind.ONLINE, {
      role: clique,
      chainId: `${group ?? clique}-${replica ?? '0'}`,
      index: indexOf(labelOf(pod, 'grove.io/podclique-pod-index')) ?? 0,
      replaced: true,
    });
  },
  kserve: (pod) => {
    const name = labelOf(pod, 'serving.kserve.io/inferenceservice');
    if (name === undefined) return undefined;
    const role = labelOf(pod, 'component') ?? 'predictor';
    return recognised(pod, 'inferenceservice', name, WorkloadKind.ONLINE, {
      role,
      chainId: pod.name,
      replaced: true,
    });
  },
  job: (pod) => {
    const name = labelOf(pod, 'batch.kubernetes.io/job-name') ?? labelOf(pod, 'job-name');
    const index = completionIndex(pod);
    if (name === undefined || pod.owner?.kind !== 'Job') return undefined;
    // Pods without an index are alike: each is a chain by itself.
    return recognised(pod, 'job', name, WorkloadKind.BATCH, {
      role: name,
      chainId: index === undefined ? pod.name : name,
      index: index ?? 0,
    });
  },
  deployment: (pod) => {
    const hash = labelOf(pod, 'pod-template-hash');
    if (pod.owner?.kind !== 'ReplicaSet' || hash === undefined || !pod.owner.name.endsWith(`-${hash}`))
      return undefined;
    const name = pod.owner.name.slice(0, -hash.length - 1);
    return recognised(pod, 'deployment', name, WorkloadKind.ONLINE, {
      role: name,
      chainId: pod.name,
      replaced: true,
    });
  },
  statefulset: (pod) => {
    if (pod.owner?.kind !== 'StatefulSet') return undefined;
    const { name } = pod.owner;
    return recognised(pod, 'statefulset', name, WorkloadKind.ONLINE, {
      role: name,
      chainId: pod.name,
      replaced: true,
    });
  },
};

interface Place {
  readonly role: string;
  readonly chainId: string;
  readonly index?: number;
  readonly part?: string;
  readonly replaced?: boolean;
}

/** Names are unique in a namespace, and among objects of one kind: an id has all three. */
function recognised(
  pod: PodFacts,
  kind: string,
  name: string,
  workloadKind: WorkloadKind,
  { role, chainId, index = 0, part, replaced = false }: Place,
): WorkloadIdentity {
  return {
    jobId: validId(`${pod.namespace}/${kind}/${name}`),
    kind: workloadKind,
    role: validId(role),
    chainId: validId(chainId),
    index,
    target: undefined,
    named: false,
    workload: { kind, namespace: pod.namespace, name },
    part,
    replaced,
  };
}

function labelOf(pod: PodFacts, key: string): string | undefined {
  return own(pod.labels, key);
}

function own(labels: Labels, key: string): string | undefined {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  return value === '' ? undefined : value;
}

function completionIndex(pod: PodFacts): number | undefined {
  const key = 'batch.kubernetes.io/job-completion-index';
  return indexOf(own(pod.annotations, key) ?? own(pod.labels, key));
}

function indexOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) : undefined;
}
