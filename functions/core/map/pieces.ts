/** A response before it is put on the wire: literal bytes and fragments, in order. */
import type { Fragment } from './fragment.ts';

/** Literal bytes, or a fragment that is there in compressed form as well. */
export type Piece = Uint8Array | Fragment;

/** Bytes ready to send, with their number known before the first is sent. */
export interface Payload {
  /** Sum of the chunks' lengths: the Content-Length. */
  readonly length: number;
  readonly chunks: Iterable<Uint8Array>;
}

/** The response without compression. A fragment whose bytes are not at hand is inflated when its turn comes. */
export function plain(pieces: readonly Piece[]): Payload {
  let length = 0;
  for (const piece of pieces) length += piece instanceof Uint8Array ? piece.length : piece.rawLength;
  return { length, chunks: rawChunks(pieces) };
}

function* rawChunks(pieces: readonly Piece[]): Generator<Uint8Array> {
  for (const piece of pieces) yield piece instanceof Uint8Array ? piece : piece.raw();
}

/** The payload in blocks of memory of their own, each of `chunkBytes` but the last. */
export function* inChunks(payload: Payload, chunkBytes: number): Generator<Uint8Array<ArrayBuffer>> {
  let left = payload.length;
  let chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, left));
  let filled = 0;
  for (const part of payload.chunks) {
    for (let taken = 0; taken < part.length; ) {
      if (chunk.length === 0) throw new Error(`The payload has more than its ${payload.length} bytes.`);
      const bytes = Math.min(part.length - taken, chunk.length - filled);
      // Nearly every part fits, and a view costs as much as copying a short one.
      chunk.set(bytes === part.length ? part : part.subarray(taken, taken + bytes), filled);
      taken += bytes;
      filled += bytes;
      if (filled < chunk.length) continue;
      yield chunk;
      left -= filled;
      chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, left));
      filled = 0;
    }
  }
}
