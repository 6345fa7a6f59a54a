/**
 * The whole mapping: what a cluster's objects say, as one snapshot that the rule book accepts,
 * whatever they say. It depends on nothing but its arguments, and not on their order.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CapacityPoolSchema,
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type FabricSchema,
  type NodeOccupancySchema,
  type NodeTypeCapacitySchema,
  type PodAllocationSchema,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { closedReason } from './availability.ts';
import { type Chain, chainsOf, type Note, workloadKey } from './chains.ts';
import { clusterIdentity, componentsOf } from './cluster.ts';
import { type DraView, draView, podKey } from './dra.ts';
import type { ClusterFacts, NodeFacts, NodeGroupFacts } from './facts.ts';
import { type Holdings, holdingsOf, type NodeHoldings } from './holdings.ts';
import { cleanText, compareText } from './ids.ts';
import { isAllocated, jobsOf, type RankedChain } from './job-state.ts';
import { withLateLabels } from './late-labels.ts';
import type { Memory, RememberedNodeType } from './memory.ts';
import { type NodeType, nodeTypesOf, type TypedNode } from './node-types.ts';
import { boundsOfPools, cloudBounds, nodeGroups, pendingNodes, poolNaming } from './pools.ts';
import { reserve } from './reservations.ts';
import { type AgentSettings, poolSettings } from './settings.ts';

export interface SnapshotInput {
  readonly facts: ClusterFacts;
  readonly settings: AgentSettings;
  readonly memory: Memory;
  /** When the facts were cut. */
  readonly collectedAtMs: number;
  readonly counter: bigint;
  readonly exclusions?: Exclusions;
}

/** What a service refused of an earlier snapshot, so that the rest is accepted. */
export interface Exclusions {
  /** Jobs that are left out; what they hold is external use. */
  readonly jobs: ReadonlySet<string>;
  /** Nodes that are counted, and wholly unavailable. */
  readonly nodes: ReadonlySet<string>;
}

const NO_EXCLUSIONS: Exclusions = { jobs: new Set(), nodes: new Set() };

export interface SnapshotResult {
  readonly snapshot: ClusterResourceMap;
  /** For the next cut. */
  readonly memory: Memory;
  /** What is left out or counted otherwise, in the order of the objects. */
  readonly notes: readonly Note[];
  /** Which object a path of a finding is about: by pool, node type and entry of `in_use`. */
  readonly nodesInUse: readonly (readonly (readonly string[])[])[];
}

