/** An answer before it is put on the wire: literal bytes and fragments, in order. */
import type { Fragment } from './fragment.ts';

/** Literal bytes, or a fragment that is there in compressed form as well. */
export type Piece = Uint8Array | Fragment;

/** Bytes ready to send, with their number known before the first is sent. */
export interface Payload {
  /** Sum of the chunks' lengths: the Content-Length. */
  readonly length: number;
  readonly chunks: Iterable<Uint8Array>;
}

/** The answer without compression. A fragment whose bytes are not at hand is inflated when its turn comes. */
export function plain(pieces: readonly Piece[]): Payload {
  let length = 0;
  for (const piece of pieces) length += piece instanceof Uint8Array ? piece.length : piece.rawLength;
  return { length, chunks: rawChunks(pieces) };
}

function* rawChunks(pieces: readonly Piece[]): Generator<Uint8Array> {
  for (const piece of pieces) yield piece instanceof Uint8Array ? piece : piece.raw();
}

/** The payload in one piece of memory, which is its own. */
export function gather(payload: Payload): Uint8Array<ArrayBuffer> {
  const whole = Buffer.allocUnsafeSlow(payload.length);
  let at = 0;
  for (const chunk of payload.chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
