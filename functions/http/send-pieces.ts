/** Sends a spliced response, with its length sent before its first byte. */
import type { Context } from 'hono';
import { ResourceMapError } from '../core/errors.ts';
import { inChunks, type Piece, plain } from '../core/map/pieces.ts';
import { gzip } from '../core/map/splice-gzip.ts';

/** Above this a response is made while it is sent, so that it is not held whole. */
const FINISH_BYTES = 8 * 1024 * 1024;

/** A response comes in blocks of this size: what a write to the socket costs is lost in one. */
const CHUNK_BYTES = 256 * 1024;

/** Below this a copy of the bytes costs less than a stream of them. */
const COPIED_BYTES = 64 * 1024;

/** A cache may keep the response, but must ask each time whether it is still current: counters never go back. */
export const REVALIDATE = { 'cache-control': 'private, no-cache', vary: 'accept, accept-encoding' } as const;

/** A response that is there, in the encoding in which it is sent, and can be sent again. */
export interface BufferedBody {
  readonly kind: 'finished';
  readonly length: number;
  readonly chunks: readonly Uint8Array<ArrayBuffer>[];
}

/** A response of which a chunk is made when its turn comes, once. */
interface StreamedBody {
  readonly kind: 'made as sent';
  readonly length: number;
  readonly chunks: Iterable<Uint8Array<ArrayBuffer>>;
}

export type ResponseBody = BufferedBody | StreamedBody;

export interface SendOptions {
  readonly zipped: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** The largest body that the front in front of us carries; absent where there is no bound. */
  readonly maxBytes: number | undefined;
  /** What to do about a response that is too large, as the end of a sentence. */
  readonly remedy: string;
}

/** Joins the pieces, in one gzip member or plain. */
export function encodePieces(pieces: readonly Piece[], zipped: boolean): ResponseBody {
  const payload = zipped ? gzip(pieces) : plain(pieces);
  const { length } = payload;
  const chunks = inChunks(payload, CHUNK_BYTES);
  return length <= FINISH_BYTES
    ? { kind: 'finished', length, chunks: [...chunks] }
    : { kind: 'made as sent', length, chunks };
}

/** @throws ResourceMapError `map_too_large` */
export function sendEncoded(c: Context, response: ResponseBody, options: SendOptions): Response {
  const { zipped, headers, maxBytes, remedy } = options;
  if (maxBytes !== undefined && response.length > maxBytes) {
    throw new ResourceMapError(
      'map_too_large',
      `The response has ${response.length} bytes${zipped ? ' of gzip' : ''}, and this deployment can carry ${maxBytes}; ${remedy}.`,
      { limit: maxBytes },
    );
  }
  return c.body(bodyOf(response), 200, {
    ...REVALIDATE,
    ...headers,
    'content-length': String(response.length),
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
  });
}

/** A Response copies the bytes that it is given, and hands a stream's on as they are. */
function bodyOf({ length, chunks }: ResponseBody): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  const rest = chunks[Symbol.iterator]();
  if (length < COPIED_BYTES) return rest.next().value ?? new Uint8Array();
  return new ReadableStream(
    {
      // A chunk is made only once the last one is taken: a slow reader holds up nothing but itself.
      pull(controller) {
        const { done, value } = rest.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}
