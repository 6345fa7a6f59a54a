/**
 * Timestamps as one integer: nanoseconds since the epoch, negative before it.
 * A Timestamp counts seconds downwards and nanoseconds upwards, so the pair and
 * the integer determine each other.
 */
import { create } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS_PER_MS = 1_000_000n;

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range that Protobuf gives a Timestamp. */
const MIN_SECONDS = -62_135_596_800n;
const MAX_SECONDS = 253_402_300_799n;

/** Whether Protobuf calls the Timestamp valid: year 1 to 9999, nanos 0 to 999,999,999. */
export function isValidTimestamp(timestamp: Timestamp): boolean {
  return (
    timestamp.seconds >= MIN_SECONDS &&
    timestamp.seconds <= MAX_SECONDS &&
    timestamp.nanos >= 0 &&
    timestamp.nanos < 1_000_000_000
  );
}

/** Nanoseconds since the epoch of a valid Timestamp. */
export function nanosOf(timestamp: TimestampFields): bigint {
  return timestamp.seconds * NANOS_PER_SECOND + BigInt(timestamp.nanos);
}

/** A Timestamp's two fields; `nanos` counts forward, 0 to 999,999,999, before the epoch too. */
export interface TimestampFields {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** The fields of the Timestamp of nanoseconds since the epoch. */
export function timestampFields(nanos: bigint): TimestampFields {
  const remainder = nanos % NANOS_PER_SECOND;
  const within = remainder < 0n ? remainder + NANOS_PER_SECOND : remainder;
  return { seconds: (nanos - within) / NANOS_PER_SECOND, nanos: Number(within) };
}

/** The Timestamp of nanoseconds since the epoch. */
export function timestampOf(nanos: bigint): Timestamp {
  return create(TimestampSchema, timestampFields(nanos));
}

/** Nanoseconds since the epoch of milliseconds since the epoch. */
export function nanosOfMs(ms: number): bigint {
  return BigInt(Math.trunc(ms)) * NANOS_PER_MS;
}
