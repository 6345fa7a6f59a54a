/**
 * The rules that compare a snapshot with the cluster's previous one. What they need
 * of it stands in the cluster's head, so they cost no read beyond the one that the
 * commit makes anyway, and can be asked again each time that it reads the head again.
 */
import type { ClusterResourceMap } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { FindingCollector, type Findings, NO_FINDINGS } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { isValidTimestamp, nanosOf, timestampOf } from '../../timestamp.ts';
import { type Identity, identityOf } from '../identity.ts';
import { MAX_COUNTER_JUMP } from '../limits.ts';
import type { RuleContext } from './context.ts';
import { formatTimestamp } from './identity.ts';
import { reject, rulesOf, warn } from './rule.ts';

export const successionRules = rulesOf({
  counter_jump: reject(
    'logical_counter',
    '`logical_counter` is at most 2^53 above the cluster’s high-water mark, which is 0 for a new cluster, unless the push says `?allow_jump=true`: one corrupt counter must not lock a cluster out forever. A mark cannot be lowered: where no counter is left, push under another id.',
  ),
  collected_at_regressed: warn(
    'collected_at',
    '`collected_at` is not older than the last accepted snapshot’s, when the counter rose.',
  ),
  identity_changed: warn(
    ['cluster.provider', 'cluster.region', 'cluster.site'],
    'Provider, region and site are the last accepted snapshot’s.',
  ),
});

/** What the last accepted snapshot of the cluster said. */
export interface PreviousSnapshot {
  readonly highWater: bigint;
  /** Nanoseconds since the epoch; absent where nothing was accepted. */
  readonly collectedAtNanos?: bigint | undefined;
  /** As {@link identityOf} keeps it; absent where no more is known than the counter and the time. */
  readonly identity?: Pick<Identity, 'provider' | 'region' | 'site'> | undefined;
}

/** What of a snapshot the rules of succession need. */
export type SucceedingSnapshot = Pick<ClusterResourceMap, 'cluster' | 'collectedAt' | 'logicalCounter'>;

/**
 * Checks the rules that compare a snapshot with the cluster's head.
 *
 * A counter at or below the high-water mark breaks none of them: whether that push
 * is a repeat or a conflict is the commit's to say. A snapshot that
 * {@link checkSnapshot} refuses may be asked about as well.
 */
export function checkSuccession(
  snapshot: SucceedingSnapshot,
  context: RuleContext,
  previous: PreviousSnapshot,
): Findings {
  if (snapshot.logicalCounter <= previous.highWater) return NO_FINDINGS;
  const out = new FindingCollector({ strict: context.strict, cap: context.maxFindings });
  checkSameIdentity(snapshot, previous, out);
  checkTimeGoesOn(snapshot, previous, out);
  if (!context.allowJump) checkCounterStep(snapshot, previous, out);
  return out.result();
}

function checkSameIdentity(
  snapshot: SucceedingSnapshot,
  previous: PreviousSnapshot,
  out: FindingCollector,
): void {
  const { identity } = previous;
  if (identity === undefined) return;
  // Cut as the head's are, or a long name would have changed with every push.
  const present = identityOf(snapshot);
  for (const field of ['provider', 'region', 'site'] as const) {
    const [was, now] = [identity[field], present[field]];
    if (was === now) continue;
    out.report(
      successionRules.identity_changed,
      () => `cluster.${field}`,
      () =>
        `${field} is ${quote(now)}, and was ${quote(was)} in the last accepted snapshot; a cluster that moved should get a new id`,
    );
  }
}

function checkTimeGoesOn(
  snapshot: SucceedingSnapshot,
  previous: PreviousSnapshot,
  out: FindingCollector,
): void {
  const { collectedAt } = snapshot;
  const before = previous.collectedAtNanos;
  if (collectedAt === undefined || before === undefined || nanosOf(collectedAt) >= before) return;
  out.report(
    successionRules.collected_at_regressed,
    () => 'collected_at',
    () =>
      `collected_at is ${describeNanos(nanosOf(collectedAt))}, older than the last accepted snapshot’s ` +
      `${describeNanos(before)}, though logical_counter rose; check the agent’s clock, and that only one agent pushes`,
  );
}

function checkCounterStep(
  snapshot: SucceedingSnapshot,
  previous: PreviousSnapshot,
  out: FindingCollector,
): void {
  const step = snapshot.logicalCounter - previous.highWater;
  if (step <= MAX_COUNTER_JUMP) return;
  out.report(
    successionRules.counter_jump,
    () => 'logical_counter',
    () =>
      previous.highWater === 0n
        ? `logical_counter is ${snapshot.logicalCounter}, and the first counter of a cluster is at most ${MAX_COUNTER_JUMP}: ` +
          'start at 1 or at the time in milliseconds (not nanoseconds), or push with allow_jump=true if it is meant'
        : `logical_counter is ${snapshot.logicalCounter}, ${step} above the high-water mark ${previous.highWater}; ` +
          `at most ${MAX_COUNTER_JUMP} are allowed: go on at ${previous.highWater + 1n}, or push with allow_jump=true if it is meant`,
  );
}

/** RFC 3339 where that can say it, else the number. */
function describeNanos(nanos: bigint): string {
  const timestamp = timestampOf(nanos);
  return isValidTimestamp(timestamp) ? formatTimestamp(timestamp) : `${nanos} ns since 1970`;
}
