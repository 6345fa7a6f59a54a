/**
 * The little of the Protobuf encoding that stands between spliced bodies: varints, tags,
 * strings. The bodies themselves are encoded elsewhere and pass through here as they are.
 */

/** Largest encoding of a 64-bit varint. */
const MAX_VARINT_BYTES = 10;

/** UTF-8 needs at most three bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES_PER_UNIT = 3;

/** One arena serves the literals of some hundred clusters. */
const ARENA_BYTES = 16 * 1024;

export const WIRE_VARINT = 0;
export const WIRE_LENGTH_DELIMITED = 2;

/** The tag of a field whose number is below 16, which is one byte. */
export function tag(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

/** How many bytes the varint of a non-negative safe integer takes. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

/** How many bytes the varint of a signed or unsigned 64-bit integer takes. */
export function varint64Bytes(value: bigint): number {
  if (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) return varintBytes(Number(value));
  let bytes = 1;
  for (let rest = BigInt.asUintN(64, value); rest >= 0x80n; rest >>= 7n) bytes++;
  return bytes;
}

/**
 * Writes bytes that `cut` hands out piece by piece. Pieces share an arena and stay valid:
 * a full arena is replaced, never moved.
 */
export class ByteWriter {
  #arena = Buffer.allocUnsafe(ARENA_BYTES);
  #start = 0;
  #end = 0;

  byte(value: number): void {
    this.#reserve(1);
    this.#arena[this.#end++] = value;
  }

  /** @param value a non-negative safe integer */
  varint(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#arena[this.#end++] = (rest % 0x80) | 0x80;
    this.#arena[this.#end++] = rest;
  }

  /** @param value a 64-bit integer; a negative one takes its two's complement, as int64 does */
  varint64(value: bigint): void {
    if (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) {
      this.varint(Number(value));
      return;
    }
    this.#reserve(MAX_VARINT_BYTES);
    let rest = BigInt.asUintN(64, value);
    for (; rest >= 0x80n; rest >>= 7n) this.#arena[this.#end++] = Number(rest & 0x7fn) | 0x80;
    this.#arena[this.#end++] = Number(rest);
  }

  /** Writes UTF-8 without a length. */
  text(value: string): void {
    this.#reserve(value.length * MAX_UTF8_BYTES_PER_UNIT);
    this.#end += this.#arena.write(value, this.#end, 'utf8');
  }

  /** Writes the length in bytes, then UTF-8: a string or bytes field after its tag. */
  lengthPrefixedText(value: string): void {
    this.varint(Buffer.byteLength(value, 'utf8'));
    this.text(value);
  }

  /** The bytes written since the last cut. They must not be written to. */
  cut(): Uint8Array {
    const piece = this.#arena.subarray(this.#start, this.#end);
    this.#start = this.#end;
    return piece;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#arena.length) return;
    const pending = this.#arena.subarray(this.#start, this.#end);
    this.#arena = Buffer.allocUnsafe(Math.max(ARENA_BYTES, 2 * (pending.length + bytes)));
    pending.copy(this.#arena);
    this.#start = 0;
    this.#end = pending.length;
  }
}
