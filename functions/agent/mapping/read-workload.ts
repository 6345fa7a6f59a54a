/** What is kept of the objects that own pods, and of their autoscalers. */
import type { AutoscalerFacts, WorkloadFacts, WorkloadPart } from './facts.ts';
import { at, list, member, members, text, whole } from './json.ts';
import { operatorOf } from './operators.ts';

/** Reads a Deployment, StatefulSet, Job, LeaderWorkerSet, JobSet, PyTorchJob or RayCluster. */
export function readWorkload(kind: string, object: unknown): WorkloadFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  if (name === undefined) return undefined;
  const spec = member(object, 'spec');
  const base = {
    kind,
    namespace: text(at(object, 'metadata', 'namespace')) ?? 'default',
    name,
    desired: undefined as number | undefined,
    chainSize: undefined as number | undefined,
    succeeded: NONE,
    parts: NO_PARTS,
  };
  switch (kind) {
    case 'deployment': {
      const operator = operatorOf(object);
      const size = { desired: whole(member(spec, 'replicas')) ?? 1, chainSize: 1 };
      return { ...base, ...size, ...(operator === undefined ? {} : { operator }) };
    }
    case 'statefulset':
      return { ...base, desired: whole(member(spec, 'replicas')) ?? 1, chainSize: 1 };
    case 'leaderworkerset':
      return {
        ...base,
        desired: whole(member(spec, 'replicas')) ?? 1,
        chainSize: whole(at(spec, 'leaderWorkerTemplate', 'size')) ?? 1,
      };
    case 'job':
      return {
        ...base,
        desired: 1,
        chainSize: jobSize(spec),
        succeeded: indexes(text(at(object, 'status', 'completedIndexes'))),
      };
    case 'jobset':
      return { ...base, parts: jobSetParts(spec) };
    case 'pytorchjob':
      return { ...base, desired: 1, parts: replicaParts(member(spec, 'pytorchReplicaSpecs')) };
    case 'raycluster':
      return { ...base, parts: rayParts(spec) };
    default:
      return undefined;
  }
}

const NONE: ReadonlySet<number> = new Set();
const NO_PARTS: ReadonlyMap<string, WorkloadPart> = new Map();

/**
 * Pods of an indexed Job that run side by side. Where fewer run than there are indexes, the
 * later ones wait for the earlier ones and not for room: they are no demand yet.
 */
function jobSize(spec: unknown): number | undefined {
  if (member(spec, 'completionMode') !== 'Indexed') return undefined;
  const completions = whole(member(spec, 'completions'));
  const parallelism = whole(member(spec, 'parallelism')) ?? 1;
  return completions !== undefined && parallelism >= completions ? completions : undefined;
}

/** More indexes than a cluster runs pods of one Job are not read. */
const MAX_INDEXES = 100_000;

/** `0-3,7` as Kubernetes writes the completed indexes of a Job. */
function indexes(ranges: string | undefined): ReadonlySet<number> {
  const out = new Set<number>();
  for (const range of (ranges ?? '').split(',')) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range.trim());
    if (match === null) continue;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    for (let index = first; index <= last && out.size < MAX_INDEXES; index++) out.add(index);
  }
  return out;
}

function jobSetParts(spec: unknown): ReadonlyMap<string, WorkloadPart> {
  const parts = new Map<string, WorkloadPart>();
  for (const job of list(member(spec, 'replicatedJobs'))) {
    const name = text(member(job, 'name'));
    const replicas = whole(member(job, 'replicas')) ?? 1;
    const chainSize = jobSize({ completionMode: 'Indexed', ...members(at(job, 'template', 'spec')) });
    if (name !== undefined) parts.set(name, { desired: replicas, min: replicas, max: replicas, chainSize });
  }
  return parts;
}

function replicaParts(specs: unknown): ReadonlyMap<string, WorkloadPart> {
  const parts = new Map<string, WorkloadPart>();
  for (const [name, spec] of Object.entries(members(specs))) {
    // All pods of a replica type are one chain.
    const chainSize = whole(member(spec, 'replicas')) ?? 1;
    parts.set(name.toLowerCase(), { desired: 1, min: 1, max: 1, chainSize });
  }
  return parts;
}

function rayParts(spec: unknown): ReadonlyMap<string, WorkloadPart> {
  const parts = new Map<string, WorkloadPart>();
  parts.set('headgroup', { desired: 1, min: 1, max: 1, chainSize: 1 });
  for (const group of list(member(spec, 'workerGroupSpecs'))) {
    const name = text(member(group, 'groupName'));
    if (name === undefined) continue;
    parts.set(name, {
      desired: whole(member(group, 'replicas')),
      min: whole(member(group, 'minReplicas')),
      max: whole(member(group, 'maxReplicas')),
      chainSize: whole(member(group, 'numOfHosts')) ?? 1,
    });
  }
  return parts;
}

export function readHorizontalPodAutoscaler(object: unknown): AutoscalerFacts | undefined {
  const name = text(at(object, 'metadata', 'name'));
  const target = at(object, 'spec', 'scaleTargetRef');
  const [targetKind, targetName] = [text(member(target, 'kind')), text(member(target, 'name'))];
  if (name === undefined || targetKind === undefined || targetName === undefined) return undefined;
  return {
    namespace: text(at(object, 'metadata', 'namespace')) ?? 'default',
    name,
    targetKind: targetKind.toLowerCase(),
    targetName,
    min: whole(at(object, 'spec', 'minReplicas')) ?? 1,
    max: whole(at(object, 'spec', 'maxReplicas')),
  };
}
