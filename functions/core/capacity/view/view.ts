/**
 * A cluster's remaining capacity, derived from one snapshot and nothing else: no clock,
 * no counter. So a view is as good as its snapshot's content, and can be kept by the
 * content's digest.
 */
import type {
  ClusterResourceMap,
  HourlyPrice,
  NodeTypeCapacity,
  PurchaseModel,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { compareUtf8 } from '../../utf8-order.ts';
import { type Decimal, parseDecimal } from '../decimal.ts';
import { STEPS_PER_VIEW } from '../packing/limits.ts';
import { Work } from '../packing/work.ts';
import { type Demand, demandOf } from './demand.ts';
import { type Headroom, headroomOf } from './headroom.ts';
import { type Histogram, plus, volume } from './histogram.ts';
import { type Occupancy, occupancyOf } from './occupancy.ts';
import { type ChainKeys, type ChainName, chainKey, NO_CHAINS } from './pods.ts';
import { type ServedDemand, serveDemand, serveNothing } from './served-demand.ts';

/** Price of one node-hour. */
export interface Price {
  readonly currency: string;
  /** As the snapshot writes it. */
  readonly text: string;
  readonly amount: Decimal;
}

/** One node type of a pool: the smallest thing that work is placed on. */
export interface TargetView {
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly instanceType: string;
  readonly acceleratorModel: string;
  readonly acceleratorsPerNode: number;
  readonly purchaseModel: PurchaseModel;
  readonly zone: string;
  readonly fabricId: string;
  /** `undefined`: the fabric is unknown. */
  readonly rdmaReady: boolean | undefined;
  /** Whether new work may be placed here. */
  readonly eligible: boolean;
  /** `undefined`: unknown, which is not free of charge. */
  readonly price: Price | undefined;
  /** As the snapshot writes it, also an amount that is too long to be reckoned with. */
  readonly priceAsWritten: HourlyPrice | undefined;
  readonly maxRunDuration: NodeTypeCapacity['maxRunDuration'];
  /** On their way, in no other figure; `undefined`: unknown. */
  readonly pendingNodes: number | undefined;
  readonly occupancy: Occupancy;
  readonly demand: Demand;
  readonly served: ServedDemand;
  /** Accelerators of the deficit that the nodes on their way will serve; `undefined`: unknown. */
  readonly deficitServedByPending: bigint | undefined;
  /** The pool's, shared by all its node types. */
  readonly headroom: Headroom;
}

/** A cluster by its targets, in order of pool and node type id. */
export interface ClusterView {
  readonly clusterId: string;
  readonly provider: string;
  readonly region: string;
  readonly site: string;
  readonly targets: readonly TargetView[];
}

/**
 * Derives the view of a snapshot that keeps the rules.
 *
 * @param released chains that count as gone, for the question what a swap would bring
 * @throws RangeError where the snapshot breaks the rules that its figures rest on
 */
export function clusterView(snapshot: ClusterResourceMap, released: ChainKeys = NO_CHAINS): ClusterView {
  const demand = demandOf(snapshot, released);
  const rdmaReady = new Map(snapshot.topology?.fabrics.map(({ id, rdmaReady }) => [id, rdmaReady]));
  const work = new Work(STEPS_PER_VIEW);
  const targets = snapshot.capacityPools.flatMap((pool) => {
    const headroom = headroomOf(pool);
    return pool.nodeTypes.map((type) =>
      targetView(pool.id, type, {
        released,
        headroom,
        demand: demand.on(pool.id, type.id),
        rdmaReady: rdmaReady.get(type.fabricId),
        work,
      }),
    );
  });
  return {
    clusterId: snapshot.cluster?.clusterId ?? '',
    provider: snapshot.cluster?.provider ?? '',
    region: snapshot.cluster?.region ?? '',
    site: snapshot.cluster?.site ?? '',
    targets: targets.sort(
      (a, b) => compareUtf8(a.poolId, b.poolId) || compareUtf8(a.nodeTypeId, b.nodeTypeId),
    ),
  };
}

interface TargetContext {
  readonly released: ChainKeys;
  readonly headroom: Headroom;
  readonly demand: Demand;
  readonly rdmaReady: boolean | undefined;
  readonly work: Work;
}

function targetView(
  poolId: string,
  type: NodeTypeCapacity,
  { released, headroom, demand, rdmaReady, work }: TargetContext,
): TargetView {
  const occupancy = occupancyOf(type, released);
  const { freeNodes } = occupancy;
  const served = type.eligibleForTandemn ? serveDemand(freeNodes, demand, work) : serveNothing(freeNodes);
  return {
    poolId,
    nodeTypeId: type.id,
    instanceType: type.instanceType,
    acceleratorModel: type.acceleratorModel,
    acceleratorsPerNode: type.acceleratorsPerNode,
    purchaseModel: type.purchaseModel,
    zone: type.zone,
    fabricId: type.fabricId,
    rdmaReady,
    eligible: type.eligibleForTandemn,
    price: priceOf(type.pricePerNodeHour),
    priceAsWritten: type.pricePerNodeHour,
    maxRunDuration: type.maxRunDuration,
    pendingNodes: type.pendingNodeCount,
    occupancy,
    demand,
    served,
    deficitServedByPending: servedByPending(type, freeNodes, demand, served, work),
    headroom,
  };
}

/** What more of the demand is served once the nodes on their way are there. */
function servedByPending(
  { pendingNodeCount, acceleratorsPerNode, eligibleForTandemn }: NodeTypeCapacity,
  freeNodes: Histogram,
  demand: Demand,
  served: ServedDemand,
  work: Work,
): bigint | undefined {
  if (pendingNodeCount === undefined) return undefined;
  const before = volume(served.pending) + volume(served.reserved);
  const isServed = before === volume(demand.pending) + volume(demand.reserved);
  if (pendingNodeCount === 0 || acceleratorsPerNode === 0 || !eligibleForTandemn || isServed) return 0n;
  const nodes = plus(freeNodes, new Map([[acceleratorsPerNode, pendingNodeCount]]));
  const then = serveDemand(nodes, demand, work);
  const more = volume(then.pending) + volume(then.reserved) - before;
  return more > 0n ? more : 0n;
}

function priceOf(price: HourlyPrice | undefined): Price | undefined {
  const amount = price === undefined ? undefined : parseDecimal(price.decimalAmount);
  if (price === undefined || amount === undefined) return undefined;
  return { currency: price.currencyCode, text: price.decimalAmount, amount };
}

/** The first of these chains that the snapshot does not have. */
export function missingChain(
  snapshot: ClusterResourceMap,
  chains: readonly ChainName[],
): ChainName | undefined {
  const keys = new Set<string>();
  for (const { jobId, ranks } of snapshot.jobs) {
    for (const { rankId, chains } of ranks) {
      for (const { chainId } of chains) keys.add(chainKey({ jobId, rankId, chainId }));
    }
  }
  return chains.find((chain) => !keys.has(chainKey(chain)));
}
