/**
 * The chains that pods make, each with the target and the devices of all of its pods, those
 * too that are not there yet. What the map cannot express is left out, with the reason; what
 * its pods hold is external use then.
 */
import { ACCELERATOR_DRIVERS, holdingOf } from './accelerators.ts';
import { podKey } from './dra.ts';
import type { ClaimFacts, DeviceClassFacts, PodFacts, WorkloadFacts } from './facts.ts';
import { type Holdings, isEnded } from './holdings.ts';
import { compareText } from './ids.ts';
import { nodeTypeKey } from './memory.ts';
import type { NodeType, TypedNode } from './node-types.ts';
import { firstFit, takes } from './placement.ts';
import { largest } from './quantity.ts';
import type { AgentSettings } from './settings.ts';
import { identityOf, type WorkloadIdentity } from './workload-identity.ts';

/** Something of the cluster that the snapshot leaves out or counts otherwise than it says of itself. */
export interface Note {
  /** `Pod team-a/llama-0`. */
  readonly object: string;
  readonly message: string;
}

export interface ChainPod {
  readonly target: NodeType;
  readonly devices: number;
  /** Nothing while it is not there. */
  readonly pod: PodFacts | undefined;
  /** The node where it holds its devices. */
  readonly node: string | undefined;
  /** Bound to a node, or given a claim, that is not known: gone, or not seen yet. */
  readonly lost: boolean;
  /** The controller's own number. */
  readonly index: number;
}

export interface Chain {
  readonly identity: WorkloadIdentity;
  readonly pods: readonly ChainPod[];
  /** The youngest pod, which is the first to be left out of a node that has too much. */
  readonly newestMs: number;
}

export interface ChainsInput {
  readonly pods: readonly PodFacts[];
  readonly claims: readonly ClaimFacts[];
  readonly deviceClasses: readonly DeviceClassFacts[];
  readonly workloads: ReadonlyMap<string, WorkloadFacts>;
  readonly types: ReadonlyMap<string, NodeType>;
  readonly nodes: ReadonlyMap<string, TypedNode>;
  readonly typeOfNode: ReadonlyMap<string, NodeType>;
  readonly holdings: Holdings;
  readonly settings: AgentSettings;
}

interface Candidate {
  readonly identity: WorkloadIdentity;
  readonly pod: PodFacts;
  /** Devices that it holds, or asks for. */
  readonly devices: number;
}

export function workloadKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** @param notes is given what was left out */
export function chainsOf(input: ChainsInput, notes: Note[]): readonly Chain[] {
  const roles = new Map<string, Map<string, Candidate[]>>();
  const shared = sharedClaims(input.claims);
  const demand = claimDemand(input);
  for (const pod of input.pods) {
    const identity = identityOf(pod, input.settings);
    if (identity === undefined || (identity.replaced && isEnded(pod))) continue;
    const key = podKey(pod.namespace, pod.name);
    if (pod.claims.some((claim) => shared.has(`${pod.namespace}/${claim}`))) {
      notes.push({
        object: `Pod ${key}`,
        message: 'shares a ResourceClaim with other pods, so its devices count as external use',
      });
      continue;
    }
    const devices = devicesOf(pod, key, input, demand);
    if (devices === 0) continue;
    const role = JSON.stringify([identity.jobId, identity.role]);
    const chains = roles.get(role) ?? new Map<string, Candidate[]>();
    roles.set(role, chains);
    const chain = chains.get(identity.chainId) ?? [];
    chains.set(identity.chainId, chain);
    chain.push({ identity, pod, devices });
  }
  const out: Chain[] = [];
  for (const [, chains] of [...roles].sort(([a], [b]) => compareText(a, b)))
    out.push(...chainsOfRole(chains, input, notes));
  return out;
}

function sharedClaims(claims: readonly ClaimFacts[]): ReadonlySet<string> {
  return new Set(
    claims
      .filter(({ reservedFor }) => new Set(reservedFor).size > 1)
      .map(({ namespace, name }) => `${namespace}/${name}`),
  );
}

/** Accelerators that each claim asks for, by namespace and name. */
function claimDemand({ claims, deviceClasses }: ChainsInput): ReadonlyMap<string, number> {
  const accelerators = new Set<string>(ACCELERATOR_DRIVERS);
  for (const { name, drivers } of deviceClasses)
    if (drivers.some((driver) => ACCELERATOR_DRIVERS.has(driver))) accelerators.add(name);
  return new Map(
    claims.map(({ namespace, name, requests }) => [
      `${namespace}/${name}`,
      requests.reduce((sum, each) => sum + (accelerators.has(each.deviceClass) ? each.count : 0), 0),
    ]),
  );
}

