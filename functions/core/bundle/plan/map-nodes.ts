/**
 * The nodes of map snapshots: as anonymous slots that jobs can be planned on, and as the
 * profiles of a pool. A snapshot gives its nodes no identity, so nodes of one type that
 * have equally many accelerators free are interchangeable and stay together as one entry.
 *
 * What a snapshot says of its nodes follows from its content alone, so it can be kept by the
 * content's digest; what the instance types are worth is the operator's word and comes later.
 */
import {
  type ClusterResourceMap,
  type NodeOccupancy,
  type NodeTypeCapacity,
  PurchaseModelSchema,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { Taken } from '../../capacity/fit/room.ts';
import { headroomNodes } from '../../capacity/view/headroom.ts';
import { NOTHING_OWED, type Owed, owedOn } from '../../capacity/view/owed.ts';
import { targetKey } from '../../capacity/view/pods.ts';
import { type ClusterView, clusterView, type TargetView } from '../../capacity/view/view.ts';
import { MAP_ACCELERATOR } from '../model/capabilities.ts';
import type { InstanceCatalogue } from '../model/catalogue.ts';
import type { Capability, NodeProfile, Pool, PoolDescriptor } from '../model/model.ts';
import type { Place } from '../model/place.ts';
import { elasticProfiles, poolKind, selectorMatcher } from '../model/tiers.ts';
import type { SlotCandidate } from '../search/candidates.ts';

/** The nodes of one cluster. */
export interface ClusterNodes {
  /** One for each node type, in the snapshot's order. */
  readonly targets: readonly NodeTypeNodes[];
}

export interface NodeTypeNodes {
  readonly place: Place;
  /** Whether new work may be placed on them. */
  readonly eligible: boolean;
  readonly nodes: number;
  /** Whether further ones are on their way or may be added. */
  readonly mayGrow: boolean;
  /** All accelerators of one node; absent where it has none. */
  readonly accelerator: Capability | undefined;
  readonly slots: readonly Pick<SlotCandidate, 'firstSlot' | 'count' | 'freeAccelerators' | 'idle'>[];
  /** Pods that have their place on these nodes before anything is planned: pending and reserved ones. */
  readonly owed: Owed;
}

/**
 * What a snapshot says of its nodes, ineligible ones too, so that a plan can say that they were left out.
 *
 * @example
 * ```ts
 * import { clusterNodes } from '@resource-map/client/bundle';
 *
 * const nodes = [...replica.clusters.values()].map(clusterNodes);
 * ```
 */
export function clusterNodes(snapshot: ClusterResourceMap): ClusterNodes {
  const { clusterId = '', provider = '', region = '' } = snapshot.cluster ?? {};
  const views = new Map(
    clusterView(snapshot).targets.map((target) => [targetKey(target.poolId, target.nodeTypeId), target]),
  );
  return {
    targets: snapshot.capacityPools.flatMap((pool) =>
      pool.nodeTypes.map((type) => ({
        place: {
          clusterId,
          provider,
          region,
          zone: type.zone,
          poolId: pool.id,
          nodeTypeId: type.id,
          instanceType: type.instanceType,
          acceleratorModels: type.acceleratorModel === '' ? [] : [type.acceleratorModel],
        },
        eligible: type.eligibleForTandemn,
        nodes: type.totalCount,
        accelerator: acceleratorCapability(type),
        slots: slotsOf(type),
        ...derivedOf(views.get(targetKey(pool.id, type.id))),
      })),
    ),
  };
}

/** What follows from the target's demand and from how far its pool may grow. */
function derivedOf(target: TargetView | undefined): Pick<NodeTypeNodes, 'owed' | 'mayGrow'> {
  if (target === undefined) return { owed: NOTHING_OWED, mayGrow: false };
  const headroom = headroomNodes(target.headroom, target.acceleratorsPerNode);
  return { owed: owedOn(target), mayGrow: (target.pendingNodes ?? 0) > 0 || headroom !== 0 };
}

/**
 * The same nodes with claims before everything that is planned.
 *
 * @param view of the same snapshot, without the demand of chains that claims hold already
 * @param taken pods of claims, by targets of the view
 */
export function nodesBehindClaims({ targets }: ClusterNodes, view: ClusterView, taken: Taken): ClusterNodes {
  const views = new Map(view.targets.map((target) => [targetKey(target.poolId, target.nodeTypeId), target]));
  return {
    targets: targets.map((nodes) => {
      const target = views.get(targetKey(nodes.place.poolId, nodes.place.nodeTypeId));
      return target === undefined ? nodes : { ...nodes, owed: owedOn(target, taken.get(target)) };
    }),
  };
}

/**
 * Every node of the clusters, as far as there are any at present.
 *
 * @example
 * ```ts
 * import { BUILT_IN_CATALOGUE, clusterNodes, mapCandidates } from '@resource-map/client/bundle';
 *
 * const candidates = mapCandidates([clusterNodes(snapshot)], BUILT_IN_CATALOGUE);
 * ```
 */
export function mapCandidates(
  clusters: readonly ClusterNodes[],
  catalogue: InstanceCatalogue,
): readonly SlotCandidate[] {
  return clusters.flatMap(({ targets }) =>
    targets.flatMap(({ place, eligible, accelerator, slots, owed }) =>
      slots.map((slot) => ({
        kind: 'slots' as const,
        place,
        eligible,
        accelerator,
        ...(owed.pods.size === 0 ? {} : { owed }),
        ...slot,
        ...catalogue.get(place.instanceType),
      })),
    ),
  );
}

/**
 * What a pool offers over the clusters. The profiles of a cluster tier are the node types
 * that have an eligible node at present, or may get one; those of an elastic tier are its instance types.
 * The clouds are the providers that the tiers name, or else that their nodes stand in.
 *
 * @example
 * ```ts
 * import { BUILT_IN_CATALOGUE, clusterNodes, describePool } from '@resource-map/client/bundle';
 *
 * const pool = { poolName: 'h100', tiers: [{ cluster: { acceleratorModel: ['H100'] } }] };
 * console.log(describePool(pool, [clusterNodes(snapshot)], BUILT_IN_CATALOGUE).nodeProfiles.length);
 * ```
 */
export function describePool(
  pool: Pool,
  clusters: readonly ClusterNodes[],
  catalogue: InstanceCatalogue,
): PoolDescriptor {
  const nodeProfiles: NodeProfile[] = [];
  const clouds = new Set<string>();
  const elastic = elasticProfiles(pool, catalogue);
  for (const [index, tier] of pool.tiers.entries()) {
    if (tier.cluster === undefined) {
      nodeProfiles.push(...elastic.filter((e) => e.tier === index).map((e) => e.profile));
      if (tier.elastic.provider !== undefined) clouds.add(tier.elastic.provider);
      continue;
    }
    const selects = selectorMatcher(tier.cluster);
    for (const provider of tier.cluster.provider ?? []) clouds.add(provider);
    for (const { targets } of clusters) {
      for (const target of targets) {
        if (!selects(target.place)) continue;
        clouds.add(target.place.provider);
        if (target.eligible && (target.nodes > 0 || target.mayGrow))
          nodeProfiles.push(profileOf(target, catalogue));
      }
    }
  }
  // A provider that nobody named is no domain that a backup could be made to avoid.
  clouds.delete('');
  return {
    poolName: pool.poolName,
    kind: poolKind(pool),
    nodeProfiles: eachOnce(nodeProfiles),
    clouds: [...clouds],
  };
}

/** A fleet of a thousand clusters has few kinds of nodes, and every job is held against each profile. */
function eachOnce(profiles: readonly NodeProfile[]): readonly NodeProfile[] {
  return [...new Map(profiles.map((profile) => [JSON.stringify(profile), profile])).values()];
}

function profileOf({ place, accelerator }: NodeTypeNodes, catalogue: InstanceCatalogue): NodeProfile {
  return {
    ...catalogue.get(place.instanceType),
    capabilities: accelerator === undefined ? [] : [accelerator],
  };
}

/**
 * A node type's accelerators as a capability. What the snapshot leaves empty is left out:
 * an attribute that is not there matches nothing.
 */
function acceleratorCapability(type: NodeTypeCapacity): Capability | undefined {
  if (type.acceleratorsPerNode === 0) return undefined;
  const attributes: Record<string, string> = {};
  if (type.acceleratorModel !== '') attributes.model = type.acceleratorModel;
  if (type.instanceType !== '') attributes.instanceType = type.instanceType;
  if (type.zone !== '') attributes.zone = type.zone;
  if (type.fabricId !== '') attributes.fabric = type.fabricId;
  // As ProtoJSON writes it, so that what a client reads in the map is what it asks for.
  const purchaseModel = PurchaseModelSchema.value[type.purchaseModel];
  if (type.purchaseModel !== 0) attributes.purchaseModel = purchaseModel?.name ?? String(type.purchaseModel);
  return { name: MAP_ACCELERATOR, count: type.acceleratorsPerNode, attributes };
}

/** One entry for every number of free accelerators, the fewest first, idle nodes last. */
function slotsOf(type: NodeTypeCapacity): NodeTypeNodes['slots'] {
  const occupied = new Map<number, number>();
  for (const node of type.inUse) {
    const free = freeOn(node, type.acceleratorsPerNode);
    occupied.set(free, (occupied.get(free) ?? 0) + 1);
  }
  const slots: NodeTypeNodes['slots'][number][] = [];
  let firstSlot = 0;
  const add = (count: number, freeAccelerators: number, idle: boolean): void => {
    if (count <= 0) return;
    slots.push({ firstSlot, count, freeAccelerators, idle });
    firstSlot += count;
  };
  for (const [free, count] of [...occupied].sort(([a], [b]) => a - b)) add(count, free, false);
  add(type.totalCount - type.inUse.length, type.acceleratorsPerNode, true);
  return slots;
}

/** Sums of uint32 stay exact in a double up to two million terms of the largest. */
function freeOn(node: NodeOccupancy, perNode: number): number {
  const allocated = node.allocations.reduce((sum, a) => sum + a.acceleratorCount, 0);
  return Math.max(0, perNode - allocated - node.externalAcceleratorsInUse - node.unavailableAccelerators);
}