/** @throws TypeError if neither the settings nor the facts have an id for the cluster */
export function snapshotOf({
  facts,
  settings,
  memory,
  collectedAtMs,
  counter,
  exclusions = NO_EXCLUSIONS,
}: SnapshotInput): SnapshotResult {
  const notes: Note[] = [];
  const sorted = inOrder(facts);
  const dra = draView(
    sorted.slices,
    sorted.claims,
    sorted.deviceTaintRules,
    memory.devicePools,
    namesOf(sorted.nodes),
  );
  const poolOf = poolNaming(sorted, settings);
  const { types: present, nodeDevices } = nodeTypesOf(sorted.nodes, poolOf, dra, settings, memory);
  const groups = nodeGroups(sorted);
  const types = withEmptyTypes(present, memory, groups, settings);

  const nodes = new Map<string, TypedNode>();
  const typeOfNode = new Map<string, NodeType>();
  for (const type of types.values()) {
    for (const each of type.nodes) {
      nodes.set(each.node.name, each);
      typeOfNode.set(each.node.name, type);
    }
  }
  noteOtherDevices(nodes, settings, notes);

  const holdings = holdingsOf(sorted.pods, nodes, dra);
  const workloads = new Map(
    sorted.workloads.map((each) => [workloadKey(each.kind, each.namespace, each.name), each]),
  );
  const all = chainsOf(
    {
      pods: sorted.pods,
      claims: sorted.claims,
      deviceClasses: sorted.deviceClasses,
      workloads,
      types,
      nodes,
      typeOfNode,
      holdings,
      settings,
    },
    notes,
  );
  const chains = withinNodes(
    all.filter((chain) => !isExcluded(chain, exclusions)),
    typeOfNode,
    notes,
  );
  const { jobs, ranked } = jobsOf(chains, { workloads, autoscalers: sorted.autoscalers, nodes });

  const allocations = allocationsByNode(ranked);
  const poolIds = new Set([...types.values()].map(({ poolId }) => poolId));
  for (const poolId of groups.keys()) poolIds.add(poolId);
  const bounds = boundsOfPools(sorted, settings, poolIds, poolOf);
  const cloud = cloudBounds(sorted.cloudGroups, sorted.nodes, poolOf);

  const capacityPools: MessageInitShape<typeof CapacityPoolSchema>[] = [];
  const nodesInUse: string[][][] = [];
  for (const poolId of [...poolIds].sort(compareText)) {
    const ofPool = [...types.values()]
      .filter((type) => type.poolId === poolId && (settings.nodesWithoutAccelerators || type.per > 0))
      .sort((a, b) => compareText(a.id, b.id));
    if (ofPool.length === 0 && !groups.has(poolId)) continue;
    const nodesOfPool = ofPool.reduce((sum, type) => sum + type.nodes.length, 0);
    const { autoscaling = false, min, max, maxAccelerators } = bounds.get(poolId) ?? {};
    const inUseOfPool: string[][] = [];
    capacityPools.push({
      id: poolId,
      autoscalingEnabled: autoscaling,
      ...(min === undefined ? {} : { minNodes: min }),
      ...(max === undefined ? {} : { maxNodes: max }),
      ...(maxAccelerators === undefined ? {} : { maxAccelerators }),
      nodeTypes: ofPool.map((type) => {
        const pending = pendingNodes(type, ofPool.length === 1, sorted, groups, cloud, nodesOfPool);
        const entries = type.nodes.flatMap((each) => {
          const occupancy = exclusions.nodes.has(each.node.name)
            ? { unavailableAccelerators: type.per }
            : occupancyOf(
                each,
                type,
                dra,
                holdings,
                allocations.get(each.node.name) ?? [],
                settings,
                groups.get(poolId),
              );
          return occupancy === undefined || (exclusions.nodes.has(each.node.name) && type.per === 0)
            ? []
            : [{ name: each.node.name, occupancy }];
        });
        inUseOfPool.push(entries.map(({ name }) => name));
        return nodeTypeMessage(
          type,
          entries.map(({ occupancy }) => occupancy),
          pending,
          settings,
        );
      }),
    });
    nodesInUse.push(inUseOfPool);
  }

  const snapshot = create(ClusterResourceMapSchema, {
    cluster: clusterIdentity(sorted, settings),
    collectedAt: timestampFromMs(collectedAtMs),
    logicalCounter: counter,
    capacityPools,
    jobs: [...jobs],
    topology: { fabrics: fabricsOf(types.values()) },
    apiResources: apiResourcesOf(sorted),
    installedComponents: componentsOf(sorted),
  });
  reserve(snapshot, settings);
  const remembered = new Map<string, RememberedNodeType>();
  for (const [key, { nodes: _nodes, shared: _shared, ...type }] of types) remembered.set(key, type);
  return {
    snapshot,
    memory: { nodeTypes: remembered, nodeDevices, devicePools: dra.pools },
    nodesInUse,
    notes: notes.sort((a, b) => compareText(a.object, b.object) || compareText(a.message, b.message)),
  };
}

/** Objects in one order, and each name once: a file can hold an object twice. */
function inOrder(facts: ClusterFacts): ClusterFacts {
  const ordered = <T extends { readonly name: string; readonly namespace?: string }>(
    items: readonly T[],
    kindOf = (_: T) => '',
  ): T[] => {
    const keyed = new Map<string, T>();
    for (const item of items) {
      const key = JSON.stringify([kindOf(item), item.namespace ?? '', item.name]);
      const other = keyed.get(key);
      if (other === undefined || compareText(JSON.stringify(item), JSON.stringify(other)) < 0)
        keyed.set(key, item);
    }
    return [...keyed].sort(([a], [b]) => compareText(a, b)).map(([, item]) => item);
  };
  return {
    ...facts,
    nodes: withLateLabels(ordered(facts.nodes)),
    pods: ordered(facts.pods),
    slices: ordered(facts.slices),
    claims: ordered(facts.claims),
    deviceClasses: ordered(facts.deviceClasses),
    deviceTaintRules: ordered(facts.deviceTaintRules),
    workloads: ordered(facts.workloads, ({ kind }) => kind),
    autoscalers: ordered(facts.autoscalers),
    nodeGroups: ordered(facts.nodeGroups, ({ source }) => source),
    machines: facts.machines === undefined ? undefined : ordered(facts.machines),
    machineAutoscalers: ordered(facts.machineAutoscalers),
    cloudGroups: ordered(facts.cloudGroups),
  };
}

function namesOf(nodes: readonly NodeFacts[]): ReadonlySet<string> {
  return new Set(nodes.map(({ name }) => name));
}

/** Node types that were seen, of pools that can grow again from nothing. */
function withEmptyTypes(
  present: ReadonlyMap<string, NodeType>,
  memory: Memory,
  groups: ReadonlyMap<string, NodeGroupFacts>,
  settings: AgentSettings,
): ReadonlyMap<string, NodeType> {
  const types = new Map(present);
  for (const [key, remembered] of memory.nodeTypes) {
    const keep =
      groups.has(remembered.poolId) || poolSettings(settings, remembered.poolId).keepEmptyNodeTypes === true;
    if (types.has(key) || !keep) continue;
    types.set(key, { ...remembered, shared: remembered.id.endsWith('~shared'), nodes: [] });
  }
  return types;
}

