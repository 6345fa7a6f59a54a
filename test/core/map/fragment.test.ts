import { constants, crc32, deflateRawSync, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DamagedFragmentError, Fragment } from '../../../functions/core/map/fragment.ts';
import { gzip } from '../../../functions/core/map/splice-gzip.ts';
import { gather } from './gather.ts';

const raw = Buffer.from('a body, a body, a body that repeats itself');
const { deflated } = Fragment.compress(raw);

describe('a fragment', () => {
  it('gives back what it was made from, kept or inflated', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
        const fragment = Fragment.compress(bytes);
        expect(Buffer.from(fragment.raw()).equals(bytes)).toBe(true);
        fragment.keepRaw();
        expect(Buffer.from(fragment.raw()).equals(bytes)).toBe(true);
        expect(fragment.heldBytes).toBe(fragment.deflated.length + bytes.length);
        const verified = Fragment.verify(fragment.deflated, fragment.rawLength, fragment.crc32);
        expect(verified).toStrictEqual(Fragment.compress(bytes));
      }),
    );
  });

  /** True where it was refused; what is accepted must be as good as new inside a response. */
  function refused(bytes: Uint8Array): boolean {
    try {
      const fragment = Fragment.verify(bytes, raw.length, crc32(raw));
      expect(gunzipSync(gather(gzip([fragment, fragment])))).toStrictEqual(Buffer.concat([raw, raw]));
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(DamagedFragmentError);
      return true;
    }
  }

  it('is refused where a bit was altered, unless it is one of the bits that pad a byte', () => {
    let accepted = 0;
    for (let bit = 0; bit < deflated.length * 8; bit++) {
      const altered = Uint8Array.from(deflated);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      if (!refused(altered)) accepted++;
    }
    expect(accepted).toBeLessThan(8);
  });

  it('is refused where it was cut short, unless it lost no more than an empty last block', () => {
    for (let bytes = 0; bytes < deflated.length - 5; bytes++) {
      expect(refused(deflated.subarray(0, bytes)), `${bytes} bytes`).toBe(true);
    }
    for (let bytes = deflated.length - 5; bytes < deflated.length; bytes++) {
      refused(deflated.subarray(0, bytes));
    }
  });

  it('is refused where a final block would end the response that it is joined into', () => {
    const ended = Buffer.concat([deflateRawSync(raw), deflated.subarray(-4)]);
    expect(() => Fragment.verify(ended, raw.length, crc32(raw))).toThrow(
      'inflated to 42 bytes, the probe behind it included, where 42 + 1 were due',
    );
  });

  it('is refused where it holds more than it says, without inflating the rest', () => {
    const bomb = deflateRawSync(Buffer.alloc(50_000_000), { finishFlush: constants.Z_SYNC_FLUSH });
    expect(() => Fragment.verify(bomb, 1_000, 0)).toThrow('cannot be inflated to 1001 bytes');
  });

  it('names both CRC-32s where they differ', () => {
    expect(() => Fragment.verify(deflated, raw.length, 0xabc)).toThrow(
      `CRC-32 is ${crc32(raw).toString(16)} where 00000abc was stored`,
    );
  });
});
