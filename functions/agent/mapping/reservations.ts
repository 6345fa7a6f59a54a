/** Room that the settings keep for chains to come: a decision of the administrator, which no object says. */
import { create } from '@bufbuild/protobuf';
import {
  AutoscalingReservationSchema,
  type ClusterResourceMap,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { AgentSettings } from './settings.ts';

/**
 * Writes what is reserved for a rank into every node type that the rank names, as the rules want
 * it. A rank that is not there, or names a type that is not, has no shape that could be reserved.
 */
export function reserve({ capacityPools, jobs }: ClusterResourceMap, { reservations }: AgentSettings): void {
  if (reservations.length === 0) return;
  const types = new Map(
    capacityPools.flatMap((pool) =>
      pool.nodeTypes.map((type) => [keyOf(pool.id, type.id), type.reservedForAutoscaling] as const),
    ),
  );
  for (const { job: jobId, rank: only, chains: additionalChains } of reservations) {
    for (const { rankId, podRequirements } of jobs.find((job) => job.jobId === jobId)?.ranks ?? []) {
      if (only !== undefined && only !== rankId) continue;
      const targets = new Set(podRequirements.map(({ poolId, nodeTypeId }) => keyOf(poolId, nodeTypeId)));
      const lists = [...targets].map((target) => types.get(target));
      // The first setting that names a rank counts.
      const free = lists.every(
        (list) => list?.every((each) => each.jobId !== jobId || each.rankId !== rankId) === true,
      );
      if (!free) continue;
      for (const list of lists)
        list?.push(create(AutoscalingReservationSchema, { jobId, rankId, additionalChains }));
    }
  }
}

function keyOf(poolId: string, nodeTypeId: string): string {
  return JSON.stringify([poolId, nodeTypeId]);
}
