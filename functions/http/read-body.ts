/**
 * Reads a body with its limits applied while it is read: neither a body without
 * Content-Length nor a gzip bomb is ever held whole.
 */
import type { Context } from 'hono';
import { MalformedBodyError, ResourceMapError } from '../core/errors.ts';
import type { AppEnv } from './app-env.ts';
import { inflate } from './inflate.ts';
import { MAX_BODY_BYTES, MAX_INFLATED_BYTES } from './limits.ts';
import type { MemoryShare } from './memory-budget.ts';

/** Bytes of a body, as sent and after inflating. */
export interface BodyLimits {
  readonly sentBytes: number;
  readonly inflatedBytes: number;
}

export const BODY_LIMITS: BodyLimits = { sentBytes: MAX_BODY_BYTES, inflatedBytes: MAX_INFLATED_BYTES };

/**
 * The body, inflated where its Content-Encoding is gzip. It counts against the memory of
 * the process until the request is answered.
 *
 * @throws ResourceMapError `body_too_large`, `unsupported_encoding`, `overloaded`;
 *   MalformedBodyError `malformed_encoding`, `incomplete_body`
 */
export async function readBody(c: Context<AppEnv>, limits: BodyLimits = BODY_LIMITS): Promise<Uint8Array> {
  const gzipped = isGzipped(c);
  const declared = Number(c.req.header('content-length') ?? 0);
  if (declared > limits.sentBytes) throw tooLarge(`${declared} bytes`, limits.sentBytes);
  const memory = c.get('memory');
  const sent = await collect(
    c.req.raw.body,
    limits.sentBytes,
    Math.min(declared || FIRST_BYTES, FIRST_BYTES),
    memory,
  );
  if (!gzipped) return sent;
  const body = await inflate(sent, limits.inflatedBytes);
  memory.take(body.length);
  memory.release(sent.length);
  return body;
}

function isGzipped(c: Context): boolean {
  const encoding = c.req.header('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding === '' || encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw new ResourceMapError(
    'unsupported_encoding',
    `The Content-Encoding is ${JSON.stringify(encoding.slice(0, 100))}; send gzip, once, or leave it out.`,
    { field: 'Content-Encoding', value: encoding },
  );
}

/** Most pushes fit without growing, and what a client declares and never sends takes no more. */
const FIRST_BYTES = 64 * 1024;

/** Copies the chunks together as they come: each would otherwise be an object, and a hostile client sends single bytes. */
async function collect(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  firstBytes: number,
  memory: MemoryShare,
): Promise<Uint8Array> {
  if (stream === null) return new Uint8Array(0);
  const reader = stream.getReader();
  // Nobody is left to be told of a failure to cancel: the sender is cut off either way.
  const stop = (): void => void reader.cancel().catch(() => undefined);
  return memory.read(stop, () => gather(reader, maxBytes, firstBytes, memory));
}

async function gather(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  firstBytes: number,
  memory: MemoryShare,
): Promise<Uint8Array> {
  memory.take(firstBytes);
  let body = Buffer.allocUnsafeSlow(firstBytes);
  let length = 0;
  for await (const chunk of chunksOf(reader)) {
    const needed = length + chunk.length;
    if (needed > maxBytes) throw tooLarge(`more than ${maxBytes} bytes`, maxBytes);
    if (needed > body.length) {
      const larger = Math.min(maxBytes, Math.max(needed, 2 * body.length));
      memory.take(larger);
      const grown = Buffer.allocUnsafeSlow(larger);
      body.copy(grown, 0, 0, length);
      memory.release(body.length);
      body = grown;
    }
    body.set(chunk, length);
    length = needed;
  }
  return body.subarray(0, length);
}

async function* chunksOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    // Nobody may be left to read the response, but the log shall not call it a failure of ours.
    throw new MalformedBodyError(
      'incomplete_body',
      'The body broke off before its end; send all of it.',
      {},
      { cause },
    );
  } finally {
    // What is left of a body that is refused is not wanted.
    reader.cancel().catch(() => undefined);
  }
}

function tooLarge(size: string, limit: number): ResourceMapError {
  return new ResourceMapError(
    'body_too_large',
    `The body has ${size}; at most ${limit} may be sent. Compress it with gzip.`,
    { limit },
  );
}
