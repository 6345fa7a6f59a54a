import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32Shift, joinCrc32 } from '../../../functions/core/map/crc32.ts';

describe('joinCrc32', () => {
  it('is the CRC-32 of the joined bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (a, b) => {
        const joined = joinCrc32(crc32(a), crc32(b), crc32Shift(b.length));
        expect(joined).toBe(crc32(Buffer.concat([a, b])));
      }),
      { numRuns: 1_000 },
    );
  });

  it('holds for parts of megabytes', () => {
    const a = Buffer.alloc(3_000_001, 'a part');
    const b = Buffer.alloc(5_000_003, 'another');
    expect(joinCrc32(crc32(a), crc32(b), crc32Shift(b.length))).toBe(crc32(b, crc32(a)));
  });

  it('takes lengths beyond 32 bits: appending 2^32 bytes twice is appending 2^33', () => {
    const once = crc32Shift(2 ** 32);
    const twice = joinCrc32(joinCrc32(0x1234_5678, 0, once), 0, once);
    expect(joinCrc32(0x1234_5678, 0, crc32Shift(2 ** 33))).toBe(twice);
  });
});
