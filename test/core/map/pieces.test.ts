import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inChunks, plain } from '../../../functions/core/map/pieces.ts';

describe('a response in chunks', () => {
  it('is the pieces, in order, in chunks of the size asked for but the last', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 })),
        fc.integer({ min: 1, max: 30 }),
        (pieces, size) => {
          const chunks = [...inChunks(plain(pieces), size)];
          expect(Buffer.concat(chunks)).toStrictEqual(Buffer.concat(pieces));
          for (const chunk of chunks.slice(0, -1)) expect(chunk).toHaveLength(size);
          expect(chunks.at(-1)?.length ?? size).toSatisfy((last: number) => last > 0 && last <= size);
        },
      ),
    );
  });

  it('has memory of its own, so that writing to it changes no piece', () => {
    const piece = Uint8Array.of(1, 2);
    const [chunk] = inChunks(plain([piece]), 10);
    chunk?.fill(9);
    expect(piece).toStrictEqual(Uint8Array.of(1, 2));
  });

  it('is made as far as it is taken', () => {
    const taken: number[] = [];
    function* pieces(): Generator<Uint8Array> {
      for (let at = 1; at <= 4; at++) {
        taken.push(at);
        yield new Uint8Array(10);
      }
    }
    const chunks = inChunks({ length: 40, chunks: pieces() }, 20);
    chunks.next();
    expect(taken).toStrictEqual([1, 2]);
  });

  it('ends with an error where there are more bytes than were announced', () => {
    expect(() => [...inChunks({ length: 3, chunks: [new Uint8Array(4)] }, 2)]).toThrow(
      'The payload has more than its 3 bytes.',
    );
  });
});
