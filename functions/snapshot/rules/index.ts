/**
 * The rule book: one file a section, run in document order.
 */
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { FindingCollector, type Findings } from '../findings.ts';

/** What the rules need to know beside the snapshot itself. */
export interface RuleContext {
  /** The id in the URL; absent where a snapshot is validated without one. */
  readonly clusterId?: string;
  /** The service's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** Turns every warning into a reject. */
  readonly strict?: boolean;
}

/** What the last accepted snapshot of the cluster said. */
export interface PreviousSnapshot {
  readonly highWater: bigint;
  /** Nanoseconds since the epoch. */
  readonly collectedAtNanos: bigint;
  readonly provider: string;
  readonly region: string;
  readonly site: string;
}

/** Checks every rule that one snapshot alone can break. */
export function checkSnapshot(_snapshot: ClusterResourceMap, _context: RuleContext): Findings {
  return new FindingCollector();
}