function devicesOf(
  pod: PodFacts,
  key: string,
  input: ChainsInput,
  demand: ReadonlyMap<string, number>,
): number {
  const nodeName = input.holdings.nodeOf(pod);
  const held = nodeName === undefined ? undefined : input.holdings.onNode(nodeName).pods.get(key)?.devices;
  if (held !== undefined) return held;
  const node = nodeName === undefined ? undefined : input.nodes.get(nodeName);
  const resources = node === undefined ? input.settings.acceleratorResources : [node.resource];
  const requested = Math.max(0, ...resources.map((resource) => holdingOf(resource, pod.requests).whole));
  return (
    requested + pod.claims.reduce((sum, claim) => sum + (demand.get(`${pod.namespace}/${claim}`) ?? 0), 0)
  );
}

function chainsOfRole(
  chains: ReadonlyMap<string, readonly Candidate[]>,
  input: ChainsInput,
  notes: Note[],
): readonly Chain[] {
  const members = new Map(
    [...chains].map(([chainId, candidates]) => [chainId, onePodAnIndex(candidates)] as const),
  );
  const indexes = indexesOf(members, input.workloads);
  const habits = habitsOf(members, input);
  const out: Chain[] = [];
  for (const [, chain] of [...members].sort(([a], [b]) => compareText(a, b))) {
    const result = completeChain(chain, indexes, habits, input);
    if (result.kind === 'chain') out.push(result.chain);
    else if (result.note !== undefined) notes.push(result.note);
  }
  return out;
}

/** A pod that was made again stands beside its terminating predecessor: the one that lives on counts. */
function onePodAnIndex(candidates: readonly Candidate[]): ReadonlyMap<number, Candidate> {
  const chosen = new Map<number, Candidate>();
  for (const candidate of candidates) {
    const other = chosen.get(candidate.identity.index);
    if (other === undefined || isBetter(candidate.pod, other.pod))
      chosen.set(candidate.identity.index, candidate);
  }
  return chosen;
}

function isBetter(a: PodFacts, b: PodFacts): boolean {
  const rank = (pod: PodFacts) => (isEnded(pod) ? 2 : pod.deleting ? 1 : 0);
  return (
    (rank(a) - rank(b) ||
      Number(a.nodeName === undefined) - Number(b.nodeName === undefined) ||
      b.createdMs - a.createdMs ||
      compareText(a.namespace, b.namespace) ||
      compareText(a.name, b.name) ||
      compareText(a.uid, b.uid)) < 0
  );
}

/** Above this a number on a pod is a mistake, not a size. */
const MAX_CHAIN_PODS = 10_000;

/** Every index that a chain of this role has: those that were seen, and those that its controller will make. */
function indexesOf(
  members: ReadonlyMap<string, ReadonlyMap<number, Candidate>>,
  workloads: ReadonlyMap<string, WorkloadFacts>,
): readonly number[] {
  const indexes = new Set<number>();
  let identity: WorkloadIdentity | undefined;
  for (const chain of members.values()) {
    for (const [index, candidate] of chain) {
      indexes.add(index);
      identity = candidate.identity;
    }
  }
  const size = sizeOf(identity, workloads);
  if (size !== undefined && size <= MAX_CHAIN_PODS) {
    // A leader without accelerators is no pod of the map; workers come by and by.
    const first = indexes.has(0) || identity?.workload?.kind !== 'leaderworkerset' ? 0 : 1;
    for (let index = first; index < size; index++) indexes.add(index);
  }
  return [...indexes].sort((a, b) => a - b).slice(0, MAX_CHAIN_PODS);
}

function sizeOf(
  identity: WorkloadIdentity | undefined,
  workloads: ReadonlyMap<string, WorkloadFacts>,
): number | undefined {
  if (identity?.workload === undefined) return undefined;
  const { kind, namespace, name } = identity.workload;
  const workload = workloads.get(workloadKey(kind, namespace, name));
  // Pods of a Job without indexes are chains of one.
  if (kind === 'job' && identity.chainId !== identity.role) return undefined;
  return identity.part === undefined ? workload?.chainSize : workload?.parts.get(identity.part)?.chainSize;
}

/** By index: what pods of the role have there, and where they run. */
interface Habit {
  readonly devices: number;
  readonly target: NodeType | undefined;
}

function habitsOf(
  members: ReadonlyMap<string, ReadonlyMap<number, Candidate>>,
  input: ChainsInput,
): ReadonlyMap<number, Habit> {
  const votes = new Map<number, Map<string, { readonly habit: Habit; votes: number }>>();
  for (const chain of members.values()) {
    for (const [index, { pod, devices }] of chain) {
      const nodeName = input.holdings.nodeOf(pod);
      const target = nodeName === undefined ? undefined : input.typeOfNode.get(nodeName);
      const key = `${target === undefined ? 1 : 0} ${target?.poolId ?? ''}\n${target?.id ?? ''}\n${devices}`;
      const ofIndex = votes.get(index) ?? new Map<string, { readonly habit: Habit; votes: number }>();
      votes.set(index, ofIndex);
      const vote = ofIndex.get(key) ?? { habit: { devices, target }, votes: 0 };
      vote.votes++;
      ofIndex.set(key, vote);
    }
  }
  const habits = new Map<number, Habit>();
  for (const [index, ofIndex] of votes) {
    const [best] = [...ofIndex].sort(
      ([a, one], [b, other]) =>
        compareText(a.slice(0, 1), b.slice(0, 1)) || other.votes - one.votes || compareText(a, b),
    );
    if (best !== undefined) habits.set(index, best[1].habit);
  }
  return habits;
}

