import { create } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nanosOf, nanosOfMs, timestampOf } from '../../functions/core/timestamp.ts';
import { timestampNanos, timestampSeconds } from '../builders/arbitrary-message.ts';

const at = (seconds: bigint, nanos = 0) => create(TimestampSchema, { seconds, nanos });

describe('a timestamp as nanoseconds', () => {
  it('and back is the same timestamp, before 1970 too', () => {
    fc.assert(
      fc.property(timestampSeconds, timestampNanos, (seconds, nanos) => {
        expect(timestampOf(nanosOf(at(seconds, nanos)))).toEqual(at(seconds, nanos));
      }),
    );
  });

  it('grows with the time', () => {
    expect([nanosOf(at(-1n, 999_999_999)), nanosOf(at(-1n)), nanosOf(at(0n, 1))]).toEqual([
      -1n,
      -1_000_000_000n,
      1n,
    ]);
    expect(nanosOfMs(1_767_225_600_123)).toBe(1_767_225_600_123_000_000n);
  });
});
