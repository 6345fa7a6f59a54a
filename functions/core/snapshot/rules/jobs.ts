/** Section *Jobs, ranks, chains, pods*. */
import {
  type PodRequirement,
  type PodState,
  WorkloadKind,
  WorkloadKindSchema,
  WorkloadPhase,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { checkPhase, isKnownKind, isKnownPhase, reportUnknownEnum } from './enums.ts';
import { isValidId, reportInvalidId } from './ids.ts';
import { reject, rulesOf, warn } from './rule.ts';
import {
  type ChainEntry,
  type JobEntry,
  nodeTypeName,
  type RankEntry,
  type SnapshotIndex,
} from './snapshot-index.ts';

const RANK = 'jobs[].ranks[]';
const CHAIN = `${RANK}.chains[]`;

export const jobRules = rulesOf({
  duplicate_job_id: reject(
    'jobs[].job_id',
    'Job ids are unique in the snapshot. The same job id in another cluster is legal.',
  ),
  duplicate_rank_id: reject(`${RANK}.rank_id`, 'Rank ids are unique in their job.'),
  duplicate_chain_id: reject(`${CHAIN}.chain_id`, 'Chain ids are unique in their rank.'),
  unspecified_workload_kind: warn('jobs[].workload_kind', '`workload_kind` is set.'),
  missing_pod_requirements: reject(`${RANK}.pod_requirements`, 'A rank has at least one pod requirement.'),
  unknown_requirement_target: reject(
    [`${RANK}.pod_requirements[].pool_id`, `${RANK}.pod_requirements[].node_type_id`],
    'The pool and its node type are in the snapshot.',
  ),
  requirement_exceeds_node: reject(
    `${RANK}.pod_requirements[].accelerator_count`,
    '`accelerator_count` is from 1 to the node type’s `accelerators_per_node`: a pod fits on one node.',
  ),
  chain_bounds_inverted: reject(
    [`${RANK}.min_chains`, `${RANK}.desired_chains`],
    '`min_chains` ≤ `desired_chains` ≤ `max_chains`, each pair where both are present.',
  ),
  pod_states_incomplete: reject(
    `${CHAIN}.pods`,
    'Every chain has exactly one PodState for each index of the rank’s pod requirements, in any order.',
  ),
  chains_above_max: warn(`${RANK}.chains`, 'The chains that have not ended are at most `max_chains`.'),
  chains_below_desired: warn(
    `${RANK}.chains`,
    'The chains that have not ended are at least `desired_chains`.',
  ),
  running_without_allocation: warn(
    `${CHAIN}.pods[]`,
    'A pod that is STARTING, RUNNING or DEGRADED has an allocation.',
  ),
  zero_parallelism: warn(
    ['tensor', 'pipeline', 'data', 'expert', 'context', 'sequence'].map(
      (degree) => `${RANK}.runtime.parallelism.${degree}`,
    ),
    'A parallelism degree, where present, is above 0. Degrees are never multiplied to check accelerators: how they compose is the engine’s business.',
  ),
});

/**
 * Checks `jobs`. The pools must have been checked before: which pods are allocated is
 * known after that.
 */
export function checkJobs(index: SnapshotIndex, out: FindingCollector): void {
  for (const job of index.jobs) checkJob(job, index, out);
}

function checkJob(job: JobEntry, index: SnapshotIndex, out: FindingCollector): void {
  const { jobId, workloadKind, status } = job.job;
  if (!job.validId) reportInvalidId(jobId, () => job.path, 'job_id', out);
  const { duplicateOf } = job;
  if (duplicateOf !== undefined) {
    out.report(
      jobRules.duplicate_job_id,
      () => `${job.path}.job_id`,
      () =>
        `job_id ${quote(jobId)} is that of ${duplicateOf.path} already; list a job once, with all its ranks`,
    );
  }
  if (workloadKind === WorkloadKind.UNSPECIFIED) {
    out.report(
      jobRules.unspecified_workload_kind,
      () => `${job.path}.workload_kind`,
      () => `workload_kind of job ${quote(jobId)} is not set; say ONLINE or BATCH`,
    );
  } else if (!isKnownKind(workloadKind)) {
    reportUnknownEnum(WorkloadKindSchema, workloadKind, () => job.path, 'workload_kind', out);
  }
  for (const rank of job.ranks.list) checkRank(rank, index, out);
  checkPhase(status, job, out);
}

function checkRank(rank: RankEntry, index: SnapshotIndex, out: FindingCollector): void {
  const { rankId, podRequirements, status } = rank.rank;
  if (!rank.validId) reportInvalidId(rankId, () => rank.path, 'rank_id', out);
  const { duplicateOf } = rank;
  if (duplicateOf !== undefined) {
    out.report(
      jobRules.duplicate_rank_id,
      () => `${rank.path}.rank_id`,
      () =>
        `rank_id ${quote(rankId)} of job ${quote(rank.job.job.jobId)} is that of ${duplicateOf.path} already; ` +
        'give each rank of a job an id of its own',
    );
  }
  checkParallelism(rank, out);
  if (podRequirements.length === 0) {
    out.report(
      jobRules.missing_pod_requirements,
      () => `${rank.path}.pod_requirements`,
      () => `${rank.name} has no pod_requirements; list one for each pod with accelerators of a chain`,
    );
  }
  for (let q = 0; q < podRequirements.length; q++) {
    checkRequirement(podRequirements[q] as PodRequirement, rank, q, index, out);
  }
  checkChainBounds(rank, out);
  checkChainCount(rank, out);
  for (const chain of rank.chains.list) checkChain(chain, index, out);
  checkPhase(status, rank, out);
}

function checkParallelism(rank: RankEntry, out: FindingCollector): void {
  const degrees = rank.rank.runtime?.parallelism;
  if (degrees === undefined) return;
  for (const degree of ['tensor', 'pipeline', 'data', 'expert', 'context', 'sequence'] as const) {
    if (degrees[degree] !== 0) continue;
    out.report(
      jobRules.zero_parallelism,
      () => `${rank.path}.runtime.parallelism.${degree}`,
      () => `${degree} of ${rank.name} is 0; without that parallelism it is 1, and unknown it is left out`,
    );
  }
}

function checkRequirement(
  requirement: PodRequirement,
  rank: RankEntry,
  position: number,
  index: SnapshotIndex,
  out: FindingCollector,
): void {
  const { poolId, nodeTypeId, acceleratorCount } = requirement;
  const target = index.nodeTypeById(poolId, nodeTypeId);
  if (target === undefined || !target.validId || !target.pool.validId) {
    checkTarget(poolId, nodeTypeId, index, () => requirementPath(rank, position), out);
  }
  if (acceleratorCount === 0) {
    out.report(
      jobRules.requirement_exceeds_node,
      () => `${requirementPath(rank, position)}.accelerator_count`,
      () =>
        'accelerator_count is 0; a pod requirement is for at least 1, so leave pods without accelerators out',
    );
  } else if (target !== undefined && acceleratorCount > target.type.acceleratorsPerNode) {
    out.report(
      jobRules.requirement_exceeds_node,
      () => `${requirementPath(rank, position)}.accelerator_count`,
      () =>
        `accelerator_count is ${acceleratorCount}, but a node of ${target.name} has ${target.type.acceleratorsPerNode}; ` +
        'a pod fits on one node',
    );
  }
}

function requirementPath(rank: RankEntry, position: number): string {
  return `${rank.path}.pod_requirements[${position}]`;
}

/** Reports which of the ids is invalid, and the first of them that is not in the snapshot. */
function checkTarget(
  poolId: string,
  nodeTypeId: string,
  index: SnapshotIndex,
  path: () => string,
  out: FindingCollector,
): void {
  const pool = index.poolById(poolId);
  if (!isValidId(poolId)) reportInvalidId(poolId, path, 'pool_id', out);
  if (pool === undefined) {
    out.report(
      jobRules.unknown_requirement_target,
      () => `${path()}.pool_id`,
      () =>
        `pool_id ${quote(poolId)} is not in capacity_pools; list the pool, its node types at total_count 0 where it has no nodes`,
    );
  }
  if (!isValidId(nodeTypeId)) reportInvalidId(nodeTypeId, path, 'node_type_id', out);
  if (pool !== undefined && pool.nodeTypes.byId(nodeTypeId) === undefined) {
    out.report(
      jobRules.unknown_requirement_target,
      () => `${path()}.node_type_id`,
      () =>
        `${nodeTypeName(poolId, nodeTypeId)} is not in the snapshot; list the node type, at total_count 0 where it has no nodes`,
    );
  }
}

function checkChainBounds(rank: RankEntry, out: FindingCollector): void {
  const { minChains: min, desiredChains: desired, maxChains: max } = rank.rank;
  if (min !== undefined && desired !== undefined && min > desired) {
    reportInvertedBounds(rank, ['min_chains', min], ['desired_chains', desired], out);
  }
  // With desired_chains between them, the two other pairs say all that this one could.
  if (min !== undefined && desired === undefined && max !== undefined && min > max) {
    reportInvertedBounds(rank, ['min_chains', min], ['max_chains', max], out);
  }
  if (desired !== undefined && max !== undefined && desired > max) {
    reportInvertedBounds(rank, ['desired_chains', desired], ['max_chains', max], out);
  }
}

function reportInvertedBounds(
  rank: RankEntry,
  [low, lowValue]: readonly [string, number],
  [high, highValue]: readonly [string, number],
  out: FindingCollector,
): void {
  out.report(
    jobRules.chain_bounds_inverted,
    () => `${rank.path}.${low}`,
    () => `${low} ${lowValue} of ${rank.name} is above its ${high} ${highValue}; it must be at most that`,
  );
}

function checkChainCount(rank: RankEntry, out: FindingCollector): void {
  const { maxChains, desiredChains } = rank.rank;
  const { liveChains } = rank;
  // No number of chains could satisfy bounds that are inverted, so it is not blamed for that.
  if (maxChains !== undefined && desiredChains !== undefined && desiredChains > maxChains) return;
  if (maxChains !== undefined && liveChains > maxChains) {
    out.report(
      jobRules.chains_above_max,
      () => `${rank.path}.chains`,
      () =>
        `${rank.name} has ${liveChains} chains that have not ended, more than its max_chains ${maxChains}`,
    );
  }
  if (desiredChains !== undefined && liveChains < desiredChains) {
    out.report(
      jobRules.chains_below_desired,
      () => `${rank.path}.chains`,
      () =>
        `${rank.name} has ${liveChains} chains that have not ended, fewer than its desired_chains ${desiredChains}; ` +
        'list intended chains as PENDING before their pods exist',
    );
  }
}

function checkChain(chain: ChainEntry, index: SnapshotIndex, out: FindingCollector): void {
  const { chainId, pods, status } = chain.chain;
  if (!chain.validId) reportInvalidId(chainId, () => chain.path, 'chain_id', out);
  const { duplicateOf } = chain;
  if (duplicateOf !== undefined) {
    out.report(
      jobRules.duplicate_chain_id,
      () => `${chain.path}.chain_id`,
      () =>
        `chain_id ${quote(chainId)} of ${chain.rank.name} is that of ${duplicateOf.path} already; ` +
        'give each chain of a rank an id of its own',
    );
  }
  checkPodIndexes(chain, out);
  for (let p = 0; p < pods.length; p++) {
    const { podIndex, status: podStatus } = pods[p] as PodState;
    const phase = podStatus?.phase ?? WorkloadPhase.UNKNOWN;
    if (
      isActive(phase) &&
      !chain.isAllocated(podIndex) &&
      !index.referredChain(chain).isAllocated(podIndex)
    ) {
      out.report(
        jobRules.running_without_allocation,
        () => `${chain.path}.pods[${p}]`,
        () =>
          `pod ${podIndex} of ${chain.name} is ${WorkloadPhase[phase]}, but no in_use entry has an allocation of it; ` +
          'list the allocation, or the pod as PENDING',
      );
    }
    if (!isKnownPhase(phase)) checkPhase(podStatus, { path: `${chain.path}.pods[${p}]` }, out);
  }
  checkPhase(status, chain, out);
}

function isActive(phase: WorkloadPhase): boolean {
  return (
    phase === WorkloadPhase.STARTING || phase === WorkloadPhase.RUNNING || phase === WorkloadPhase.DEGRADED
  );
}

function checkPodIndexes(chain: ChainEntry, out: FindingCollector): void {
  const { pods } = chain.chain;
  const required = chain.rank.rank.podRequirements.length;
  // Without requirements the rank is refused, and no number of pods would be right.
  if (required === 0 || (pods.length === required && isCounting(pods))) return;
  const fault = podIndexFault(pods, required);
  if (fault === undefined) return;
  out.report(
    jobRules.pod_states_incomplete,
    () => `${chain.path}.pods`,
    () =>
      `${fault} in ${chain.name}, whose rank has ${required} pod_requirements; ` +
      `give one PodState for each index from 0 to ${required - 1}`,
  );
}

/** Whether the pods stand in the order of their indexes, as nearly every agent lists them. */
function isCounting(pods: readonly PodState[]): boolean {
  for (let p = 0; p < pods.length; p++) if (pods[p]?.podIndex !== p) return false;
  return true;
}

/** The first fault. Its cost is in the pods that are there: a rank may require a million that are not. */
function podIndexFault(pods: readonly PodState[], required: number): string | undefined {
  const seen = new Set<number>();
  for (const { podIndex } of pods) {
    if (podIndex >= required) return `pod_index ${podIndex} is out of range`;
    if (seen.has(podIndex)) return `pod_index ${podIndex} is given twice`;
    seen.add(podIndex);
  }
  for (let i = 0; i < required; i++) if (!seen.has(i)) return `pod_index ${i} is missing`;
  return undefined;
}
