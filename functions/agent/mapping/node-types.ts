/**
 * Which node is of which type. A type is named by what its machines are made as, and has what
 * its best node has or had: neither a device that fails nor a label that comes late makes
 * another type of it.
 */
import { PurchaseModel } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { RESOURCE_OF_DRIVER } from './accelerators.ts';
import type { DraView } from './dra.ts';
import { type FabricSight, fabricOf } from './fabric.ts';
import type { Labels, NodeFacts } from './facts.ts';
import { compareText, idOf } from './ids.ts';
import { instanceTypeFacts } from './instance-types.ts';
import { type Memory, nodeTypeKey, type RememberedNodeType } from './memory.ts';
import {
  cloudInstanceType,
  countLabelOf,
  firstLabel,
  modelLabelOf,
  purchaseModelOf,
  purchaseModelPart,
  zoneOf,
} from './platform.ts';
import { largest } from './quantity.ts';
import { type AgentSettings, poolSettings } from './settings.ts';
import { type Sharing, sharingOf } from './sharing.ts';

/** A node in its type. */
export interface TypedNode {
  readonly node: NodeFacts;
  /** The resource that counts its devices. */
  readonly resource: string;
  readonly sharing: 'whole' | 'shared' | 'partly-cut';
  readonly fabric: FabricSight | undefined;
}

export interface NodeType extends RememberedNodeType {
  /** Devices of its nodes are offered in shares. */
  readonly shared: boolean;
  /** In the order of their names. */
  readonly nodes: readonly TypedNode[];
}

export interface NodeTypes {
  /** By pool and id. */
  readonly types: ReadonlyMap<string, NodeType>;
  /** To be remembered. */
  readonly nodeDevices: ReadonlyMap<string, number>;
}

interface Sight {
  readonly node: NodeFacts;
  readonly poolId: string;
  readonly cloudType: string | undefined;
  /** Tells apart the variants of a machine type to which any accelerator can be attached. */
  readonly attached: string;
  readonly purchaseModel: PurchaseModel;
  readonly zone: string;
  readonly fabric: FabricSight | undefined;
}

/** @param poolOf names the pool of a node */
export function nodeTypesOf(
  nodes: readonly NodeFacts[],
  poolOf: (node: NodeFacts) => string,
  dra: DraView,
  settings: AgentSettings,
  memory: Memory,
): NodeTypes {
  const groups = new Map<string, Sight[]>();
  for (const node of nodes) {
    const sight = sightOf(node, poolOf(node), dra, settings);
    const key = JSON.stringify([
      sight.poolId,
      sight.cloudType ?? '',
      sight.attached,
      sight.purchaseModel,
      sight.zone,
      sight.fabric?.id ?? '',
    ]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sight]);
    else group.push(sight);
  }

  const nodeDevices = new Map<string, number>();
  const drafts = new Map<string, Draft>();
  for (const group of groups.values()) {
    const resources = resourcesOf(group, dra, settings);
    const sharing = sharingOfGroup(group, resources, dra, settings);
    const variants = variantsOf(group, resources, dra, memory, nodeDevices);
    for (const sight of group) {
      const shared = (sharing.get(sight.node.name) ?? WHOLE).kind !== 'whole';
      const variant = variants.get(sight.node.name);
      const id = stableId(sight, variant, shared, memory);
      const key = nodeTypeKey(sight.poolId, id);
      const resource = resources.of(sight.node);
      const draft = drafts.get(key) ?? { sight, id, shared, members: [] };
      drafts.set(key, draft);
      draft.members.push({ sight, resource, sharing: sharing.get(sight.node.name) ?? WHOLE, variant });
    }
  }
  const types = new Map(
    [...drafts].map(([key, draft]) => [key, finish(draft, dra, settings, memory.nodeTypes.get(key))]),
  );
  return { types, nodeDevices };
}

interface Draft {
  readonly sight: Sight;
  readonly id: string;
  readonly shared: boolean;
  readonly members: {
    readonly sight: Sight;
    readonly resource: string;
    readonly sharing: Sharing;
    readonly variant: Variant | undefined;
  }[];
}

const WHOLE: Sharing = { kind: 'whole' };

function sightOf(node: NodeFacts, poolId: string, dra: DraView, settings: AgentSettings): Sight {
  const cloudType = cloudInstanceType(node.labels);
  return {
    node,
    poolId,
    cloudType,
    attached: cloudType?.startsWith('n1-')
      ? (firstLabel(node.labels, 'cloud.google.com/gke-accelerator') ?? '')
      : '',
    purchaseModel: purchaseModelFor(node, poolId, settings),
    zone: zoneOf(node.labels),
    fabric: fabricOf(node, settings.fabricLabel, dra.rdma.has(node.name)),
  };
}

function purchaseModelFor(node: NodeFacts, poolId: string, settings: AgentSettings): PurchaseModel {
  const { purchaseModel } = poolSettings(settings, poolId);
  if (purchaseModel !== undefined) return PurchaseModel[purchaseModel];
  const labelled = purchaseModelOf(node.labels);
  const queued = node.taints.some(({ key }) => key === 'cloud.google.com/gke-queued');
  return labelled === PurchaseModel.UNSPECIFIED && queued ? PurchaseModel.FLEX_START : labelled;
}

