/** Jobs, ranks and chains as the map has them, made of the chains that pods make. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type JobState,
  JobStateSchema,
  type RankStateSchema,
  type RuntimeConfigSchema,
  WorkloadPhase,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { type Chain, type ChainPod, workloadKey } from './chains.ts';
import type { AutoscalerFacts, PodFacts, WorkloadFacts } from './facts.ts';
import { isEnded } from './holdings.ts';
import { cleanText, compareText, validId } from './ids.ts';
import type { TypedNode } from './node-types.ts';

/** A chain in its rank, for the allocations of its pods. */
export interface RankedChain {
  readonly chain: Chain;
  readonly rankId: string;
}

export interface JobsInput {
  readonly workloads: ReadonlyMap<string, WorkloadFacts>;
  readonly autoscalers: readonly AutoscalerFacts[];
  readonly nodes: ReadonlyMap<string, TypedNode>;
}

export interface Jobs {
  readonly jobs: readonly JobState[];
  readonly ranked: readonly RankedChain[];
}

/**
 * A rank is a role whose chains have the same targets and devices. The same chain under two
 * ids would be two: ids follow from what the rank is, and not from what else is there, unless
 * the deployer gave one.
 */
export function jobsOf(chains: readonly Chain[], input: JobsInput): Jobs {
  const ranked: RankedChain[] = [];
  const jobs: JobState[] = [];
  for (const [jobId, ofJob] of groupBy(chains, ({ identity }) => identity.jobId)) {
    const ranks: MessageInitShape<typeof RankStateSchema>[] = [];
    const taken = new Set<string>();
    for (const [, ofRole] of groupBy(ofJob, ({ identity }) => identity.role)) {
      const shapes = groupBy(ofRole, shapeOf);
      const usual = usualShape(ofRole, shapes);
      for (const [shape, members] of shapes) {
        const rankId = unusedId(rankIdOf(members, shape === usual), taken);
        taken.add(rankId);
        for (const chain of members) ranked.push({ chain, rankId });
        ranks.push(rankState(rankId, members, shapes.size === 1, input));
      }
    }
    const [first] = ofJob;
    if (first === undefined) continue;
    const phase = combined(ofJob.map((chain) => chainPhase(chain, input)));
    jobs.push(create(JobStateSchema, { jobId, workloadKind: first.identity.kind, ranks, status: { phase } }));
  }
  return { jobs, ranked };
}

/** In the order of the keys. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return new Map([...groups].sort(([a], [b]) => compareText(a, b)));
}

function shapeOf({ pods }: Chain): string {
  return JSON.stringify(pods.map(({ target, devices }) => [target.poolId, target.id, devices]));
}

/** Where a deployer named the rank, the shape of most of its chains is what was meant. */
function usualShape(
  chains: readonly Chain[],
  shapes: ReadonlyMap<string, readonly Chain[]>,
): string | undefined {
  if (chains[0]?.identity.named !== true) return undefined;
  const meant = chains.find(({ identity, pods }) =>
    pods.every(({ target }) => `${target.poolId}/${target.id}` === identity.target),
  );
  if (meant !== undefined) return shapeOf(meant);
  return [...shapes].sort(([a, one], [b, other]) => other.length - one.length || compareText(a, b))[0]?.[0];
}

function rankIdOf(chains: readonly Chain[], usual: boolean): string {
  const [chain] = chains;
  if (chain === undefined) return '';
  if (usual) return chain.identity.role;
  const parts: string[] = [];
  for (const { target, devices } of chain.pods) parts.push(`${target.poolId}/${target.id}:${devices}`);
  const runs: string[] = [];
  for (let i = 0; i < parts.length; ) {
    let end = i;
    while (parts[end] === parts[i]) end++;
    runs.push(end - i === 1 ? `${parts[i]}` : `${parts[i]}x${end - i}`);
    i = end;
  }
  return validId(`${chain.identity.role}@${runs.join(',')}`);
}

/** A deployer may name a rank as another's shape is called. */
function unusedId(id: string, taken: ReadonlySet<string>): string {
  let unused = id;
  for (let n = 2; taken.has(unused); n++) unused = validId(`${n}~${id}`);
  return unused;
}

function rankState(
  rankId: string,
  chains: readonly Chain[],
  wholeRole: boolean,
  input: JobsInput,
): MessageInitShape<typeof RankStateSchema> {
  const [first] = chains;
  return {
    rankId,
    ...runtimeOf(chains),
    podRequirements: (first?.pods ?? []).map(({ target, devices }) => ({
      poolId: target.poolId,
      nodeTypeId: target.id,
      acceleratorCount: devices,
    })),
    // Bounds are of the whole role: where it runs in several shapes, no rank has them.
    ...(wholeRole && first !== undefined ? boundsOf(first, input) : {}),
    chains: chains.map((chain) => ({
      chainId: chain.identity.chainId,
      pods: chain.pods.map((pod, podIndex) => ({ podIndex, status: podStatus(pod, chain, input) })),
      status: { phase: chainPhase(chain, input) },
    })),
    status: { phase: combined(chains.map((chain) => chainPhase(chain, input))) },
  };
}

interface Bounds {
  minChains?: number;
  maxChains?: number;
  desiredChains?: number;
}

