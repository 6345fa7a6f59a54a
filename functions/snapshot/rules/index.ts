/**
 * The rule book: one file a section. A snapshot that cannot be true is refused with
 * every reason, in document order: as its fields are numbered and its elements stand.
 */
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { FindingCollector, type Findings } from '../findings.ts';
import type { RuleContext } from './context.ts';
import { checkCollectedAt, checkCounter, checkIdentity } from './identity.ts';
import { idFault, idRules } from './ids.ts';

export type { RuleContext } from './context.ts';
export { clusterIdFault } from './ids.ts';
export { checkSuccession, type PreviousSnapshot } from './succession.ts';

/**
 * Checks every rule that one snapshot alone can break.
 *
 * @returns every finding, the first 1,000 (`context.maxFindings`) of them with path
 *   and message. The snapshot is acceptable where `rejects` is 0.
 */
export function checkSnapshot(snapshot: ClusterResourceMap, context: RuleContext): Findings {
  const out = new FindingCollector({ strict: context.strict, cap: context.maxFindings });
  checkIdentity(snapshot, context, out);
  checkCollectedAt(snapshot, context, out);
  checkIds(snapshot, out);
  checkCounter(snapshot, out);
  return out.result();
}

function checkIds(snapshot: ClusterResourceMap, out: FindingCollector): void {
  const check = (id: string, path: string) => {
    const fault = idFault(id);
    if (fault !== undefined)
      out.report(
        idRules.invalid_id,
        () => path,
        () => `${path.split('.').at(-1)} ${fault}`,
      );
  };
  snapshot.capacityPools.forEach((pool, p) => {
    check(pool.id, `capacity_pools[${p}].id`);
    pool.nodeTypes.forEach((type, t) => {
      const typePath = `capacity_pools[${p}].node_types[${t}]`;
      check(type.id, `${typePath}.id`);
      if (type.fabricId !== '') check(type.fabricId, `${typePath}.fabric_id`);
      type.inUse.forEach((entry, e) => {
        entry.allocations.forEach((allocation, a) => {
          const path = `${typePath}.in_use[${e}].allocations[${a}]`;
          check(allocation.jobId, `${path}.job_id`);
          check(allocation.rankId, `${path}.rank_id`);
          check(allocation.chainId, `${path}.chain_id`);
        });
      });
      type.reservedForAutoscaling.forEach((reservation, r) => {
        const path = `${typePath}.reserved_for_autoscaling[${r}]`;
        check(reservation.jobId, `${path}.job_id`);
        check(reservation.rankId, `${path}.rank_id`);
      });
    });
  });
  snapshot.jobs.forEach((job, j) => {
    check(job.jobId, `jobs[${j}].job_id`);
    job.ranks.forEach((rank, r) => {
      const path = `jobs[${j}].ranks[${r}]`;
      check(rank.rankId, `${path}.rank_id`);
      rank.podRequirements.forEach((requirement, q) => {
        check(requirement.poolId, `${path}.pod_requirements[${q}].pool_id`);
        check(requirement.nodeTypeId, `${path}.pod_requirements[${q}].node_type_id`);
      });
      rank.chains.forEach((chain, c) => {
        check(chain.chainId, `${path}.chains[${c}].chain_id`);
      });
    });
  });
  snapshot.topology?.fabrics.forEach((fabric, f) => {
    check(fabric.id, `topology.fabrics[${f}].id`);
  });
  snapshot.topology?.links.forEach((link, l) => {
    check(link.fromFabricId, `topology.links[${l}].from_fabric_id`);
    check(link.toFabricId, `topology.links[${l}].to_fabric_id`);
  });
}
