/** Sends a spliced answer, with its length told before its first byte. */
import type { Context } from 'hono';
import { ResourceMapError } from '../errors.ts';
import { gather, type Payload, type Piece, plain } from '../globalmap/pieces.ts';
import { gzip } from '../globalmap/splice-gzip.ts';

/** Above this an answer is sent as it is made, so that it is not held twice. */
const GATHER_BYTES = 8 * 1024 * 1024;

/** Chunks of a streamed answer: so large that what a chunk costs is lost in it. */
const CHUNK_BYTES = 256 * 1024;

/** Where an answer in one piece becomes a stream of one chunk. */
const COPIED_BYTES = 64 * 1024;

/** A cache may keep the answer, but must ask each time whether it still stands: counters never go back. */
export const REVALIDATE = { 'cache-control': 'private, no-cache', vary: 'accept, accept-encoding' } as const;

/** An answer in the encoding in which it is sent: in one piece, or so large that it is not. */
export type EncodedAnswer = Uint8Array<ArrayBuffer> | Payload;

export interface SendOptions {
  readonly zipped: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** The largest body that the front in front of us carries; absent where there is no bound. */
  readonly maxBytes: number | undefined;
  /** What to do about an answer that is too large, as the end of a sentence. */
  readonly remedy: string;
}

/** Joins the pieces, in one gzip member or plain. */
export function encodePieces(pieces: readonly Piece[], zipped: boolean): EncodedAnswer {
  const payload = zipped ? gzip(pieces) : plain(pieces);
  return payload.length <= GATHER_BYTES ? gather(payload) : payload;
}

/** @throws ResourceMapError `map_too_large` */
export function sendEncoded(c: Context, answer: EncodedAnswer, options: SendOptions): Response {
  const { zipped, headers, maxBytes, remedy } = options;
  if (maxBytes !== undefined && answer.length > maxBytes) {
    throw new ResourceMapError(
      'map_too_large',
      `The answer has ${answer.length} bytes${zipped ? ' of gzip' : ''}, and this deployment can carry ${maxBytes}; ${remedy}.`,
    );
  }
  return c.body(bodyOf(answer), 200, {
    ...REVALIDATE,
    ...headers,
    'content-length': String(answer.length),
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
  });
}

/**
 * A Response copies the bytes that it is given, and hands a stream's on as they are: above some
 * tens of kilobytes the copy costs more than the stream.
 */
function bodyOf(answer: EncodedAnswer): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (!(answer instanceof Uint8Array)) return stream(answer);
  if (answer.length < COPIED_BYTES) return answer;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(answer);
      controller.close();
    },
  });
}

/** Makes a chunk only once the last one is taken, so that a slow reader holds up nothing but itself. */
function stream({ chunks }: Payload): ReadableStream<Uint8Array> {
  const pieces = chunks[Symbol.iterator]();
  return new ReadableStream(
    {
      pull(controller) {
        const parts: Uint8Array[] = [];
        let bytes = 0;
        while (bytes < CHUNK_BYTES) {
          const { done, value } = pieces.next();
          if (done === true) break;
          parts.push(value);
          bytes += value.length;
        }
        if (bytes > 0) controller.enqueue(Buffer.concat(parts, bytes));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
