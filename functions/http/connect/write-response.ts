/** Writes the response of a unary call in the protocol of the call. */
import { type CallHead, COMPRESSED_FLAG, ENVELOPE_BYTES } from './read-call.ts';
import { RPC_CODES, type RpcError, statusMessage } from './rpc-error.ts';

export interface Metadata {
  readonly headers?: Headers;
  readonly trailers?: Headers;
}

const TRAILER_FLAG = 0x80;

/**
 * A response with a message, which passes through as it is.
 *
 * @param gzipped whether the message is compressed
 */
export async function messageResponse(
  head: CallHead,
  body: ReadableStream<Uint8Array> | Uint8Array | null,
  gzipped: boolean,
  { headers = new Headers(), trailers = new Headers() }: Metadata = {},
): Promise<Response> {
  headers.set('content-type', head.contentType);
  if (head.protocol !== 'grpc-web') {
    if (gzipped) headers.set('content-encoding', 'gzip');
    for (const [name, value] of trailers) headers.append(`trailer-${name}`, value);
    return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer> | null, {
      headers,
    });
  }
  if (gzipped) headers.set('grpc-encoding', 'gzip');
  const message = new Uint8Array(
    await new Response(
      body as ReadableStream<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer> | null,
    ).arrayBuffer(),
  );
  trailers.set('grpc-status', '0');
  const parts = [envelope(gzipped ? COMPRESSED_FLAG : 0, message), trailerEnvelope(trailers)];
  return new Response(Buffer.concat(parts), { headers });
}

/** A response with an error. Connect has a status for each code; gRPC-Web is always 200. */
export function errorResponse(
  head: CallHead | undefined,
  error: RpcError,
  { headers = new Headers(), trailers = new Headers() }: Metadata = {},
): Response {
  if (head?.protocol === 'grpc-web') {
    headers.set('content-type', head.contentType);
    trailers.set('grpc-status', String(RPC_CODES[error.code].number));
    trailers.set('grpc-message', encodeURIComponent(error.message));
    if (error.details.length > 0) trailers.set('grpc-status-details-bin', base64(statusMessage(error)));
    return new Response(Buffer.from(trailerEnvelope(trailers)), { headers });
  }
  headers.set('content-type', 'application/json');
  for (const [name, value] of trailers) headers.append(`trailer-${name}`, value);
  const details = error.details.map(({ type, value }) => ({ type, value: base64(value) }));
  const body = { code: error.code, message: error.message, ...(details.length > 0 ? { details } : {}) };
  return new Response(JSON.stringify(body), { status: RPC_CODES[error.code].status, headers });
}

/** Base64 without padding, as both protocols have it. */
function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

function envelope(flag: number, message: Uint8Array): Uint8Array {
  const framed = new Uint8Array(ENVELOPE_BYTES + message.length);
  framed[0] = flag;
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, ENVELOPE_BYTES);
  return framed;
}

function trailerEnvelope(trailers: Headers): Uint8Array {
  const lines = [...trailers].map(([name, value]) => `${name}: ${value}\r\n`);
  return envelope(TRAILER_FLAG, Buffer.from(lines.join('')));
}
