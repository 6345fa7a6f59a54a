/**
 * From a plan to what is claimed and started: the jobs of one node are one rank of one chain of one pod, so that
 * they are on one node whatever the cluster's scheduler does. A share of a device holds the whole device.
 */
import { create } from '@bufbuild/protobuf';
import { type CopyRank, CopyRankSchema } from '../../../gen/resourcemap/bundle/v1/live_pb.ts';
import { ClaimRequestSchema } from '../../../gen/resourcemap/v1/claims_pb.ts';
import { type ParsedClaim, parseClaimRequest } from '../../claims/claim-request.ts';
import { compareUtf8 } from '../../utf8-order.ts';
import { groupJobs } from '../model/groups.ts';
import type { Bundle } from '../model/model.ts';
import type { JobPlacement } from '../plan/plan-model.ts';
import { HOLD_MS, RANKS_PER_CLAIM } from './limits.ts';

/** The ranks of a copy, in the order of the bundle's jobs. */
export function ranksOf(bundle: Bundle, placements: readonly JobPlacement[]): CopyRank[] {
  const { groupOf, apart } = groupJobs(bundle);
  const byNode = new Map<string, { readonly jobs: number[]; readonly devices: Set<number> }>();
  for (const [job, { node, gpuIndexes }] of placements.entries()) {
    const slot = node.node.kind === 'slot' ? node.node.number : node.node.nodeId;
    const key = JSON.stringify([node.clusterId, node.poolId, node.nodeTypeId, slot]);
    const on = byNode.get(key) ?? { jobs: [], devices: new Set() };
    byNode.set(key, on);
    on.jobs.push(job);
    for (const index of gpuIndexes) on.devices.add(index);
  }
  const nodes = [...byNode.values()];
  const nameOf = (jobs: readonly number[]): string => bundle.jobs[jobs[0] ?? -1]?.jobName ?? '';
  const mustBeApart = (a: readonly number[], b: readonly number[]): boolean =>
    a.some((one) => b.some((other) => apart[groupOf[one] ?? -1]?.has(groupOf[other] ?? -1) === true));
  return nodes.map(({ jobs, devices }) => {
    const { clusterId = '', poolId = '', nodeTypeId = '' } = placements[jobs[0] ?? -1]?.node ?? {};
    return create(CopyRankSchema, {
      rankId: nameOf(jobs),
      jobNames: jobs.map((job) => bundle.jobs[job]?.jobName ?? ''),
      clusterId,
      poolId,
      nodeTypeId,
      accelerators: devices.size,
      apartFrom: nodes
        .filter((other) => other.jobs !== jobs && mustBeApart(jobs, other.jobs))
        .map(({ jobs: others }) => nameOf(others)),
    });
  });
}

/** The ranks that the map shows and claims hold. */
export function claimedRanks(ranks: readonly CopyRank[]): readonly CopyRank[] {
  return ranks.filter(({ accelerators }) => accelerators > 0);
}

/** One claim each, in the order of cluster ids: of two bundles that need the same clusters one gets the first of them. */
export function claimParts(
  ranks: readonly CopyRank[],
): readonly { readonly clusterId: string; readonly ranks: readonly CopyRank[] }[] {
  const byCluster = new Map<string, CopyRank[]>();
  for (const rank of claimedRanks(ranks)) {
    const same = byCluster.get(rank.clusterId) ?? [];
    byCluster.set(rank.clusterId, same);
    same.push(rank);
  }
  return [...byCluster]
    .sort(([a], [b]) => compareUtf8(a, b))
    .flatMap(([clusterId, all]) =>
      Array.from({ length: Math.ceil(all.length / RANKS_PER_CLAIM) }, (_, part) => ({
        clusterId,
        ranks: all.slice(part * RANKS_PER_CLAIM, (part + 1) * RANKS_PER_CLAIM),
      })),
    );
}

export function claimRequestOf(jobId: string, ranks: readonly CopyRank[]): ParsedClaim {
  return parseClaimRequest(
    create(ClaimRequestSchema, {
      jobId,
      ranks: ranks.map(({ rankId, poolId, nodeTypeId, accelerators }) => ({
        rankId,
        chains: 1,
        podRequirements: [{ acceleratorCount: accelerators, poolId, nodeTypeId }],
      })),
      ttl: { seconds: BigInt(HOLD_MS / 1_000) },
    }),
  );
}
