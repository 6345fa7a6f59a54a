/**
 * The rule book: one file a section. A snapshot that cannot be true is refused with
 * every reason, in document order: as its fields are numbered and its elements stand.
 *
 * What follows from one finding is not reported as another: an allocation is not
 * off target when its target does not exist, and no number of nodes is out of bounds
 * that are inverted. Each finding is something to fix.
 */
import type { ClusterResourceMap } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { FindingCollector, type Findings } from '../../findings.ts';
import type { RuleContext } from './context.ts';
import { checkCollectedAt, checkCounter, checkIdentity } from './identity.ts';
import { checkJobs } from './jobs.ts';
import { checkOccupancy } from './occupancy.ts';
import { checkNodeType, checkPool, checkRunDuration } from './pools.ts';
import { checkReservations, ReservationIndex } from './reservations.ts';
import { SnapshotIndex } from './snapshot-index.ts';
import { checkApiResources, checkComponents, checkTopology } from './topology.ts';

export { capacityFactsOfContent } from './content-node-types.ts';
export type { RuleContext } from './context.ts';
export { mergeFindings } from './document-order.ts';
export { clusterIdFault, pushedClusterIdFault } from './ids.ts';
export { type Loss, lossBetween, lossFindings, NO_LOSS, standingLoss, warningsOf } from './loss.ts';
export { type CapacityFacts, capacityFacts, checkNodeTypeSuccession } from './node-type-succession.ts';
export { checkSuccession, type PreviousSnapshot, type SucceedingSnapshot } from './succession.ts';

/**
 * Checks the rules on what is new in every push: time and counter. All other rules depend on
 * the content and the cluster's id alone, so what they found once holds for the same content.
 */
export function checkTimeAndCounter(
  snapshot: Pick<ClusterResourceMap, 'collectedAt' | 'logicalCounter'>,
  context: RuleContext,
): Findings {
  const out = new FindingCollector({ strict: context.strict, cap: context.maxFindings });
  checkCollectedAt(snapshot, context, out);
  checkCounter(snapshot, out);
  return out.result();
}

/**
 * Checks every rule that one snapshot alone can break, in time linear in its size.
 *
 * @returns every finding, the first 1,000 (`context.maxFindings`) of them with path
 *   and message. The snapshot is acceptable where `rejects` is 0.
 */
export function checkSnapshot(snapshot: ClusterResourceMap, context: RuleContext): Findings {
  const out = new FindingCollector({ strict: context.strict, cap: context.maxFindings });
  const index = new SnapshotIndex(snapshot);
  const reserved = new ReservationIndex(index);
  checkIdentity(snapshot, context, out);
  checkCollectedAt(snapshot, context, out);
  for (const pool of index.pools) {
    checkPool(pool, out);
    for (const nodeType of pool.nodeTypes.list) {
      checkNodeType(nodeType, index, out);
      checkOccupancy(nodeType, index, out);
      checkReservations(nodeType, reserved, out);
      checkRunDuration(nodeType, out);
    }
  }
  checkJobs(index, out);
  checkTopology(snapshot, out);
  checkComponents(snapshot, out);
  checkApiResources(snapshot, out);
  checkCounter(snapshot, out);
  return out.result();
}