type Completion =
  | { readonly kind: 'chain'; readonly chain: Chain }
  | { readonly kind: 'left-out'; readonly note: Note | undefined };

function completeChain(
  chain: ReadonlyMap<number, Candidate>,
  indexes: readonly number[],
  habits: ReadonlyMap<number, Habit>,
  input: ChainsInput,
): Completion {
  const [some] = [...chain.values()].sort((a, b) => a.identity.index - b.identity.index);
  if (some === undefined) return { kind: 'left-out', note: undefined };
  const sibling = bestHabit(habits);
  const pods: ChainPod[] = [];
  for (const index of indexes) {
    const candidate = chain.get(index);
    const placed =
      candidate === undefined
        ? placeMissing(habits.get(index) ?? sibling, some, index, input)
        : placeSeen(candidate, habits.get(index), sibling, input);
    if ('note' in placed) return { kind: 'left-out', note: placed.note };
    pods.push(placed);
  }
  const newestMs = largest([...chain.values()].map(({ pod }) => pod.createdMs));
  return { kind: 'chain', chain: { identity: some.identity, pods, newestMs } };
}

/** The pod of the lowest index that has a target. */
function bestHabit(habits: ReadonlyMap<number, Habit>): Habit | undefined {
  const sorted = [...habits].sort(([a], [b]) => a - b);
  return (sorted.findLast(([, { target }]) => target !== undefined) ?? sorted.at(-1))?.[1];
}

type Placed = ChainPod | { readonly note: Note | undefined };

function placeMissing(habit: Habit | undefined, some: Candidate, index: number, input: ChainsInput): Placed {
  const devices = habit?.devices ?? some.devices;
  const target = usual(habit?.target, devices) ?? fitFor(some, devices, input);
  if (target === undefined) return { note: undefined };
  return { target, devices, pod: undefined, node: undefined, lost: false, index };
}

function placeSeen(
  candidate: Candidate,
  habit: Habit | undefined,
  sibling: Habit | undefined,
  input: ChainsInput,
): Placed {
  const { pod, devices, identity } = candidate;
  const { index } = identity;
  const nodeName = input.holdings.nodeOf(pod);
  const type = nodeName === undefined ? undefined : input.typeOfNode.get(nodeName);
  const object = `Pod ${podKey(pod.namespace, pod.name)}`;
  if (type !== undefined && takes(type, devices)) {
    const holding =
      nodeName === undefined
        ? undefined
        : input.holdings.onNode(nodeName).pods.get(podKey(pod.namespace, pod.name));
    const holds = holding?.pod === pod && holding.devices === devices;
    return {
      target: type,
      devices,
      pod,
      node: holds ? nodeName : undefined,
      lost: !holds && !isEnded(pod),
      index,
    };
  }
  if (type !== undefined && !isEnded(pod)) {
    const why = type.shared
      ? `runs on shared devices of ${type.poolId}/${type.id}`
      : `has ${devices} devices of a node of ${type.poolId}/${type.id}, which has ${type.per}`;
    return {
      note: { object, message: `${why}, so its chain is left out and its devices count as external use` },
    };
  }
  const target =
    declared(identity, devices, input) ??
    usual(habit?.target, devices) ??
    usual(sibling?.target, devices) ??
    fitFor(candidate, devices, input);
  if (target === undefined) {
    const message = `waits for ${devices} devices that no node type of the cluster has, so its chain is left out`;
    return { note: isEnded(pod) || nodeName !== undefined ? undefined : { object, message } };
  }
  return { target, devices, pod, node: undefined, lost: nodeName !== undefined && !isEnded(pod), index };
}

function usual(target: NodeType | undefined, devices: number): NodeType | undefined {
  return target !== undefined && takes(target, devices) ? target : undefined;
}

/** Pool ids can hold slashes: every split is tried. */
function declared(
  { target }: WorkloadIdentity,
  devices: number,
  { types }: ChainsInput,
): NodeType | undefined {
  if (target === undefined) return undefined;
  for (let slash = target.indexOf('/'); slash !== -1; slash = target.indexOf('/', slash + 1)) {
    const type = types.get(nodeTypeKey(target.slice(0, slash), target.slice(slash + 1)));
    if (type !== undefined) return usual(type, devices);
  }
  return undefined;
}

function fitFor({ pod }: Candidate, devices: number, { types, settings }: ChainsInput): NodeType | undefined {
  const asked = settings.acceleratorResources.filter((resource) => Object.hasOwn(pod.requests, resource));
  return firstFit(types.values(), devices, pod.placement, new Set(asked));
}
