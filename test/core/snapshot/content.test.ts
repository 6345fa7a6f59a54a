import { randomBytes } from 'node:crypto';
import { constants, crc32, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { deflateContent } from '../../../functions/core/snapshot/content.ts';

/** An empty stored block: where a sync flush ends, and the next deflate block may begin. */
const SYNC_FLUSH = Buffer.from([0, 0, 0xff, 0xff]);

const inflate = (deflated: Uint8Array): Buffer =>
  inflateRawSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH });

/** zlib hands its output over in chunks of 16 KB; around one, and at the smallest sizes, it is easy to lose or double the end. */
const SIZES = [0, 1, 2, 5, 6, 7, 100, ...range(16_360, 16_400), ...range(32_740, 32_780), 1_000_000];

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

describe('a deflated body', () => {
  it('inflates to the body and ends with one sync flush, at every size around the buffers', async () => {
    for (const size of SIZES) {
      const body = randomBytes(size);
      const { deflated } = await deflateContent('00', body);
      expect(inflate(deflated).equals(body), `size ${size}`).toBe(true);
      expect(Buffer.from(deflated.subarray(-4)).equals(SYNC_FLUSH), `size ${size}`).toBe(true);
    }
  });

  it('can be followed by another one in one deflate stream', async () => {
    const [one, other] = [Buffer.from('abc '.repeat(1_000)), Buffer.from('abd '.repeat(1_000))];
    const pieces = [(await deflateContent('00', one)).deflated, (await deflateContent('00', other)).deflated];
    expect(inflate(Buffer.concat(pieces)).equals(Buffer.concat([one, other]))).toBe(true);
  });

  it('knows its id, its length and its CRC-32 before deflating', async () => {
    const body = Buffer.from('123456789');
    const encoded = await deflateContent('ab', body);
    // The check value of CRC-32/ISO-HDLC.
    expect([encoded.contentId, encoded.rawBytes, encoded.crc32]).toEqual(['ab', 9, 0xcbf43926]);
    expect(encoded.crc32).toBe(crc32(body));
  });
});
