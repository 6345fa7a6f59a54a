/** Instants as nanoseconds since the epoch, to and from protobuf's Timestamp and its JSON form. */

const NANOS_PER_SECOND = 1_000_000_000n;

/** A Timestamp's two fields; `nanos` counts forward, 0 to 999,999,999, before the epoch too. */
export interface TimestampFields {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Floors, so that an instant before the epoch has non-negative nanos. */
export function timestampFields(nanosSinceEpoch: bigint): TimestampFields {
  const seconds = nanosSinceEpoch / NANOS_PER_SECOND;
  const nanos = Number(nanosSinceEpoch % NANOS_PER_SECOND);
  return nanos < 0 ? { seconds: seconds - 1n, nanos: nanos + Number(NANOS_PER_SECOND) } : { seconds, nanos };
}

/** Inverse of {@link timestampFields}. */
export function nanosSinceEpoch(timestamp: TimestampFields): bigint {
  return timestamp.seconds * NANOS_PER_SECOND + BigInt(timestamp.nanos);
}

/**
 * The instant as ProtoJSON writes it: RFC 3339 in UTC with 0, 3, 6 or 9 digits of a second.
 * @param nanos within a Timestamp's range, the years 1 to 9999
 */
export function rfc3339(nanos: bigint): string {
  const fields = timestampFields(nanos);
  const toTheSecond = new Date(Number(fields.seconds) * 1000).toISOString().slice(0, 19);
  return `${toTheSecond}${fraction(fields.nanos)}Z`;
}

function fraction(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  if (nanos % 1_000_000 === 0) return `.${digits.slice(0, 3)}`;
  if (nanos % 1_000 === 0) return `.${digits.slice(0, 6)}`;
  return `.${digits}`;
}