/** A node type has one model: the devices of a second vendor cannot be said. */
function noteOtherDevices(
  nodes: ReadonlyMap<string, TypedNode>,
  { acceleratorResources }: AgentSettings,
  notes: Note[],
): void {
  for (const [name, { node, resource }] of nodes) {
    for (const other of acceleratorResources) {
      if (other === resource || (node.capacity[other] ?? 0) === 0) continue;
      notes.push({
        object: `Node ${name}`,
        message: `has ${other} beside ${resource}; the map counts only ${resource}`,
      });
    }
  }
}

function isExcluded({ identity, pods }: Chain, { jobs, nodes }: Exclusions): boolean {
  return jobs.has(identity.jobId) || pods.some(({ node }) => node !== undefined && nodes.has(node));
}

/** Leaves out the newest chains of nodes where more is bound than there is. */
function withinNodes(
  chains: readonly Chain[],
  typeOfNode: ReadonlyMap<string, NodeType>,
  notes: Note[],
): readonly Chain[] {
  const onNode = new Map<string, Map<Chain, number>>();
  for (const chain of chains) {
    for (const pod of chain.pods) {
      if (!isAllocated(pod) || pod.node === undefined) continue;
      const ofNode = onNode.get(pod.node) ?? new Map<Chain, number>();
      onNode.set(pod.node, ofNode);
      ofNode.set(chain, (ofNode.get(chain) ?? 0) + pod.devices);
    }
  }
  const left = new Set<Chain>();
  for (const [name, ofNode] of [...onNode].sort(([a], [b]) => compareText(a, b))) {
    const per = typeOfNode.get(name)?.per ?? 0;
    const newestFirst = [...ofNode].sort(
      ([a], [b]) => b.newestMs - a.newestMs || compareText(chainKey(b), chainKey(a)),
    );
    let held = newestFirst.reduce((sum, [chain, devices]) => sum + (left.has(chain) ? 0 : devices), 0);
    for (const [chain, devices] of newestFirst) {
      if (held <= per) break;
      if (left.has(chain)) continue;
      left.add(chain);
      held -= devices;
      notes.push({
        object: `Node ${name}`,
        message: `more devices are bound than the ${per} that it has, so chain ${chain.identity.chainId} of job ${chain.identity.jobId} is left out`,
      });
    }
  }
  return chains.filter((chain) => !left.has(chain));
}

function chainKey({ identity }: Chain): string {
  return JSON.stringify([identity.jobId, identity.role, identity.chainId]);
}

interface Allocation {
  readonly pod: string;
  readonly devices: number;
  readonly message: MessageInitShape<typeof PodAllocationSchema>;
}

function allocationsByNode(ranked: readonly RankedChain[]): ReadonlyMap<string, readonly Allocation[]> {
  const byNode = new Map<string, Allocation[]>();
  for (const { chain, rankId } of ranked) {
    for (const [podIndex, each] of chain.pods.entries()) {
      if (!isAllocated(each) || each.node === undefined || each.pod === undefined) continue;
      const { jobId, chainId } = chain.identity;
      const ofNode = byNode.get(each.node) ?? [];
      byNode.set(each.node, ofNode);
      ofNode.push({
        pod: podKey(each.pod.namespace, each.pod.name),
        devices: each.devices,
        message: { jobId, rankId, chainId, podIndex, acceleratorCount: each.devices },
      });
    }
  }
  return byNode;
}

/** The three numbers of a node, none below 0 and never more together than it has. */
export interface NodeNumbers {
  readonly external: number;
  readonly unavailable: number;
}

/**
 * @param per devices of the node's type
 * @param usable devices that new work could have if none were held
 * @param held devices held in whole, allocated ones too
 * @param shares devices that shares lie on, at most
 * @param allocated devices of managed pods, at most `per`
 */
export function numbersOf(
  per: number,
  usable: number,
  held: number,
  shares: number,
  allocated: number,
): NodeNumbers {
  const used = Math.max(allocated, Math.min(per, held + shares));
  const free = Math.max(0, Math.min(usable - held, per - used));
  return { external: used - allocated, unavailable: per - used - free };
}

