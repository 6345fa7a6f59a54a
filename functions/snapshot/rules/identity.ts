/** Section *Snapshot*: whose it is, when it was taken, and its place in the order of pushes. */
import { toJson } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../findings.ts';
import { COUNTER_EXHAUSTED, MAX_FUTURE_SKEW_MS } from '../limits.ts';
import { quote } from '../quote.ts';
import type { RuleContext } from './context.ts';
import { clusterIdFault, idRules } from './ids.ts';
import { reject, rulesOf } from './rule.ts';

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
  missing_counter: reject('logical_counter', '`logical_counter` is at least 1: 0 is unset.'),
  counter_exhausted: reject(
    'logical_counter',
    '`logical_counter` is not 2^64−1, after which there would be no next counter.',
  ),
});

const NANOS_PER_MS = 1_000_000n;
/** 0001-01-01T00:00:00Z. */
const MIN_TIMESTAMP_SECONDS = -62_135_596_800n;
/** 9999-12-31T23:59:59Z. */
const MAX_TIMESTAMP_SECONDS = 253_402_300_799n;

/** Checks `cluster`. */
export function checkIdentity(
  snapshot: ClusterResourceMap,
  context: RuleContext,
  out: FindingCollector,
): void {
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
  const fault = clusterIdFault(id);
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

/** Checks `collected_at`. */
export function checkCollectedAt(
  snapshot: ClusterResourceMap,
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
  const fault = timestampFault(collectedAt);
  if (fault !== undefined) {
    out.report(identityRules.invalid_timestamp, path, () => `collected_at ${fault}`);
    return;
  }
  const maxAhead = BigInt(context.maxFutureSkewMs ?? MAX_FUTURE_SKEW_MS) * NANOS_PER_MS;
  const ahead = timestampNanos(collectedAt) - BigInt(Math.floor(context.nowMs)) * NANOS_PER_MS;
  if (ahead > maxAhead) {
    out.report(
      identityRules.collected_in_future,
      path,
      () =>
        `collected_at is ${formatTimestamp(collectedAt)}, ${formatSeconds(ahead)} s ahead of the service’s clock; ` +
        `at most ${formatSeconds(maxAhead)} s are allowed: set the agent’s clock right`,
    );
  }
}

function timestampFault({ seconds, nanos }: Timestamp): string | undefined {
  if (seconds < MIN_TIMESTAMP_SECONDS || seconds > MAX_TIMESTAMP_SECONDS) {
    return `has ${seconds} seconds; they must be from ${MIN_TIMESTAMP_SECONDS} (year 1) to ${MAX_TIMESTAMP_SECONDS} (year 9999)`;
  }
  if (nanos < 0 || nanos > 999_999_999) return `has ${nanos} nanos; they must be from 0 to 999999999`;
  return undefined;
}

/** Checks `logical_counter`. */
export function checkCounter(snapshot: ClusterResourceMap, out: FindingCollector): void {
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

/** Nanoseconds since the epoch, exactly. */
export function timestampNanos(timestamp: Timestamp): bigint {
  return timestamp.seconds * 1_000_000_000n + BigInt(timestamp.nanos);
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
