/** Section *Snapshot*: whose it is, when it was taken, and its place in the order of pushes. */
import { toJson } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { ClusterResourceMap } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { isValidTimestamp, nanosOf, nanosOfMs } from '../../timestamp.ts';
import { MAX_DISPLAY_NAME_BYTES, MAX_IDENTITY_BYTES } from '../identity.ts';
import { COUNTER_EXHAUSTED, MAX_FUTURE_SKEW_MS } from '../limits.ts';
import type { RuleContext } from './context.ts';
import { idRules, pushedClusterIdFault } from './ids.ts';
import { reject, rulesOf, warn } from './rule.ts';

export const identityRules = rulesOf({
  missing_cluster_id: reject('cluster.cluster_id', '`cluster.cluster_id` is set.'),
  cluster_id_mismatch: reject('cluster.cluster_id', '`cluster.cluster_id` equals the id in the URL.'),
  missing_collected_at: reject('collected_at', '`collected_at` is set.'),
  invalid_timestamp: reject(
    'collected_at',
    '`collected_at` is a valid protobuf Timestamp: years 1 to 9999, nanos from 0 to 999,999,999.',
  ),
  collected_in_future: reject(
    'collected_at',
    '`collected_at` is at most 5 minutes (configurable) ahead of the service’s clock.',
  ),
  identity_too_long: warn(
    ['cluster.display_name', 'cluster.provider', 'cluster.region', 'cluster.site'],
    'Provider, region and site have at most 253 bytes, and `display_name` 128. Longer ones are shown cut in the cluster’s status; filters look at the whole value.',
  ),
  missing_counter: reject('logical_counter', '`logical_counter` is at least 1: 0 is unset.'),
  counter_exhausted: reject(
    'logical_counter',
    '`logical_counter` is not 2^64−1, after which there would be no next counter.',
  ),
});

/** Checks `cluster`. */
export function checkIdentity(
  snapshot: ClusterResourceMap,
  context: RuleContext,
  out: FindingCollector,
): void {
  checkId(snapshot, context, out);
  checkLengths(snapshot, out);
}

function checkId(snapshot: ClusterResourceMap, context: RuleContext, out: FindingCollector): void {
  const id = snapshot.cluster?.clusterId ?? '';
  const path = () => 'cluster.cluster_id';
  if (id === '') {
    out.report(identityRules.missing_cluster_id, path, () =>
      context.clusterId === undefined
        ? 'cluster.cluster_id is not set; set it to the id under which the cluster is registered'
        : `cluster.cluster_id is not set; set it to ${quote(context.clusterId)}, as in the URL`,
    );
    return;
  }
  const fault = pushedClusterIdFault(id);
  if (fault !== undefined) out.report(idRules.invalid_id, path, () => `cluster.cluster_id ${fault}`);
  const { clusterId } = context;
  if (clusterId !== undefined && id !== clusterId) {
    out.report(
      identityRules.cluster_id_mismatch,
      path,
      () => `cluster.cluster_id is ${quote(id)}, but the URL says ${quote(clusterId)}; they must be equal`,
    );
  }
}

function checkLengths({ cluster }: ClusterResourceMap, out: FindingCollector): void {
  if (cluster === undefined) return;
  for (const [field, text, max] of [
    ['display_name', cluster.displayName, MAX_DISPLAY_NAME_BYTES],
    ['provider', cluster.provider, MAX_IDENTITY_BYTES],
    ['region', cluster.region, MAX_IDENTITY_BYTES],
    ['site', cluster.site, MAX_IDENTITY_BYTES],
  ] as const) {
    const bytes = Buffer.byteLength(text, 'utf8');
    if (bytes <= max) continue;
    out.report(
      identityRules.identity_too_long,
      () => `cluster.${field}`,
      () => `${field} ${quote(text)} has ${bytes} bytes; give it at most ${max}, or the status shows it cut`,
    );
  }
}

/** Checks `collected_at`. */
export function checkCollectedAt(
  snapshot: Pick<ClusterResourceMap, 'collectedAt'>,
  context: RuleContext,
  out: FindingCollector,
): void {
  const { collectedAt } = snapshot;
  const path = () => 'collected_at';
  if (collectedAt === undefined) {
    out.report(
      identityRules.missing_collected_at,
      path,
      () => 'collected_at is not set; set it to the time at which the agent looked at the cluster',
    );
    return;
  }
  if (!isValidTimestamp(collectedAt)) {
    out.report(
      identityRules.invalid_timestamp,
      path,
      () =>
        `collected_at is ${collectedAt.seconds} s and ${collectedAt.nanos} ns since 1970; ` +
        'its seconds must lie in the years 1 to 9999, and its nanos be from 0 to 999999999',
    );
    return;
  }
  const maxAheadNanos = nanosOfMs(context.maxFutureSkewMs ?? MAX_FUTURE_SKEW_MS);
  const aheadNanos = nanosOf(collectedAt) - nanosOfMs(context.nowMs);
  if (aheadNanos > maxAheadNanos) {
    out.report(
      identityRules.collected_in_future,
      path,
      () =>
        `collected_at is ${formatTimestamp(collectedAt)}, ${formatSeconds(aheadNanos)} s ahead of the service’s clock; ` +
        `at most ${formatSeconds(maxAheadNanos)} s are allowed: set the agent’s clock right`,
    );
  }
}

/** Checks `logical_counter`. */
export function checkCounter(
  snapshot: Pick<ClusterResourceMap, 'logicalCounter'>,
  out: FindingCollector,
): void {
  const path = () => 'logical_counter';
  if (snapshot.logicalCounter === 0n) {
    out.report(
      identityRules.missing_counter,
      path,
      () => 'logical_counter is 0, which is unset; start at 1 and raise it for every push',
    );
  } else if (snapshot.logicalCounter === COUNTER_EXHAUSTED) {
    out.report(
      identityRules.counter_exhausted,
      path,
      () =>
        `logical_counter is ${COUNTER_EXHAUSTED}, after which there is no next one; the highest is ${COUNTER_EXHAUSTED - 1n}`,
    );
  }
}

/** RFC 3339 with as many digits as the value has. The timestamp must be valid. */
export function formatTimestamp(timestamp: Timestamp): string {
  return toJson(TimestampSchema, timestamp);
}

/** Decimal seconds without trailing zeros, of a length of time in nanoseconds that is not negative. */
function formatSeconds(nanos: bigint): string {
  const fraction = (nanos % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nanos / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}`;
}
