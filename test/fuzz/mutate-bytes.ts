/** Mutations that know nothing of what the bytes mean. */
import type { Random } from './random.ts';

type Mutation = (bytes: Buffer, random: Random, other: Uint8Array) => Buffer;

/** Around the edges of varints, lengths, tags, UTF-8 and JSON. */
const EDGES = [
  0x00, 0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x0a, 0x12, 0x22, 0x2c, 0x5b, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xbf,
  0xc0, 0xed, 0xf4, 0xfe, 0xff,
];

/** No more than what a snapshot's length takes is copied at once. */
const MAX_BLOCK = 256;

const flipBit: Mutation = (bytes, random) => edit(bytes, random, (byte) => byte ^ (1 << random.below(8)));
const setEdge: Mutation = (bytes, random) => edit(bytes, random, () => random.of(EDGES));
const step: Mutation = (bytes, random) => edit(bytes, random, (byte) => byte + random.below(71) - 35);

const insert: Mutation = (bytes, random) => {
  const block = Buffer.from(Array.from({ length: random.few() }, () => random.of(EDGES)));
  return splice(bytes, random.below(bytes.length + 1), 0, block);
};

const remove: Mutation = (bytes, random) => {
  const at = random.below(bytes.length + 1);
  return splice(bytes, at, random.below(Math.min(MAX_BLOCK, bytes.length - at) + 1), Buffer.alloc(0));
};

const repeat: Mutation = (bytes, random) => {
  const block = blockOf(bytes, random);
  return splice(bytes, random.below(bytes.length + 1), 0, block);
};

const overwrite: Mutation = (bytes, random) => {
  const block = blockOf(bytes, random);
  return splice(bytes, random.below(bytes.length + 1), block.length, block);
};

const take: Mutation = (bytes, random, other) => {
  const block = blockOf(Buffer.from(other), random);
  return splice(bytes, random.below(bytes.length + 1), random.chance(0.5) ? block.length : 0, block);
};

/** The head of one and the tail of another. */
const cross: Mutation = (bytes, random, other) =>
  Buffer.concat([
    bytes.subarray(0, random.below(bytes.length + 1)),
    other.subarray(random.below(other.length + 1)),
  ]);

const cut: Mutation = (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1));

const MUTATIONS: readonly Mutation[] = [
  flipBit,
  setEdge,
  step,
  insert,
  remove,
  repeat,
  overwrite,
  take,
  cross,
  cut,
];

/** @param other a case of the same format */
export function mutateBytes(bytes: Uint8Array, other: Uint8Array, random: Random): Buffer {
  return random.of(MUTATIONS)(Buffer.from(bytes), random, other);
}

function edit(bytes: Buffer, random: Random, change: (byte: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const at = random.below(bytes.length);
  bytes[at] = change(bytes[at] ?? 0);
  return bytes;
}

function splice(bytes: Buffer, at: number, removed: number, inserted: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)]);
}

function blockOf(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  return bytes.subarray(at, at + random.below(MAX_BLOCK));
}
