/** Pools of nodes: which pool a node is of, and how far each may grow. */

import { PurchaseModel } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { CloudGroupFacts, ClusterFacts, MachineFacts, NodeFacts, NodeGroupFacts } from './facts.ts';
import { validId } from './ids.ts';
import type { NodeType } from './node-types.ts';
import { firstLabel, poolLabelOf } from './platform.ts';
import { type AgentSettings, poolSettings } from './settings.ts';

/** Where nothing names a pool. */
const DEFAULT_POOL = 'default';

/** Names the pool of each node. */
export function poolNaming(facts: ClusterFacts, settings: AgentSettings): (node: NodeFacts) => string {
  const groupOfMachine = new Map<string, string>(
    (facts.machines ?? []).flatMap(({ namespace, name, group }) =>
      group === undefined ? [] : [[`${namespace}/${name}`, group] as const],
    ),
  );
  return (node) => {
    const labelled = poolLabelOf(node.labels, settings.poolLabel);
    if (labelled !== undefined) return validId(labelled);
    const { machine } = node;
    if (machine !== undefined) {
      // Both name a machine after its set, with five characters behind it.
      const group =
        groupOfMachine.get(machine) ??
        node.machineOwner ??
        machine.slice(machine.indexOf('/') + 1).replace(/-[a-z0-9]{5}$/, '');
      return validId(group);
    }
    return DEFAULT_POOL;
  };
}

export interface PoolBounds {
  readonly autoscaling: boolean;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly maxAccelerators: number | undefined;
}

/** Bounds by pool: what a setting says, else the object that scales it, else the cluster autoscaler. */
export function boundsOfPools(
  facts: ClusterFacts,
  settings: AgentSettings,
  poolIds: Iterable<string>,
  poolOf: (node: NodeFacts) => string,
): ReadonlyMap<string, PoolBounds> {
  const groups = nodeGroups(facts);
  const cloud = cloudBounds(facts.cloudGroups, facts.nodes, poolOf);
  return new Map(
    [...poolIds].map((poolId) => [poolId, boundsOf(poolId, groups.get(poolId), cloud.get(poolId), settings)]),
  );
}

function boundsOf(
  poolId: string,
  group: NodeGroupFacts | undefined,
  cloud: CloudBounds | undefined,
  settings: AgentSettings,
): PoolBounds {
  const set = poolSettings(settings, poolId);
  const min = set.minNodes ?? group?.min ?? cloud?.min;
  const max = set.maxNodes ?? group?.max ?? cloud?.max;
  const inverted = min !== undefined && max !== undefined && min > max;
  return {
    autoscaling: set.autoscaling ?? group?.autoscaling ?? (cloud !== undefined && cloud.min < cloud.max),
    // Two sources can contradict each other; then neither is believed.
    min: inverted ? undefined : min,
    max: inverted ? undefined : max,
    maxAccelerators: set.maxAccelerators ?? group?.maxAccelerators,
  };
}

/** By pool id. A MachineAutoscaler says of its MachineSet what annotations say elsewhere. */
export function nodeGroups({
  nodeGroups: groups,
  machineAutoscalers,
}: ClusterFacts): ReadonlyMap<string, NodeGroupFacts> {
  const out = new Map<string, NodeGroupFacts>();
  for (const group of groups) {
    const scaler =
      group.source === 'machineset'
        ? machineAutoscalers.find(
            (each) => each.machineSet === group.name && each.namespace === group.namespace,
          )
        : undefined;
    out.set(
      validId(group.name),
      scaler === undefined ? group : { ...group, autoscaling: true, min: scaler.min, max: scaler.max },
    );
  }
  return out;
}

interface CloudBounds {
  readonly min: number;
  readonly max: number;
  readonly target: number | undefined;
}

/**
 * Cloud groups by pool. On GKE a pool has a group for each zone, and a group's nodes have its
 * hash in their names; on AKS they begin with its name. A pool is known by any one group with a
 * node; groups without nodes have the same stem. Where a stem is of two pools, neither is known.
 */