interface Resources {
  of(node: NodeFacts): string;
}

/**
 * Which resource counts the devices of each node. Of several vendors' devices a type can have
 * one: the one with the most, ties by name. Nodes of one machine type have the same; a machine
 * of one's own has what it offers, or what the others do while it offers nothing.
 */
function resourcesOf(group: readonly Sight[], dra: DraView, settings: AgentSettings): Resources {
  const ofGroup =
    offeredMost(
      group.map(({ node }) => node),
      dra,
      settings,
    ) ??
    settings.acceleratorResources[0] ??
    'nvidia.com/gpu';
  if (group[0]?.cloudType !== undefined) return { of: () => ofGroup };
  return { of: (node) => offeredMost([node], dra, settings) ?? ofGroup };
}

function offeredMost(
  nodes: readonly NodeFacts[],
  dra: DraView,
  { acceleratorResources }: AgentSettings,
): string | undefined {
  const most = new Map<string, number>();
  for (const node of nodes) {
    for (const resource of acceleratorResources) {
      const count = node.capacity[resource];
      if (count !== undefined) most.set(resource, Math.max(most.get(resource) ?? 0, count));
    }
    const driver = dra.nodes.get(node.name)?.driver;
    const resource = driver === undefined ? undefined : RESOURCE_OF_DRIVER.get(driver);
    if (resource !== undefined && !most.has(resource)) most.set(resource, 0);
  }
  return [...most].sort(([a, counted], [b, other]) => other - counted || compareText(a, b))[0]?.[0];
}

/** Devices of a machine type, where a setting or the table says. */
function knownDevices({ poolId, cloudType }: Sight, settings: AgentSettings): number | undefined {
  return poolSettings(settings, poolId).acceleratorsPerNode ?? typeFacts(cloudType, settings)?.accelerators;
}

function typeFacts(cloudType: string | undefined, { instanceTypes }: AgentSettings) {
  if (cloudType === undefined) return undefined;
  const own = Object.hasOwn(instanceTypes, cloudType) ? instanceTypes[cloudType] : undefined;
  return own ?? instanceTypeFacts(cloudType);
}

function sharingOfGroup(
  group: readonly Sight[],
  resources: Resources,
  dra: DraView,
  settings: AgentSettings,
): ReadonlyMap<string, Sharing> {
  const said = new Map<string, Sharing>();
  for (const sight of group) {
    const { shared } = poolSettings(settings, sight.poolId);
    const known = knownDevices(sight, settings);
    const sharing = sharesOfDra(sight.node, dra) ?? sharingOf(sight.node, resources.of(sight.node), known);
    said.set(
      sight.node.name,
      shared === false
        ? WHOLE
        : shared === true && sharing.kind !== 'shared'
          ? { kind: 'shared', devices: known }
          : sharing,
    );
  }
  // The labels that say so come after the node. In a pool of one machine type, what its others are it will be.
  const kinds = new Set([...said.values()].map(({ kind }) => kind));
  const allShared = kinds.has('shared') && !kinds.has('whole') && !kinds.has('partly-cut');
  const adopt = allShared && group[0]?.cloudType !== undefined;
  for (const [name, sharing] of said) {
    if (sharing.kind === 'unsaid') said.set(name, adopt ? { kind: 'shared', devices: undefined } : WHOLE);
  }
  return said;
}

/** A node whose every DRA device is a share, and which offers nothing else. */
function sharesOfDra(node: NodeFacts, dra: DraView): Sharing | undefined {
  const devices = [...(dra.nodes.get(node.name)?.devices.values() ?? [])];
  if (devices.length === 0 || devices.some(({ shared }) => !shared)) return undefined;
  return { kind: 'shared', devices: devices.length };
}

/** What distinguishes machines that no cloud has named. */
interface Variant {
  /** What it is called while its model is not known. */
  readonly resource: string;
  readonly model: string;
  readonly devices: number;
}

/** @param nodeDevices is given the most that each machine offered, to be remembered */
function variantsOf(
  group: readonly Sight[],
  resources: Resources,
  dra: DraView,
  memory: Memory,
  nodeDevices: Map<string, number>,
): ReadonlyMap<string, Variant> {
  const variants = new Map<string, Variant>();
  if (group[0]?.cloudType !== undefined) return variants;
  for (const { node } of group) {
    const resource = resources.of(node);
    const devices = Math.max(
      countLabelOf(node.labels) ?? 0,
      dra.nodes.get(node.name)?.devices.size ?? 0,
      node.hamiDevices ?? node.capacity[resource] ?? 0,
      memory.nodeDevices.get(node.name) ?? 0,
    );
    if (devices > 0) nodeDevices.set(node.name, devices);
    variants.set(node.name, { resource, model: modelOf(node, dra) ?? '', devices });
  }
  const full = [...variants.values()].filter(({ model, devices }) => model !== '' && devices > 0);
  for (const [name, { resource, model, devices }] of variants) {
    if ((model === '') === (devices === 0)) continue;
    // One half is known: where only one variant has it, the node is of that variant.
    const same = full.filter((each) =>
      model === '' ? each.devices === devices && each.resource === resource : each.model === model,
    );
    const [only] = same;
    if (
      only !== undefined &&
      same.every((each) => each.model === only.model && each.devices === only.devices)
    )
      variants.set(name, only);
  }
  return variants;
}

