/** Inflates bodies, a few at a time, and none beyond its limit. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { MalformedBodyError, ResourceMapError } from '../core/errors.ts';
import {
  MAX_CONCURRENT_INFLATES,
  MAX_INFLATE_RATIO,
  MAX_WAITING_INFLATES,
  RATIO_FREE_BYTES,
  RETRY_OVERLOAD_S,
} from './limits.ts';

const gunzipAsync = promisify(gunzip);

/** The default of 16 KB would hand a body of 64 MB back and forth 4,000 times. */
const CHUNK_BYTES = 256 * 1024;

const waiting: (() => void)[] = [];
let running = 0;

/**
 * Inflates a gzip body.
 *
 * @param maxBytes to which it may inflate at most
 * @throws ResourceMapError `body_too_large`, `overloaded`; MalformedBodyError `malformed_encoding`
 */
export async function inflate(sent: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const limit = Math.min(maxBytes, Math.max(RATIO_FREE_BYTES, sent.length * MAX_INFLATE_RATIO));
  await enter();
  try {
    return await gunzipAsync(sent, { maxOutputLength: limit, chunkSize: CHUNK_BYTES });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw tooLarge(sent.length, limit, maxBytes);
    }
    throw new MalformedBodyError(
      'malformed_encoding',
      `The body is not valid gzip: ${cause instanceof Error ? cause.message : String(cause)}. ` +
        'Send all of it, or leave Content-Encoding out.',
      {},
      { cause },
    );
  } finally {
    leave();
  }
}

function tooLarge(sentBytes: number, limit: number, maxBytes: number): ResourceMapError {
  return new ResourceMapError(
    'body_too_large',
    limit === maxBytes
      ? `The body inflates to more than ${limit} bytes, which is the most that is taken.`
      : `The ${sentBytes} bytes of the body inflate to more than ${limit}; beyond ${RATIO_FREE_BYTES} bytes, at most ${MAX_INFLATE_RATIO} are taken for each one sent.`,
    { limit },
  );
}

async function enter(): Promise<void> {
  if (running < MAX_CONCURRENT_INFLATES) {
    running++;
    return;
  }
  if (waiting.length >= MAX_WAITING_INFLATES) {
    throw new ResourceMapError(
      'overloaded',
      `${MAX_WAITING_INFLATES} bodies wait to be inflated. Try again in a moment.`,
      { retryAfterSeconds: RETRY_OVERLOAD_S },
    );
  }
  await new Promise<void>((resolve) => waiting.push(resolve));
}

/** The place is handed on, so that no other request slips in between. */
function leave(): void {
  const next = waiting.shift();
  if (next === undefined) running--;
  else next();
}
