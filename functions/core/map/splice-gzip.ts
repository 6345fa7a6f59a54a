/**
 * One gzip member (RFC 1952) joined from deflated fragments, with no inflating and no deflating.
 *
 * A deflate stream is a sequence of blocks. A fragment's last block ends on a byte boundary, so
 * the next block can follow it directly, and a match in a fragment reaches back within the
 * fragment only, so it means the same wherever the fragment is. The short literals between
 * fragments go in as stored blocks, an empty block that says "final" closes the stream, and the
 * CRC-32 of the whole is combined from the parts'.
 */
import { crc32 } from 'node:zlib';
import { joinCrc32 } from './crc32.ts';
import type { Payload, Piece } from './pieces.ts';

/** Deflate, no flags, no time, unknown system: the same map is always the same bytes. */
const HEADER = Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff]);

/** An empty block of fixed codes with the final bit: the shortest end of a deflate stream. */
const FINAL_BLOCK = Buffer.from([0x03, 0x00]);

/** A stored block's length is 16 bits (RFC 1951, section 3.2.4). */
const MAX_STORED_BYTES = 0xffff;
const STORED_HEADER_BYTES = 5;
const TRAILER_BYTES = 8;

/** The response as one gzip member. */
export function gzip(pieces: readonly Piece[]): Payload {
  const chunks: Uint8Array[] = [HEADER];
  let length = HEADER.length;
  let crc = 0;
  let rawLength = 0;
  const add = (chunk: Uint8Array): void => {
    chunks.push(chunk);
    length += chunk.length;
  };

  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      for (let at = 0; at < piece.length; at += MAX_STORED_BYTES) {
        const stored = piece.subarray(at, at + MAX_STORED_BYTES);
        add(storedHeader(stored.length));
        add(stored);
      }
      crc = crc32(piece, crc);
      rawLength += piece.length;
    } else {
      add(piece.deflated);
      crc = joinCrc32(crc, piece.crc32, piece.crc32Shift);
      rawLength += piece.rawLength;
    }
  }

  add(FINAL_BLOCK);
  add(trailer(crc, rawLength));
  return { length, chunks };
}

/** Three bits "stored, not final", padding to the byte, the length and its complement. */
function storedHeader(bytes: number): Uint8Array {
  const header = Buffer.alloc(STORED_HEADER_BYTES);
  header.writeUInt16LE(bytes, 1);
  header.writeUInt16LE(bytes ^ 0xffff, 3);
  return header;
}

function trailer(crc: number, rawLength: number): Uint8Array {
  const bytes = Buffer.alloc(TRAILER_BYTES);
  bytes.writeUInt32LE(crc, 0);
  // RFC 1952 wants the length modulo 2^32.
  bytes.writeUInt32LE(rawLength % 2 ** 32, 4);
  return bytes;
}
