/** Section *Occupancy*: the compute section and the job section say the same of every allocation. */
import {
  type NodeOccupancy,
  type PodAllocation,
  type PodRequirement,
  WorkloadPhase,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { isValidId, reportInvalidId } from './ids.ts';
import { reject, rulesOf, warn } from './rule.ts';
import {
  type ChainEntry,
  type JobEntry,
  type NodeTypeEntry,
  nodeTypeName,
  type RankEntry,
  type SnapshotIndex,
} from './snapshot-index.ts';

const ENTRY = 'capacity_pools[].node_types[].in_use[]';
const ALLOCATION = `${ENTRY}.allocations[]`;

export const occupancyRules = rulesOf({
  empty_occupancy: reject(ENTRY, 'An entry has an allocation, external or unavailable accelerators.'),
  node_overcommitted: reject(
    ENTRY,
    'Allocated, external and unavailable accelerators of an entry are together at most `accelerators_per_node`. What is free is exactly the difference.',
  ),
  zero_allocation: reject(`${ALLOCATION}.accelerator_count`, 'An allocation holds at least 1 accelerator.'),
  unknown_allocation: reject(
    [`${ALLOCATION}.job_id`, `${ALLOCATION}.rank_id`, `${ALLOCATION}.chain_id`, `${ALLOCATION}.pod_index`],
    'The job, its rank and the rank’s chain are in `jobs`, and `pod_index` is an index of the rank’s `pod_requirements`.',
  ),
  allocation_off_target: reject(
    ALLOCATION,
    'The allocation is in the pool and node type that its pod requirement names. Needs an allocation that names a pod which is there, and a requirement that names a node type which is there (`unknown_requirement_target`).',
  ),
  allocation_count_mismatch: reject(
    `${ALLOCATION}.accelerator_count`,
    '`accelerator_count` is that of the pod requirement (where it is 0, only `zero_allocation` is reported). Needs an allocation that names a pod which is there (`unknown_allocation`), and a requirement that a node can meet.',
  ),
  duplicate_allocation: reject(
    ALLOCATION,
    'A pod, which is a job, rank, chain and `pod_index`, is allocated at most once in the cluster. Needs an allocation that names a pod which is there (`unknown_allocation`).',
  ),
  allocation_after_end: warn(
    ALLOCATION,
    'The pod has not SUCCEEDED or FAILED. While its allocation is there, it counts as used. Needs an allocation that names a pod which is there (`unknown_allocation`).',
  ),
});

/** Checks the entries of `in_use`, and notes on each chain which of its pods are allocated. */
export function checkOccupancy(nodeType: NodeTypeEntry, index: SnapshotIndex, out: FindingCollector): void {
  const { inUse } = nodeType.type;
  const at = new AllocationCursor(nodeType);
  for (at.entry = 0; at.entry < inUse.length; at.entry++) {
    const entry = inUse[at.entry] as NodeOccupancy;
    checkEntry(entry, at, out);
    const { allocations } = entry;
    for (at.allocation = 0; at.allocation < allocations.length; at.allocation++) {
      checkAllocation(allocations[at.allocation] as PodAllocation, at, index, out);
    }
  }
}

/** Where the check stands. It moves on, so paths are taken from it when something is found. */
class AllocationCursor {
  entry = 0;
  allocation = 0;

  constructor(readonly nodeType: NodeTypeEntry) {}

  get entryPath(): string {
    return `${this.nodeType.path}.in_use[${this.entry}]`;
  }

  get path(): string {
    return `${this.entryPath}.allocations[${this.allocation}]`;
  }
}

function checkEntry(entry: NodeOccupancy, at: AllocationCursor, out: FindingCollector): void {
  const { allocations, externalAcceleratorsInUse: external, unavailableAccelerators: unavailable } = entry;
  const { nodeType } = at;
  if (allocations.length === 0 && external === 0 && unavailable === 0) {
    out.report(
      occupancyRules.empty_occupancy,
      () => at.entryPath,
      () =>
        `the entry holds no accelerators of ${nodeType.name}; leave it out: a node that is not listed is idle`,
    );
    return;
  }
  // A double cannot wrap, and does not lose its order against a uint32.
  let allocated = 0;
  for (let a = 0; a < allocations.length; a++)
    allocated += (allocations[a] as PodAllocation).acceleratorCount;
  const { acceleratorsPerNode } = nodeType.type;
  const taken = allocated + external + unavailable;
  if (taken > acceleratorsPerNode) {
    out.report(
      occupancyRules.node_overcommitted,
      () => at.entryPath,
      () =>
        `${allocated} allocated, ${external} external and ${unavailable} unavailable accelerators are ${taken}, ` +
        `but a node of ${nodeType.name} has ${acceleratorsPerNode}`,
    );
  }
}

function checkAllocation(
  allocation: PodAllocation,
  at: AllocationCursor,
  index: SnapshotIndex,
  out: FindingCollector,
): void {
  const job = index.jobById(allocation.jobId);
  const rank = job?.ranks.byId(allocation.rankId);
  const chain = rank?.chains.byId(allocation.chainId);
  const requirement = chain?.rank.rank.podRequirements[allocation.podIndex];
  const isFirst = chain?.allocate(allocation.podIndex) === true;
  if (chain !== undefined && requirement !== undefined) {
    checkPlacement(allocation.podIndex, isFirst, chain, requirement, at, index, out);
  }
  if (requirement === undefined || !(job?.validId && rank?.validId && chain?.validId)) {
    checkReference(allocation, job, rank, chain, at, out);
  }
  checkCount(allocation, chain, requirement, at, index, out);
}

/** What concerns the allocation of a pod that is there: where it stands, that it is the only one, and that the pod runs. */
function checkPlacement(
  podIndex: number,
  isFirst: boolean,
  chain: ChainEntry,
  { poolId, nodeTypeId }: PodRequirement,
  at: AllocationCursor,
  index: SnapshotIndex,
  out: FindingCollector,
): void {
  const { nodeType } = at;
  const onTarget = nodeTypeId === nodeType.id && poolId === nodeType.pool.id;
  // A requirement on nothing is refused as such; no allocation could stand there.
  if (!onTarget && index.nodeTypeById(poolId, nodeTypeId) !== undefined) {
    out.report(
      occupancyRules.allocation_off_target,
      () => at.path,
      () =>
        `pod ${podIndex} of ${chain.name} is on ${nodeType.name}, but its pod requirement names ` +
        `${nodeTypeName(poolId, nodeTypeId)}; it must be there`,
    );
  }
  if (!isFirst) {
    out.report(
      occupancyRules.duplicate_allocation,
      () => at.path,
      () =>
        `pod ${podIndex} of ${chain.name} is allocated in ${index.firstEntryPath(chain, podIndex)} already; ` +
        'a pod is allocated once',
    );
  }
  const phase = chain.podPhase(podIndex);
  if (phase === WorkloadPhase.SUCCEEDED || phase === WorkloadPhase.FAILED) {
    out.report(
      occupancyRules.allocation_after_end,
      () => at.path,
      () =>
        `pod ${podIndex} of ${chain.name} has ${WorkloadPhase[phase]}, but still holds its accelerators; ` +
        'they count as used until the allocation is gone',
    );
  }
}

/** Reports which of the ids is invalid, and the first of them that is not in `jobs`. */
function checkReference(
  { jobId, rankId, chainId, podIndex }: PodAllocation,
  job: JobEntry | undefined,
  rank: RankEntry | undefined,
  chain: ChainEntry | undefined,
  at: AllocationCursor,
  out: FindingCollector,
): void {
  const path = () => at.path;
  if (!isValidId(jobId)) reportInvalidId(jobId, path, 'job_id', out);
  if (job === undefined) {
    out.report(
      occupancyRules.unknown_allocation,
      () => `${at.path}.job_id`,
      () =>
        `job_id ${quote(jobId)} is not in jobs; list the job, or count its accelerators as external_accelerators_in_use`,
    );
  }
  if (!isValidId(rankId)) reportInvalidId(rankId, path, 'rank_id', out);
  if (job !== undefined && rank === undefined) {
    out.report(
      occupancyRules.unknown_allocation,
      () => `${at.path}.rank_id`,
      () => `rank_id ${quote(rankId)} is not a rank of job ${quote(jobId)}; list the rank there`,
    );
  }
  if (!isValidId(chainId)) reportInvalidId(chainId, path, 'chain_id', out);
  if (rank !== undefined && chain === undefined) {
    out.report(
      occupancyRules.unknown_allocation,
      () => `${at.path}.chain_id`,
      () => `chain_id ${quote(chainId)} is not a chain of ${rank.name}; list the chain there`,
    );
  }
  // A rank without requirements is refused as such.
  const requirements = chain?.rank.rank.podRequirements.length ?? 0;
  if (chain !== undefined && requirements > 0 && podIndex >= requirements) {
    out.report(
      occupancyRules.unknown_allocation,
      () => `${at.path}.pod_index`,
      () =>
        `pod_index is ${podIndex}, but ${chain.rank.name} has ${requirements} pod_requirements; the highest index is ${requirements - 1}`,
    );
  }
}

function checkCount(
  { podIndex, acceleratorCount }: PodAllocation,
  chain: ChainEntry | undefined,
  requirement: PodRequirement | undefined,
  at: AllocationCursor,
  index: SnapshotIndex,
  out: FindingCollector,
): void {
  if (acceleratorCount === 0) {
    out.report(
      occupancyRules.zero_allocation,
      () => `${at.path}.accelerator_count`,
      () =>
        'accelerator_count is 0; an allocation holds at least 1, and a pod that holds none has no allocation',
    );
  } else if (
    requirement !== undefined &&
    acceleratorCount !== requirement.acceleratorCount &&
    fitsOnNode(requirement, index)
  ) {
    out.report(
      occupancyRules.allocation_count_mismatch,
      () => `${at.path}.accelerator_count`,
      () =>
        `accelerator_count is ${acceleratorCount}, but pod ${podIndex} of ${chain?.rank.name} requires ` +
        `${requirement.acceleratorCount}; they must be equal`,
    );
  }
}

/** A requirement that no node could meet is refused as such; no allocation could equal it. */
function fitsOnNode({ poolId, nodeTypeId, acceleratorCount }: PodRequirement, index: SnapshotIndex): boolean {
  const perNode = index.nodeTypeById(poolId, nodeTypeId)?.type.acceleratorsPerNode ?? Infinity;
  return acceleratorCount > 0 && acceleratorCount <= perNode;
}
