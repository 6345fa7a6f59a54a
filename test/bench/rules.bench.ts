/**
 * What the rule book costs, against decoding the same bytes: a gate that costs less
 * than reading what passes through it is no reason to leave it open.
 *
 *     npm run bench:rules
 *
 * Each round decodes again and validates what it decoded, since strings that were
 * looked up before are found faster than those of a push ever are. Figures are medians
 * of the process's own CPU time, which other processes on the machine disturb less than
 * they do the clock's; it includes the garbage collector's threads. The last column is
 * the cost of validation per message of the snapshot: linear means that it stays level
 * while the snapshot grows, but for what larger heaps cost in cache misses and in
 * garbage collection, which decoding pays as well.
 */
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { checkSnapshot } from '../../functions/core/snapshot/rules/index.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type JobStateSchema,
  type NodeOccupancySchema,
  PurchaseModel,
  WorkloadKind,
  WorkloadPhase,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { SHORT } from './short.ts';

const NODES = [100, 1_000, 10_000];
const JOBS = [10, 1_000, 20_000];
const NOW_MS = Date.UTC(2026, 0, 1);

const PODS_PER_CHAIN = 2;
const NODE_TYPES = 8;

/**
 * A full cluster: nodes of eight accelerators that hold a chain of two pods each,
 * chains dealt out to the jobs in turn, and a pending chain for each job that got none.
 */
function fullCluster(nodes: number, jobs: number): ClusterResourceMap {
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
    collectedAt: { seconds: BigInt(NOW_MS / 1_000) },
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

/** Messages in the snapshot, nested ones included. */
function countMessages(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + countMessages(element), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, field) => sum + countMessages(field), 1);
}

function median(samples: number[]): number {
  return samples.sort((a, b) => a - b)[samples.length >> 1] ?? Number.NaN;
}

/** Milliseconds of CPU time that this process has used. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function measure(nodes: number, jobs: number) {
  const snapshot = fullCluster(nodes, jobs);
  const bytes = toBinary(ClusterResourceMapSchema, snapshot);
  const decode: number[] = [];
  const validate: number[] = [];
  const until = performance.now() + (SHORT ? 0 : 2_000);
  while (decode.length < 7 || performance.now() < until) {
    const start = cpuMs();
    const decoded = fromBinary(ClusterResourceMapSchema, bytes);
    const between = cpuMs();
    const { rejects, warnings } = checkSnapshot(decoded, { nowMs: NOW_MS });
    const end = cpuMs();
    if (rejects + warnings > 0) throw new Error('The snapshot of the bench must break no rule.');
    decode.push(between - start);
    validate.push(end - between);
  }
  const messages = countMessages(snapshot);
  const decodeMs = median(decode);
  const validateMs = median(validate);
  return {
    nodes,
    jobs,
    'KB encoded': Math.round(bytes.length / 1_000),
    'decode ms': decodeMs.toFixed(3),
    'validate ms': validateMs.toFixed(3),
    'validate / decode': (validateMs / decodeMs).toFixed(2),
    'decode ns / message': Math.round((decodeMs * 1e6) / messages),
    'validate ns / message': Math.round((validateMs * 1e6) / messages),
  };
}

for (let warmUp = 0; warmUp < (SHORT ? 1 : 200); warmUp++) {
  checkSnapshot(fullCluster(100, 10), { nowMs: NOW_MS });
}
console.table(NODES.flatMap((nodes) => JOBS.map((jobs) => measure(nodes, jobs))));
