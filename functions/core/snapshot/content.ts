/**
 * A body as it is stored and served: immutable, named by its content, and deflated
 * once so that every later response can carry it without touching it again.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

const deflateRawAsync = promisify(deflateRaw);

/** An encoded body with everything that its head must know of it. */
export interface EncodedContent {
  /** SHA-256 over cluster id and body, in hex. */
  readonly contentId: string;
  /** Raw deflate, ended on a byte boundary by a sync flush, so that such pieces can be joined. */
  readonly deflated: Uint8Array;
  /** Bytes before deflating. */
  readonly rawBytes: number;
  /** CRC-32 of the bytes before deflating. */
  readonly crc32: number;
}

/**
 * The name of a body. Both parts are length-prefixed (32 bits, big-endian), so that
 * no two pairs of cluster id and body run together into the same input.
 */
export function contentIdOf(clusterId: string, body: Uint8Array): string {
  const id = Buffer.from(clusterId, 'utf8');
  return createHash('sha256').update(length(id)).update(id).update(length(body)).update(body).digest('hex');
}

function length(bytes: Uint8Array): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(bytes.length);
  return prefix;
}

/** Deflates a body that is about to be stored. */
export async function deflateContent(contentId: string, body: Uint8Array): Promise<EncodedContent> {
  const deflated = await deflateRawAsync(body, { finishFlush: constants.Z_SYNC_FLUSH });
  return { contentId, deflated, rawBytes: body.length, crc32: crc32(body) };
}
