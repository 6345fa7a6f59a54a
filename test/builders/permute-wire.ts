/**
 * Rewrites an encoded message so that it says the same in another order: fields among
 * each other, elements of repeated fields, entries of maps, unknown fields of different
 * numbers. It works on the wire, where all of these are one thing, and knows nothing of
 * the canonical form that it is there to test.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

interface Chunk {
  readonly no: number;
  readonly bytes: Uint8Array;
}

/**
 * @param keepsOrder whether the order of a repeated field's elements means something
 * @param random numbers from 0 up to 1
 */
export function permuteWire(
  schema: DescMessage,
  encoded: Uint8Array,
  keepsOrder: (field: DescField) => boolean,
  random: () => number,
): Uint8Array {
  const chunks: Chunk[] = [];
  const reader = new BinaryReader(encoded);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [no, wireType] = reader.tag();
    const child = messageOf(schema.fields.find((f) => f.number === no));
    if (child !== undefined && wireType === WireType.LengthDelimited) {
      const inner = permuteWire(child, reader.bytes(), keepsOrder, random);
      chunks.push({ no, bytes: new BinaryWriter().tag(no, wireType).bytes(inner).finish() });
    } else {
      reader.skip(wireType, no);
      chunks.push({ no, bytes: encoded.subarray(start, reader.pos) });
    }
  }
  return Buffer.concat(permute(schema, chunks, keepsOrder, random).map((c) => c.bytes));
}

function messageOf(field: DescField | undefined): DescMessage | undefined {
  return field?.fieldKind === 'message' || field?.fieldKind === 'list' || field?.fieldKind === 'map'
    ? field.message
    : undefined;
}

function permute(
  schema: DescMessage,
  chunks: readonly Chunk[],
  keepsOrder: (field: DescField) => boolean,
  random: () => number,
): Chunk[] {
  const shuffled = [...chunks];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [shuffled[i], shuffled[j]] = [shuffled[j] as Chunk, shuffled[i] as Chunk];
  }
  // Where order means something, the places are shuffled and the elements fill them as they stood.
  const fixed = (no: number): boolean => {
    const field = schema.fields.find((f) => f.number === no);
    return field === undefined || keepsOrder(field);
  };
  const queues = new Map<number, Chunk[]>();
  for (const chunk of chunks) queues.set(chunk.no, [...(queues.get(chunk.no) ?? []), chunk]);
  return shuffled.map((chunk) => (fixed(chunk.no) ? (queues.get(chunk.no)?.shift() ?? chunk) : chunk));
}

/** The generator of Marsaglia's xorshift paper (32 bits, shifts 13, 17, 5), so that a seed is a permutation. */
export function seededRandom(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
