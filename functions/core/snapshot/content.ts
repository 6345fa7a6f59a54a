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
 *
 * @param body whole, or in pieces that follow each other
 */
export function contentIdOf(clusterId: string, body: Uint8Array | readonly Uint8Array[]): string {
  const id = Buffer.from(clusterId, 'utf8');
  const pieces = body instanceof Uint8Array ? [body] : body;
  const hash = createHash('sha256').update(lengthPrefix(id.length)).update(id);
  hash.update(lengthPrefix(pieces.reduce((sum, piece) => sum + piece.length, 0)));
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

function lengthPrefix(bytes: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(bytes);
  return prefix;
}

/** Deflates a body that is about to be stored. */
export async function deflateContent(contentId: string, body: Uint8Array): Promise<EncodedContent> {
  const deflated = await deflateRawAsync(body, { finishFlush: constants.Z_SYNC_FLUSH });
  return { contentId, deflated, rawBytes: body.length, crc32: crc32(body) };
}
