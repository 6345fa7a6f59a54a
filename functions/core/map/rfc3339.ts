import { timestampFields } from '../timestamp.ts';

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
