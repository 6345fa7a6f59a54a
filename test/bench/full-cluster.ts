/** A snapshot as large as snapshots get: every node full, every job placed. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type JobStateSchema,
  type NodeOccupancySchema,
  PurchaseModel,
  WorkloadKind,
  WorkloadPhase,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';

/** When it was collected. */
export const FULL_CLUSTER_MS = Date.UTC(2026, 0, 1);

const PODS_PER_CHAIN = 2;
const NODE_TYPES = 8;

/**
 * A full cluster: nodes of eight accelerators that hold a chain of two pods each,
 * chains dealt out to the jobs in turn, and a pending chain for each job that got none.
 */
export function fullCluster(nodes: number, jobs: number): ClusterResourceMap {
  const jobStates = Array.from({ length: jobs }, (_, j) => jobOf(j));
  const inUse: MessageInitShape<typeof NodeOccupancySchema>[][] = Array.from(
    { length: NODE_TYPES },
    () => [],
  );
  for (let n = 0; n < nodes; n++) {
    const job = jobStates[n % jobs];
    if (job === undefined) continue;
    const chainId = `${job.jobId}-serve-${n}`;
    job.rank.chains.push(chainOf(chainId, WorkloadPhase.RUNNING));
    inUse[job.nodeType]?.push({
      allocations: Array.from({ length: PODS_PER_CHAIN }, (_, podIndex) => ({
        jobId: job.jobId,
        rankId: job.rank.rankId,
        chainId,
        podIndex,
        acceleratorCount: 4,
      })),
    });
  }
  for (const job of jobStates) {
    if (job.rank.chains.length === 0)
      job.rank.chains.push(chainOf(`${job.jobId}-serve-0`, WorkloadPhase.PENDING));
  }
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId: 'bench', provider: 'aws', region: 'eu-west-1' },
    collectedAt: { seconds: BigInt(FULL_CLUSTER_MS / 1_000) },
    logicalCounter: 1n,
    capacityPools: [
      {
        id: 'gpu-pool',
        maxNodes: nodes,
        nodeTypes: inUse.map((entries, t) => ({
          id: `p5-48xlarge-zone-${t}`,
          instanceType: 'p5.48xlarge',
          acceleratorModel: 'NVIDIA-H100-80GB-HBM3',
          acceleratorsPerNode: 8,
          totalCount: entries.length,
          pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '98.32' },
          purchaseModel: PurchaseModel.ON_DEMAND,
          fabricId: 'efa',
          eligibleForTandemn: true,
          inUse: entries,
        })),
      },
    ],
    jobs: jobStates.map(({ jobId, rank }) => ({ jobId, workloadKind: WorkloadKind.ONLINE, ranks: [rank] })),
    topology: { fabrics: [{ id: 'efa', transport: 'EFA', rdmaReady: true }] },
  });
}

type Rank = NonNullable<MessageInitShape<typeof JobStateSchema>['ranks']>[number];

function jobOf(j: number) {
  const nodeType = j % NODE_TYPES;
  const nodeTypeId = `p5-48xlarge-zone-${nodeType}`;
  const rank = {
    rankId: 'decode',
    podRequirements: Array.from({ length: PODS_PER_CHAIN }, () => ({
      poolId: 'gpu-pool',
      nodeTypeId,
      acceleratorCount: 4,
    })),
    chains: [] as ReturnType<typeof chainOf>[],
  } satisfies Rank;
  return { jobId: `inference-deployment-${j.toString(16).padStart(8, '0')}`, nodeType, rank };
}

function chainOf(chainId: string, phase: WorkloadPhase) {
  return {
    chainId,
    pods: Array.from({ length: PODS_PER_CHAIN }, (_, podIndex) => ({ podIndex, status: { phase } })),
    status: { phase },
  };
}
