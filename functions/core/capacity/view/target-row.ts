/** Targets as the API writes them. */
import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema } from '@bufbuild/protobuf/wkt';
import { type TargetCapacity, TargetCapacitySchema } from '../../../gen/resourcemap/v1/capacity_pb.ts';
import { timestampOf } from '../../timestamp.ts';
import { headroomNodes } from './headroom.ts';
import { EMPTY, type Histogram, volume } from './histogram.ts';
import { targetKey } from './pods.ts';
import { deficitOf } from './served-demand.ts';
import type { ClusterView, TargetView } from './view.ts';

/** A cluster's view with what its head says: which snapshot it is of, and when that was taken. */
export interface DatedView {
  readonly view: ClusterView;
  readonly counter: bigint;
  /** Nanoseconds since the epoch, by the agent's clock. */
  readonly collectedAtNanos: bigint;
  /** What live claims hold, by {@link targetKey}; absent where there are none, or they are not asked for. */
  readonly claimed?: ReadonlyMap<string, ClaimedOnTarget>;
}

/** What live claims hold on a target and no snapshot shows yet. */
export interface ClaimedOnTarget {
  readonly pods: Histogram;
  /** One witness: free accelerators on a node: number of such nodes, behind served demand and claims. */
  readonly freeNodesAfter: Histogram;
  readonly claims: number;
  readonly unbackedClaims: number;
}

/** What claims hold on a target: nothing, as a rule. */
export function claimedOn({ claimed }: DatedView, target: TargetView): ClaimedOnTarget {
  return (
    claimed?.get(targetKey(target.poolId, target.nodeTypeId)) ?? {
      pods: EMPTY,
      freeNodesAfter: target.served.freeNodesAfter,
      claims: 0,
      unbackedClaims: 0,
    }
  );
}

/** @param nowNanos the service's clock, nanoseconds since the epoch, from which ages are counted */
export function targetCapacity(cluster: DatedView, target: TargetView, nowNanos: bigint): TargetCapacity {
  const { view, counter, collectedAtNanos } = cluster;
  const { occupancy, demand, served } = target;
  const claimed = claimedOn(cluster, target);
  const deficit = deficitOf(demand, served);
  const headroom = headroomNodes(target.headroom, target.acceleratorsPerNode);
  return create(TargetCapacitySchema, {
    clusterId: view.clusterId,
    provider: view.provider,
    region: view.region,
    site: view.site,
    poolId: target.poolId,
    nodeTypeId: target.nodeTypeId,
    instanceType: target.instanceType,
    acceleratorModel: target.acceleratorModel,
    acceleratorsPerNode: target.acceleratorsPerNode,
    purchaseModel: target.purchaseModel,
    zone: target.zone,
    fabricId: target.fabricId,
    ...(target.rdmaReady === undefined ? {} : { rdmaReady: target.rdmaReady }),
    eligible: target.eligible,
    ...(target.priceAsWritten === undefined ? {} : { pricePerNodeHour: target.priceAsWritten }),
    ...(target.maxRunDuration === undefined ? {} : { maxRunDuration: target.maxRunDuration }),
    nodes: occupancy.nodes,
    idleNodes: occupancy.idleNodes,
    ...(target.pendingNodes === undefined ? {} : { pendingNodes: target.pendingNodes }),
    accelerators: occupancy.total,
    allocated: occupancy.allocated,
    external: occupancy.external,
    unavailable: occupancy.unavailable,
    free: occupancy.free,
    freeHistogram: numbersByKey(occupancy.freeNodes),
    freeHistogramAfterDemand: numbersByKey(served.freeNodesAfter),
    pendingDemand: uint64(volume(demand.pending)),
    reservedDemand: uint64(volume(demand.reserved)),
    deficit: uint64(volume(deficit.pending) + volume(deficit.reserved)),
    pendingPods: bigintsByKey(demand.pending),
    reservedPods: bigintsByKey(demand.reserved),
    pendingDeficitPods: bigintsByKey(deficit.pending),
    reservedDeficitPods: bigintsByKey(deficit.reserved),
    deficitUndecided: served.undecided,
    ...(target.deficitServedByPending === undefined
      ? {}
      : { deficitServedByPendingNodes: uint64(target.deficitServedByPending) }),
    ...(headroom === undefined ? {} : { headroomNodes: BigInt(headroom) }),
    logicalCounter: counter,
    collectedAt: timestampOf(collectedAtNanos),
    age: ageOf(collectedAtNanos, nowNanos),
    claimed: uint64(volume(claimed.pods)),
    claimedPods: bigintsByKey(claimed.pods),
    freeHistogramAfterClaims: numbersByKey(claimed.freeNodesAfter),
    claims: claimed.claims,
    unbackedClaims: claimed.unbackedClaims,
  });
}

/** An agent's clock may be ahead of ours; nothing is younger than now. */
export function ageOf(collectedAtNanos: bigint, nowNanos: bigint): Duration {
  const nanos = nowNanos > collectedAtNanos ? nowNanos - collectedAtNanos : 0n;
  return create(DurationSchema, { seconds: nanos / 1_000_000_000n, nanos: Number(nanos % 1_000_000_000n) });
}

const MAX_UINT64 = 2n ** 64n - 1n;

/** Sums over made-up clusters can leave the wire's range; they stop at its end and never wrap. */
export function uint64(value: bigint): bigint {
  return value > MAX_UINT64 ? MAX_UINT64 : value;
}

/** A histogram as the wire's map. Its keys are numbers, so no key can name a property that an object has. */
export function numbersByKey(histogram: Histogram): Record<number, number> {
  return Object.fromEntries(histogram);
}

export function bigintsByKey(histogram: Histogram): Record<number, bigint> {
  return Object.fromEntries([...histogram].map(([size, times]) => [size, BigInt(times)]));
}