function modelOf(node: NodeFacts, dra: DraView): string | undefined {
  for (const { model } of dra.nodes.get(node.name)?.devices.values() ?? []) if (model !== '') return model;
  return modelLabelOf(node.labels);
}

function stableId(sight: Sight, variant: Variant | undefined, shared: boolean, memory: Memory): string {
  const id = (model: string): string =>
    idOf(
      sight.cloudType ?? 'node',
      sight.attached,
      model,
      variant !== undefined && variant.devices > 0 ? `x${variant.devices}` : '',
      purchaseModelPart(sight.purchaseModel),
      sight.zone,
      sight.fabric?.id,
      shared ? 'shared' : '',
    );
  const devices = variant?.devices ?? 0;
  const nameless = devices > 0 ? (variant?.resource ?? '') : '';
  const full = id(variant?.model || nameless);
  if (variant === undefined || variant.model === '' || memory.nodeTypes.has(nodeTypeKey(sight.poolId, full)))
    return full;
  // The type had its id before its model was known, and keeps it.
  const before = id(nameless);
  const remembered = memory.nodeTypes.get(nodeTypeKey(sight.poolId, before));
  return remembered !== undefined && variant.devices > 0 && ['', variant.model].includes(remembered.model)
    ? before
    : full;
}

function finish(
  draft: Draft,
  dra: DraView,
  settings: AgentSettings,
  before: RememberedNodeType | undefined,
): NodeType {
  const { sight, id, shared } = draft;
  const members = [...draft.members].sort((a, b) => compareText(a.sight.node.name, b.sight.node.name));
  const pool = poolSettings(settings, sight.poolId);
  return {
    poolId: sight.poolId,
    id,
    instanceType: sight.cloudType ?? ownMachineType(members.map((each) => each.sight.node.labels)) ?? '',
    model: typeModel(draft, dra, settings) ?? before?.model ?? '',
    per: pool.acceleratorsPerNode ?? typeDevices(draft, dra, settings, before),
    purchaseModel: sight.purchaseModel,
    zone: sight.zone,
    fabricId: sight.fabric?.id ?? '',
    shared,
    nodes: members.map(({ sight: { node, fabric }, resource, sharing }) => ({
      node,
      resource,
      fabric,
      sharing: sharing.kind === 'unsaid' ? 'whole' : sharing.kind,
    })),
  };
}

/** What a distribution or a driver says of a machine of one's own. */
function ownMachineType(labels: readonly Labels[]): string | undefined {
  return (
    mostFrequent(labels.map((each) => firstLabel(each, 'nvidia.com/gpu.machine'))) ??
    mostFrequent(labels.map((each) => firstLabel(each, 'node.kubernetes.io/instance-type')))
  );
}

function typeModel({ sight, members }: Draft, dra: DraView, settings: AgentSettings): string | undefined {
  return (
    poolSettings(settings, sight.poolId).acceleratorModel ??
    mostFrequent(members.map((each) => modelOf(each.sight.node, dra))) ??
    (typeFacts(sight.cloudType, settings)?.model || undefined)
  );
}

/** Ties go to the first by name, so that no order of nodes decides. */
function mostFrequent(values: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a, n], [b, m]) => m - n || compareText(a, b))[0]?.[0];
}

function typeDevices(
  { sight, members, shared }: Draft,
  dra: DraView,
  settings: AgentSettings,
  before: RememberedNodeType | undefined,
): number {
  const known = knownDevices(sight, settings) ?? 0;
  const ofDra = members.map(({ sight: { node } }) => dra.nodes.get(node.name)?.devices.size ?? 0);
  const remembered = before?.per ?? 0;
  if (shared) {
    const said = members.map(({ sharing }) => ('devices' in sharing ? (sharing.devices ?? 0) : 0));
    const exact = largest([known, ...ofDra, ...said]);
    if (exact > 0) return Math.max(exact, remembered);
    return largest([
      ...members.map((each) => devicesBehindShares(each.sight.node, each.resource)),
      remembered,
    ]);
  }
  const seen = members.flatMap(({ sight: { node }, resource, variant }) => [
    countLabelOf(node.labels) ?? 0,
    node.capacity[resource] ?? 0,
    variant?.devices ?? 0,
  ]);
  return largest([known, ...ofDra, ...seen, remembered]);
}

/** Where nothing counts the devices: what is offered, by the shares that each is offered in. */
function devicesBehindShares({ labels, capacity }: NodeFacts, resource: string): number {
  if ((labels['nvidia.com/gpu.product'] ?? '').includes('-MIG-')) return 0;
  const replicas = Number(labels['nvidia.com/gpu.replicas'] ?? 1);
  return Math.floor((capacity[resource] ?? 0) / Math.max(replicas || 1, 1));
}