function occupancyOf(
  typed: TypedNode,
  type: NodeType,
  dra: DraView,
  holdings: Holdings,
  allocations: readonly Allocation[],
  settings: AgentSettings,
  group: NodeGroupFacts | undefined,
): MessageInitShape<typeof NodeOccupancySchema> | undefined {
  const { node, sharing, resource } = typed;
  const of = holdings.onNode(node.name);
  const tolerations = [...settings.tolerations, ...(poolSettings(settings, type.poolId).tolerations ?? [])];
  const open = closedReason(node, tolerations, group?.startupTaints ?? []) === undefined;
  const allocated = allocations.reduce((sum, each) => sum + each.devices, 0);
  const offered = node.allocatable[resource] ?? 0;
  const { external, unavailable } = {
    shared: () => numbersOf(type.per, 0, heldOn(of), of.unnamed, allocated),
    'partly-cut': () => {
      const cut = Math.max(0, type.per - offered);
      return numbersOf(type.per, open ? offered : 0, heldOn(of), Math.min(cut, of.unnamed), allocated);
    },
    whole: () => {
      const usable = Math.max(offered, usableDra(node.name, dra));
      // Shares lie on devices that the scheduler believes to be whole.
      return numbersOf(type.per, open ? usable : 0, heldOn(of) + of.unnamed, 0, allocated);
    },
  }[sharing]();
  if (allocations.length === 0 && external === 0 && unavailable === 0) return undefined;
  return {
    allocations: [...allocations].sort((a, b) => compareText(a.pod, b.pod)).map(({ message }) => message),
    externalAcceleratorsInUse: external,
    unavailableAccelerators: unavailable,
  };
}

function heldOn({ pods }: NodeHoldings): number {
  let held = 0;
  for (const { devices } of pods.values()) held += devices;
  return held;
}

function usableDra(node: string, dra: DraView): number {
  let usable = 0;
  for (const device of dra.nodes.get(node)?.devices.values() ?? []) if (device.usable) usable++;
  return usable;
}

function nodeTypeMessage(
  type: NodeType,
  inUse: readonly MessageInitShape<typeof NodeOccupancySchema>[],
  pending: number | undefined,
  settings: AgentSettings,
): MessageInitShape<typeof NodeTypeCapacitySchema> {
  const pool = poolSettings(settings, type.poolId);
  return {
    id: type.id,
    instanceType: type.instanceType,
    acceleratorModel: type.model,
    acceleratorsPerNode: type.per,
    totalCount: type.nodes.length,
    ...(pool.pricePerNodeHour === undefined ? {} : { pricePerNodeHour: pool.pricePerNodeHour }),
    purchaseModel: type.purchaseModel,
    zone: type.zone,
    fabricId: type.nodes.length === 0 ? '' : type.fabricId,
    intraNodeInterconnect: pool.intraNodeInterconnect ?? '',
    eligibleForTandemn: pool.eligible ?? (!type.shared && settings.defaultEligible),
    ...(pending === undefined ? {} : { pendingNodeCount: pending }),
    inUse: [...inUse],
    ...(pool.maxRunDurationSeconds === undefined
      ? {}
      : { maxRunDuration: { seconds: BigInt(pool.maxRunDurationSeconds), nanos: 0 } }),
  };
}

/** A fabric is ready where any of its nodes is; a node whose card is broken makes the fabric no other. */
function fabricsOf(types: Iterable<NodeType>): MessageInitShape<typeof FabricSchema>[] {
  const fabrics = new Map<string, { transports: Set<string>; rdmaReady: boolean }>();
  for (const { fabricId, nodes } of types) {
    if (fabricId === '') continue;
    for (const { fabric } of nodes) {
      const found = fabrics.get(fabricId) ?? { transports: new Set<string>(), rdmaReady: false };
      fabrics.set(fabricId, {
        transports: found.transports.add(fabric?.transport ?? ''),
        rdmaReady: found.rdmaReady || (fabric?.rdmaReady ?? false),
      });
    }
  }
  return [...fabrics]
    .sort(([a], [b]) => compareText(a, b))
    .map(([id, { transports, rdmaReady }]) => ({
      id,
      transport: [...transports].sort(compareText).at(-1) ?? '',
      rdmaReady,
    }));
}

function apiResourcesOf({
  apiKinds,
}: ClusterFacts): { group: string; kind: string; servedVersions: string[] }[] {
  const byKind = new Map<string, { group: string; kind: string; servedVersions: string[] }>();
  for (const { group, kind, versions } of apiKinds) {
    const key = `${group}\n${kind}`;
    const found = byKind.get(key) ?? { group: cleanText(group), kind: cleanText(kind), servedVersions: [] };
    byKind.set(key, found);
    for (const version of versions) {
      const clean = cleanText(version);
      if (clean !== '' && !found.servedVersions.includes(clean)) found.servedVersions.push(clean);
    }
  }
  return [...byKind]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([, each]) => (each.kind !== '' && each.servedVersions.length > 0 ? [each] : []));
}
