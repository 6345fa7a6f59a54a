import { toJson } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Faults } from './faults.ts';

/** RFC 3339, where there is a time at all. */
export function timeField<Name extends string>(
  name: Name,
  time: Timestamp | undefined,
  path: string,
  faults: Faults,
): { readonly [K in Name]?: string } {
  if (time === undefined) return {};
  try {
    return { [name]: toJson(TimestampSchema, time) } as { [K in Name]: string };
  } catch {
    faults.add(path, `${time.seconds} s and ${time.nanos} ns after 1970 is no time of the years 1 to 9999.`);
    return {};
  }
}
