/** Snapshots of clusters in a few words, for questions about what is left in them. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DatedView } from '../../../functions/core/capacity/view/target-row.ts';
import { clusterView } from '../../../functions/core/capacity/view/view.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  PurchaseModel,
  WorkloadPhase,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

/** 2026-01-01T00:00:00Z, when every snapshot here was taken. */
export const COLLECTED_AT_MS = 1_767_225_600_000;

/** What one node holds already; the rest is free. */
export interface NodeInit {
  readonly external?: number;
  readonly unavailable?: number;
  /** Pods of running chains: chain name, as in {@link ChainInit}, and pod index. */
  readonly pods?: readonly { readonly chain: string; readonly index: number }[];
}

export interface TypeInit {
  readonly pool?: string;
  readonly type?: string;
  readonly perNode?: number;
  /** Nodes that nothing uses. */
  readonly idle?: number;
  readonly nodes?: readonly NodeInit[];
  readonly model?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly fabric?: string;
  readonly purchaseModel?: PurchaseModel;
  readonly price?: string;
  readonly currency?: string;
  readonly eligible?: boolean;
  readonly pendingNodes?: number;
  /** Reserved chains, by the name of their rank. */
  readonly reserved?: Readonly<Record<string, number>>;
}

export interface ChainInit {
  readonly name: string;
  readonly phase?: WorkloadPhase;
  /** Of each pod; PENDING where it is left out. */
  readonly podPhases?: readonly WorkloadPhase[];
}

/** A rank, which is all of its job here. */
export interface RankInit {
  readonly name: string;
  /** Each pod of a chain: accelerators, and where; the first node type of the cluster if it is left out. */
  readonly pods: readonly { readonly count: number; readonly pool?: string; readonly type?: string }[];
  readonly chains?: readonly ChainInit[];
}

export interface PoolInit {
  readonly autoscaling?: boolean;
  readonly maxNodes?: number;
  readonly maxAccelerators?: number;
}

export interface ClusterInit {
  readonly id?: string;
  readonly provider?: string;
  readonly region?: string;
  readonly site?: string;
  readonly types: readonly TypeInit[];
  readonly pools?: Readonly<Record<string, PoolInit>>;
  readonly ranks?: readonly RankInit[];
  /** Whether each fabric is RDMA-ready. */
  readonly fabrics?: Readonly<Record<string, boolean>>;
}

export const POOL = 'gpu';
export const TYPE = 'h100';

/** A valid snapshot: what it says of nodes, chains and reservations agrees. */
export function cluster(init: ClusterInit): ClusterResourceMap {
  const ranks = init.ranks ?? [];
  const [first] = init.types;
  const rankOf = new Map(ranks.flatMap((rank) => (rank.chains ?? []).map(({ name }) => [name, rank])));
  const poolIds = [...new Set(init.types.map(({ pool }) => pool ?? POOL))];
  return create(ClusterResourceMapSchema, {
    cluster: {
      clusterId: init.id ?? 'c1',
      provider: init.provider ?? '',
      region: init.region ?? '',
      site: init.site ?? '',
    },
    collectedAt: timestampFromMs(COLLECTED_AT_MS),
    logicalCounter: 1n,
    topology: { fabrics: Object.entries(init.fabrics ?? {}).map(([id, rdmaReady]) => ({ id, rdmaReady })) },
    capacityPools: poolIds.map((id) => {
      const pool = init.pools?.[id] ?? {};
      return {
        id,
        autoscalingEnabled: pool.autoscaling ?? false,
        ...(pool.maxNodes === undefined ? {} : { maxNodes: pool.maxNodes }),
        ...(pool.maxAccelerators === undefined ? {} : { maxAccelerators: pool.maxAccelerators }),
        nodeTypes: init.types
          .filter((type) => (type.pool ?? POOL) === id)
          .map((type) => ({
            id: type.type ?? TYPE,
            instanceType: type.instanceType ?? '',
            acceleratorModel: type.model ?? 'H100',
            acceleratorsPerNode: type.perNode ?? 8,
            totalCount: (type.idle ?? 0) + (type.nodes?.length ?? 0),
            purchaseModel: type.purchaseModel ?? PurchaseModel.ON_DEMAND,
            zone: type.zone ?? '',
            fabricId: type.fabric ?? '',
            eligibleForTandemn: type.eligible ?? true,
            ...(type.pendingNodes === undefined ? {} : { pendingNodeCount: type.pendingNodes }),
            ...(type.price === undefined
              ? {}
              : { pricePerNodeHour: { currencyCode: type.currency ?? 'USD', decimalAmount: type.price } }),
            inUse: (type.nodes ?? []).map((node) => ({
              externalAcceleratorsInUse: node.external ?? 0,
              unavailableAccelerators: node.unavailable ?? 0,
              allocations: (node.pods ?? []).map(({ chain, index }) => {
                const rank = rankOf.get(chain);
                return {
                  jobId: rank?.name ?? '',
                  rankId: rank?.name ?? '',
                  chainId: chain,
                  podIndex: index,
                  acceleratorCount: rank?.pods[index]?.count ?? 0,
                };
              }),
            })),
            reservedForAutoscaling: Object.entries(type.reserved ?? {}).map(([name, additionalChains]) => ({
              jobId: name,
              rankId: name,
              additionalChains,
            })),
          })),
      };
    }),
    jobs: ranks.map(({ name, pods, chains = [] }) => ({
      jobId: name,
      ranks: [
        {
          rankId: name,
          podRequirements: pods.map(({ count, pool, type }) => ({
            poolId: pool ?? first?.pool ?? POOL,
            nodeTypeId: type ?? first?.type ?? TYPE,
            acceleratorCount: count,
          })),
          chains: chains.map(({ name, phase, podPhases }) => ({
            chainId: name,
            status: { phase: phase ?? WorkloadPhase.PENDING },
            pods: pods.map((_, podIndex) => ({
              podIndex,
              status: { phase: podPhases?.[podIndex] ?? WorkloadPhase.PENDING },
            })),
          })),
        },
      ],
    })),
  });
}

/** Nodes with this many free accelerators each, the others in external use. */
export function freeNodes(perNode: number, free: readonly number[]): readonly NodeInit[] {
  return free.map((left) => ({ external: perNode - left }));
}

/** A rank with so many pending chains of one pod each. */
export function pending(name: string, count: number, chains: number, type?: string): RankInit {
  return {
    name,
    pods: [{ count, ...(type === undefined ? {} : { type }) }],
    chains: Array.from({ length: chains }, (_, index) => ({ name: `${name}-${index}` })),
  };
}

/** The view of a snapshot, dated as it says. */
export function dated(init: ClusterInit): DatedView {
  return {
    view: clusterView(cluster(init)),
    counter: 1n,
    collectedAtNanos: BigInt(COLLECTED_AT_MS) * 1_000_000n,
  };
}
