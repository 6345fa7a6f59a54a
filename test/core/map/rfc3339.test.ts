import { create, toJson } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../../../functions/core/map/rfc3339.ts';
import { nanosOf, timestampFields } from '../../../functions/core/timestamp.ts';
import { timestampNanos, timestampSeconds } from '../../builders/arbitrary-message.ts';

const timestamp = fc.record({ seconds: timestampSeconds, nanos: timestampNanos }, { noNullPrototype: true });

describe('an instant in nanoseconds', () => {
  it('goes to the fields of a Timestamp and back, before the epoch too', () => {
    fc.assert(
      fc.property(timestamp, (fields) => {
        expect(timestampFields(nanosOf(fields))).toStrictEqual(fields);
      }),
    );
    expect(timestampFields(-1n)).toStrictEqual({ seconds: -1n, nanos: 999_999_999 });
  });

  it('is written as ProtoJSON writes a Timestamp', () => {
    fc.assert(
      fc.property(timestamp, (fields) => {
        expect(rfc3339(nanosOf(fields))).toBe(toJson(TimestampSchema, create(TimestampSchema, fields)));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    [-62_135_596_800_000_000_000n, '0001-01-01T00:00:00Z'],
    [253_402_300_799_999_999_999n, '9999-12-31T23:59:59.999999999Z'],
    [-1n, '1969-12-31T23:59:59.999999999Z'],
  ])('%s is %s', (nanos, text) => {
    expect(rfc3339(nanos)).toBe(text);
  });
});