function boundsOf({ identity }: Chain, { workloads, autoscalers }: JobsInput): Bounds {
  if (identity.workload === undefined) return {};
  const { kind, namespace, name } = identity.workload;
  // Pods of a Job without indexes are chains of one, of which nobody says how many there will be.
  if (kind === 'job' && identity.chainId !== identity.role) return {};
  const workload = workloads.get(workloadKey(kind, namespace, name));
  const part = identity.part === undefined ? undefined : workload?.parts.get(identity.part);
  const scaled = autoscalers
    .filter((each) => each.namespace === namespace && each.targetKind === kind && each.targetName === name)
    .sort((a, b) => compareText(a.name, b.name))[0];
  const desired = part?.desired ?? workload?.desired;
  const min = scaled?.min ?? part?.min;
  const max = scaled?.max ?? part?.max;
  return {
    ...(desired === undefined ? {} : { desiredChains: desired }),
    // A workload can be scaled by hand beyond its autoscaler's bounds, which then bound nothing.
    ...(min === undefined || min > (desired ?? min) || min > (max ?? min) ? {} : { minChains: min }),
    ...(max === undefined || max < (desired ?? max) ? {} : { maxChains: max }),
  };
}

/** Serving engines, as they stand in the names of images. */
const ENGINES = ['vllm', 'sglang', 'tensorrt-llm', 'tritonserver', 'text-generation-inference', 'lmdeploy'];

/** All chains of a rank have one runtime; while a rollout is under way, only what they share is said. */
function runtimeOf(chains: readonly Chain[]): { runtime?: MessageInitShape<typeof RuntimeConfigSchema> } {
  const pods = chains.flatMap((chain) => chain.pods.flatMap(({ pod }) => (pod === undefined ? [] : [pod])));
  const same = <T>(read: (pod: PodFacts) => T | undefined): T | undefined => {
    const values = new Set(pods.map(read));
    return values.size === 1 ? [...values][0] : undefined;
  };
  const degrees = {
    tensor: same(({ container }) => container?.tensor),
    pipeline: same(({ container }) => container?.pipeline),
    data: same(({ container }) => container?.data),
  };
  const known = Object.entries(degrees).filter(([, degree]) => degree !== undefined);
  const engine = same(({ container }) => engineOf(container?.image ?? '')) ?? '';
  const imageDigest = cleanText(same(({ container }) => container?.digest) ?? '');
  if (engine === '' && imageDigest === '' && known.length === 0) return {};
  const engineVersion = engine === '' ? '' : cleanText(same(versionOf) ?? '');
  return {
    runtime: {
      engine,
      engineVersion,
      imageDigest,
      ...(known.length === 0 ? {} : { parallelism: Object.fromEntries(known) }),
    },
  };
}

function engineOf(image: string): string | undefined {
  return ENGINES.find((engine) => image.toLowerCase().includes(engine));
}

function versionOf({ container, labels }: PodFacts): string | undefined {
  const tag = /:(v?\d[\w.+-]{0,60})(?:@|$)/.exec(container?.image ?? '')?.[1];
  return (
    tag ??
    (Object.hasOwn(labels, 'app.kubernetes.io/version') ? labels['app.kubernetes.io/version'] : undefined)
  );
}

function podStatus(pod: ChainPod, chain: Chain, input: JobsInput): { phase: WorkloadPhase; reason?: string } {
  const phase = podPhase(pod, chain, input);
  const told = phase !== WorkloadPhase.RUNNING && phase !== WorkloadPhase.SUCCEEDED;
  const reason = pod.lost ? 'NodeUnknown' : pod.pod?.reason;
  return { phase, ...(told && reason !== undefined ? { reason: cleanText(reason.slice(0, 253)) } : {}) };
}

function podPhase(
  { pod, node, lost, index }: ChainPod,
  chain: Chain,
  { workloads, nodes }: JobsInput,
): WorkloadPhase {
  if (pod === undefined) {
    const of = chain.identity.workload;
    const succeeded =
      of === undefined ? undefined : workloads.get(workloadKey(of.kind, of.namespace, of.name))?.succeeded;
    return succeeded?.has(index) === true ? WorkloadPhase.SUCCEEDED : WorkloadPhase.PENDING;
  }
  if (pod.phase === 'Succeeded') return WorkloadPhase.SUCCEEDED;
  if (pod.phase === 'Failed') return WorkloadPhase.FAILED;
  // It will be deleted with its node, or the node will be seen: either way it asks for no room.
  if (pod.deleting || lost) return WorkloadPhase.DRAINING;
  if (node === undefined) return WorkloadPhase.PENDING;
  if (nodes.get(node)?.node.readiness === 'unknown') return WorkloadPhase.UNKNOWN;
  if (pod.ready) return WorkloadPhase.RUNNING;
  return pod.everReady ? WorkloadPhase.DEGRADED : WorkloadPhase.STARTING;
}

function chainPhase(chain: Chain, input: JobsInput): WorkloadPhase {
  return combined(chain.pods.map((pod) => podPhase(pod, chain, input)));
}

/** The first of these that any has. */
const WORST_FIRST = [
  WorkloadPhase.FAILED,
  WorkloadPhase.DRAINING,
  WorkloadPhase.PENDING,
  WorkloadPhase.UNKNOWN,
  WorkloadPhase.STARTING,
  WorkloadPhase.DEGRADED,
  WorkloadPhase.RUNNING,
  WorkloadPhase.SUCCEEDED,
];

function combined(phases: readonly WorkloadPhase[]): WorkloadPhase {
  return WORST_FIRST.find((phase) => phases.includes(phase)) ?? WorkloadPhase.UNKNOWN;
}

/** Whether a pod's devices are an allocation of the map. */
export function isAllocated({ pod, node }: ChainPod): boolean {
  return pod !== undefined && node !== undefined && !isEnded(pod);
}
