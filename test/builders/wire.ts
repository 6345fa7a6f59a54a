/** Protobuf written by hand, for bodies that no encoder would make. */

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

export function tag(field: number, wireType: number): Buffer {
  return varint(field * 8 + wireType);
}

/** A length-delimited field around whatever is given. */
export function nested(field: number, ...content: readonly Uint8Array[]): Buffer {
  const inner = Buffer.concat(content);
  return Buffer.concat([tag(field, 2), varint(inner.length), inner]);
}

export function text(field: number, value: string): Buffer {
  return nested(field, Buffer.from(value));
}

/** A field of varint wire type. */
export function integer(field: number, value: number): Buffer {
  return Buffer.concat([tag(field, 0), varint(value)]);
}

/** The same bytes many times over. */
export function repeated(bytes: Uint8Array, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes);
}

/** Groups in one another, of an unknown field. */
export function groups(field: number, depth: number): Buffer {
  return Buffer.concat([repeated(tag(field, 3), depth), repeated(tag(field, 4), depth)]);
}

/** Numbers of the fields that tests nest in one another. */
export const FIELD = {
  cluster: 1,
  collectedAt: 2,
  pools: 3,
  jobs: 4,
  apiResources: 7,
  logicalCounter: 8,
  /** Of a capacity pool. */
  nodeTypes: 6,
  /** Of a node type. */
  inUse: 13,
  /** Of a job. */
  ranks: 3,
  /** Of a rank. */
  runtime: 2,
  /** Of a runtime. */
  engineParameters: 7,
} as const;