export function cloudBounds(
  groups: readonly CloudGroupFacts[],
  nodes: readonly NodeFacts[],
  poolOf: (node: NodeFacts) => string,
): ReadonlyMap<string, CloudBounds> {
  const poolsOfStem = new Map<string, Set<string>>();
  const byStem = new Map<string, CloudGroupFacts[]>();
  const named = groups.map((group) => ({ group, ...nameParts(group.name) }));
  for (const { group, stem, owns } of named) {
    const members = byStem.get(stem) ?? [];
    byStem.set(stem, members);
    members.push(group);
    const pools = poolsOfStem.get(stem) ?? new Set<string>();
    poolsOfStem.set(stem, pools);
    for (const node of nodes) if (owns(node.name)) pools.add(poolOf(node));
  }
  const stemsOfPool = new Map<string, string[]>();
  for (const [stem, pools] of poolsOfStem) {
    for (const pool of pools) stemsOfPool.set(pool, [...(stemsOfPool.get(pool) ?? []), stem]);
  }
  const bounds = new Map<string, CloudBounds>();
  for (const [pool, stems] of stemsOfPool) {
    if (stems.some((stem) => (poolsOfStem.get(stem)?.size ?? 0) > 1)) continue;
    const members = stems.flatMap((stem) => byStem.get(stem) ?? []);
    const targets = members.map(({ target }) => target);
    bounds.set(pool, {
      min: sum(members.map(({ min }) => min)),
      max: sum(members.map(({ max }) => max)),
      target: targets.every((target) => target !== undefined) ? sum(targets) : undefined,
    });
  }
  return bounds;
}

const MAX_UINT32 = 2 ** 32 - 1;

function sum(values: readonly (number | undefined)[]): number {
  return Math.min(
    values.reduce<number>((total, value) => total + (value ?? 0), 0),
    MAX_UINT32,
  );
}

function nameParts(path: string): { readonly stem: string; readonly owns: (node: string) => boolean } {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const gke = /^(.+)-([0-9a-f]{8})-grp$/.exec(name);
  if (gke !== null) {
    const infix = `-${gke[2]}-`;
    return {
      stem: gke[1] ?? '',
      owns: (node) => node.startsWith('gke-') && node.lastIndexOf(infix) === node.length - infix.length - 4,
    };
  }
  return { stem: name, owns: (node) => name.startsWith('aks-') && node.startsWith(name) };
}

/**
 * Nodes of a type that were asked for and are not there yet; nothing where no object says.
 *
 * @param alone the only type of its pool
 */
export function pendingNodes(
  type: NodeType,
  alone: boolean,
  facts: ClusterFacts,
  groups: ReadonlyMap<string, NodeGroupFacts>,
  cloud: ReadonlyMap<string, CloudBounds>,
  nodesOfPool: number,
): number | undefined {
  const group = groups.get(type.poolId);
  if (group !== undefined && facts.machines !== undefined) {
    const pending = facts.machines.filter(
      (machine) => machine.group === group.name && !machine.registered && !machine.deleting,
    );
    if (group.source === 'nodepool') return pending.filter((machine) => becomes(machine, type)).length;
    return alone ? pending.length : undefined;
  }
  const target = cloud.get(type.poolId)?.target;
  return target !== undefined && alone ? Math.max(0, target - nodesOfPool) : undefined;
}

function becomes({ labels }: MachineFacts, type: NodeType): boolean {
  const capacity = firstLabel(labels, 'karpenter.sh/capacity-type');
  return (
    firstLabel(labels, 'node.kubernetes.io/instance-type') === type.instanceType &&
    firstLabel(labels, 'topology.kubernetes.io/zone') === type.zone &&
    (capacity === undefined || (capacity === 'spot') === (type.purchaseModel === PurchaseModel.SPOT))
  );
}
