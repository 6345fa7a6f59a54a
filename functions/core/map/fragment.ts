/**
 * A part of a response that is compressed once, when its content first appears, and from then
 * on joined into answers as it is.
 */
import { constants, crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { crc32Shift } from './crc32.ts';

/** A stored block of one byte. Where it can follow a fragment, so can the rest of a response. */
const PROBE = Buffer.from([0x00, 0x01, 0x00, 0xfe, 0xff, 0x58]);
const PROBE_BYTE = 0x58;

/** Bytes that are not the fragment which they are said to be. */
export class DamagedFragmentError extends Error {
  override readonly name = 'DamagedFragmentError';
}

/** Immutable bytes together with their deflated form and CRC-32. */
export class Fragment {
  /** Raw deflate (RFC 1951) that ends on a byte boundary, with no final block. */
  readonly deflated: Uint8Array;
  /** Length before compression. */
  readonly rawLength: number;
  /** CRC-32 of the bytes before compression. */
  readonly crc32: number;
  /** `crc32Shift` of `rawLength`. */
  readonly crc32Shift: number;
  #raw: Uint8Array | undefined;

  private constructor(deflated: Uint8Array, rawLength: number, crc: number, raw?: Uint8Array) {
    this.deflated = deflated;
    this.rawLength = rawLength;
    this.crc32 = crc;
    this.crc32Shift = crc32Shift(rawLength);
    this.#raw = raw;
  }

  /** Compresses. */
  static compress(raw: Uint8Array): Fragment {
    const deflated = deflateRawSync(raw, { finishFlush: constants.Z_SYNC_FLUSH });
    return new Fragment(deflated, raw.length, crc32(raw));
  }

  /**
   * Takes stored bytes, once they have shown that they are what was stored: one damaged body
   * inside a joined response would make the whole of it unreadable.
   * @param deflated raw deflate, ended by a sync flush
   * @param rawLength length before compression
   * @param crc CRC-32 of the bytes before compression
   * @throws DamagedFragmentError where the bytes do not inflate to that length and CRC-32
   */
  static verify(deflated: Uint8Array, rawLength: number, crc: number): Fragment {
    const probed = inflate(Buffer.concat([deflated, PROBE]), rawLength + 1);
    if (probed.length !== rawLength + 1 || probed[rawLength] !== PROBE_BYTE) {
      throw new DamagedFragmentError(
        `inflated to ${probed.length} bytes, the probe behind it included, where ${rawLength} + 1 were due`,
      );
    }
    const raw = probed.subarray(0, rawLength);
    const found = crc32(raw);
    if (found !== crc) {
      throw new DamagedFragmentError(`CRC-32 is ${hex(found)} where ${hex(crc)} was stored`);
    }
    return new Fragment(deflated, rawLength, crc);
  }

  /** The bytes before compression: those kept by `keepRaw`, else inflated again at each call. */
  raw(): Uint8Array {
    return this.#raw ?? inflate(this.deflated, this.rawLength);
  }

  /** Trades memory for the inflating at each `raw()`: responses without gzip are served from it. */
  keepRaw(): void {
    this.#raw ??= this.raw();
  }

  get keepsRaw(): boolean {
    return this.#raw !== undefined;
  }

  /** Bytes of memory held, the small change of the object itself left out. */
  get heldBytes(): number {
    return this.deflated.length + (this.#raw?.length ?? 0);
  }
}

/** The limit keeps damaged bytes from inflating without bounds. */
function inflate(deflated: Uint8Array, limitBytes: number): Uint8Array {
  try {
    return inflateRawSync(deflated, {
      finishFlush: constants.Z_SYNC_FLUSH,
      // Zero would be taken for "not given".
      maxOutputLength: Math.max(1, limitBytes),
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DamagedFragmentError(`cannot be inflated to ${limitBytes} bytes: ${reason}`, { cause });
  }
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0');
}
