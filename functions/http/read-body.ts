/**
 * Reads a body with its limits applied while it is read: neither a body without
 * Content-Length nor a gzip bomb is ever held whole.
 */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Context } from 'hono';
import { MalformedBodyError, ResourceMapError } from '../errors.ts';
import { MAX_BODY_BYTES, MAX_INFLATED_BYTES } from './limits.ts';

/** Bytes of a body, as sent and after inflating. */
export interface BodyLimits {
  readonly sentBytes: number;
  readonly inflatedBytes: number;
}

export const BODY_LIMITS: BodyLimits = { sentBytes: MAX_BODY_BYTES, inflatedBytes: MAX_INFLATED_BYTES };

/**
 * The body, inflated where its Content-Encoding is gzip.
 *
 * @throws ResourceMapError `body_too_large`, `unsupported_encoding`; MalformedBodyError `malformed_encoding`
 */
export async function readBody(c: Context, limits: BodyLimits = BODY_LIMITS): Promise<Uint8Array> {
  const gzipped = isGzipped(c);
  const declared = Number(c.req.header('content-length') ?? 0);
  if (declared > limits.sentBytes) throw tooLarge(`${declared} bytes`, limits.sentBytes, 'sent');
  const stream = c.req.raw.body;
  if (stream === null) return new Uint8Array(0);
  const sent = Readable.from(limited(Readable.fromWeb(stream as never), limits.sentBytes, 'sent'));
  return gzipped ? inflate(sent, limits.inflatedBytes) : collect(sent);
}

function isGzipped(c: Context): boolean {
  const encoding = c.req.header('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding === '' || encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw new ResourceMapError(
    'unsupported_encoding',
    `The Content-Encoding is ${JSON.stringify(encoding.slice(0, 100))}; send gzip, once, or leave it out.`,
  );
}

async function inflate(sent: Readable, limit: number): Promise<Uint8Array> {
  const gunzip = createGunzip();
  sent.on('error', (error) => gunzip.destroy(error));
  sent.pipe(gunzip);
  try {
    return await collect(limited(gunzip, limit, 'inflated'));
  } catch (cause) {
    if (cause instanceof ResourceMapError) throw cause;
    throw new MalformedBodyError(
      'malformed_encoding',
      `The body is not valid gzip: ${cause instanceof Error ? cause.message : String(cause)}. ` +
        'Send all of it, or leave Content-Encoding out.',
      {},
      { cause },
    );
  } finally {
    sent.unpipe(gunzip);
    sent.destroy();
    gunzip.destroy();
  }
}

async function* limited(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  what: 'sent' | 'inflated',
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(`more than ${limit} bytes`, limit, what);
    yield chunk;
  }
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const [only] = all;
  return all.length === 1 && only !== undefined ? only : Buffer.concat(all);
}

function tooLarge(size: string, limit: number, what: 'sent' | 'inflated'): ResourceMapError {
  return new ResourceMapError(
    'body_too_large',
    what === 'sent'
      ? `The body has ${size}; at most ${limit} may be sent. Compress it with gzip.`
      : `The body inflates to ${size}, which is the most that is taken.`,
  );
}
