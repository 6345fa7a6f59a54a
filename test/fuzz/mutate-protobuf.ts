/**
 * Mutations of a Protobuf message that keep all else of it readable: a field is changed and
 * the lengths around it are written again. Bytes alone seldom get past the first length.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { integer, nested, tag, text, varint } from '../builders/wire.ts';
import type { Random } from './random.ts';
import { INTEGERS, TEXTS } from './values.ts';

/** A field as it is on the wire; its content parted where the schema says that it is a message. */
interface Field {
  readonly no: number;
  readonly desc: DescField | undefined;
  /** The whole field, tag included; absent where `children` say what it holds. */
  bytes?: Uint8Array;
  readonly children?: Field[];
}

/** Undefined where the bytes are no message at all. */
function parse(schema: DescMessage, bytes: Uint8Array): Field[] | undefined {
  const fields: Field[] = [];
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const start = reader.pos;
      const [no, wireType] = reader.tag();
      const desc = schema.fields.find((field) => field.number === no);
      const message = messageOf(desc);
      if (message !== undefined && wireType === WireType.LengthDelimited) {
        const content = reader.bytes();
        const children = parse(message, content);
        if (children !== undefined) {
          fields.push({ no, desc, children });
          continue;
        }
      } else reader.skip(wireType, no);
      fields.push({ no, desc, bytes: bytes.subarray(start, reader.pos) });
    }
    return fields;
  } catch {
    return undefined;
  }
}

function messageOf(desc: DescField | undefined): DescMessage | undefined {
  return desc?.fieldKind === 'message' || desc?.fieldKind === 'list' ? desc.message : undefined;
}

function encode(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(({ no, bytes, children }) => bytes ?? nested(no, encode(children ?? []))));
}

/** Every list of fields in the message, its own first. */
function lists(fields: Field[], found: Field[][] = []): Field[][] {
  found.push(fields);
  for (const { children } of fields) if (children !== undefined) lists(children, found);
  return found;
}

type Mutation = (fields: Field[], random: Random, donors: readonly Field[]) => void;

const drop: Mutation = (fields, random) => void fields.splice(random.below(fields.length), 1);

const duplicate: Mutation = (fields, random) =>
  void fields.splice(random.below(fields.length + 1), 0, random.of(fields));

const swap: Mutation = (fields, random) => {
  const [a, b] = [random.below(fields.length), random.below(fields.length)];
  [fields[a], fields[b]] = [fields[b] as Field, fields[a] as Field];
};

/** A field of the same number from another message, of whatever type that is. */
const graft: Mutation = (fields, random, donors) => {
  const at = random.below(fields.length);
  const same = donors.filter(({ no, desc }) => no === fields[at]?.no && desc === fields[at]?.desc);
  if (same.length > 0) fields[at] = random.of(same);
};

const renumber: Mutation = (fields, random) => {
  const at = random.below(fields.length);
  const field = fields[at];
  if (field?.children === undefined) return;
  fields[at] = { ...field, no: random.chance(0.5) ? 1 + random.below(30) : 1 + random.below(2 ** 29 - 1) };
};

const revalue: Mutation = (fields, random) => {
  const at = random.below(fields.length);
  const field = fields[at];
  if (field === undefined) return;
  const { no, desc } = field;
  const writer = new BinaryWriter();
  if (random.chance(0.1)) fields[at] = { no, desc, bytes: anyWireType(no, random) };
  else if (desc !== undefined && 'scalar' in desc && desc.scalar === 9)
    fields[at] = { no, desc, bytes: text(no, random.of(TEXTS)) };
  else if (field.children === undefined)
    fields[at] = { no, desc, bytes: writer.tag(no, WireType.Varint).uint64(random.of(INTEGERS)).finish() };
};

/** The value of another field of the message's own kind: ids that meet or miss each other. */
const borrow: Mutation = (fields, random, donors) => {
  const at = random.below(fields.length);
  const field = fields[at];
  const texts = donors.filter(({ desc }) => desc !== undefined && 'scalar' in desc && desc.scalar === 9);
  if (field === undefined || field.children !== undefined || texts.length === 0) return;
  const { bytes } = random.of(texts);
  if (bytes === undefined) return;
  const content = contentOf(bytes);
  if (content !== undefined)
    fields[at] = { no: field.no, desc: field.desc, bytes: nested(field.no, content) };
};

/** Undefined where an earlier mutation has left the field without any. */
function contentOf(bytes: Uint8Array): Uint8Array | undefined {
  try {
    const reader = new BinaryReader(bytes);
    reader.tag();
    return reader.bytes();
  } catch {
    return undefined;
  }
}

/** What no encoder writes: a length, tag or number with more bytes than it needs. */
const overlong: Mutation = (fields, random) => {
  const at = random.below(fields.length);
  const field = fields[at];
  if (field === undefined) return;
  const whole = encode([field]);
  const last = whole.findIndex((byte) => byte < 0x80);
  if (last === -1) return;
  const padded = Buffer.concat([
    whole.subarray(0, last),
    Buffer.from([(whole[last] ?? 0) | 0x80, ...Array.from({ length: random.below(9) }, () => 0x80), 0]),
    whole.subarray(last + 1),
  ]);
  fields[at] = { no: field.no, desc: field.desc, bytes: padded };
};

/** A length that is not the content's. */
const mislength: Mutation = (fields, random) => {
  const at = random.below(fields.length);
  const field = fields[at];
  if (field?.children === undefined) return;
  const content = encode(field.children);
  const length = random.chance(0.5)
    ? Math.max(0, content.length + random.below(9) - 4)
    : Number(random.of(INTEGERS) % 2n ** 53n);
  fields[at] = {
    no: field.no,
    desc: field.desc,
    bytes: Buffer.concat([tag(field.no, 2), varint(length), content]),
  };
};

const unknown: Mutation = (fields, random) => {
  const no = random.chance(0.5) ? 1 + random.below(40) : 536_870_911;
  fields.splice(random.below(fields.length + 1), 0, { no, desc: undefined, bytes: anyWireType(no, random) });
};

/** One message parted in two that a reader merges again. */
const part: Mutation = (fields, random) => {
  const at = random.below(fields.length);
  const field = fields[at];
  if (field?.children === undefined) return;
  const cut = random.below(field.children.length + 1);
  const half = (children: Field[]): Field => ({ no: field.no, desc: field.desc, children });
  fields.splice(at, 1, half(field.children.slice(0, cut)), half(field.children.slice(cut)));
};

const MUTATIONS: readonly Mutation[] = [
  drop,
  duplicate,
  swap,
  graft,
  graft,
  renumber,
  revalue,
  revalue,
  revalue,
  borrow,
  borrow,
  overlong,
  mislength,
  unknown,
  part,
];

function anyWireType(no: number, random: Random): Buffer {
  switch (random.below(5)) {
    case 0:
      return integer(no, Number(random.of(INTEGERS) % 2n ** 53n));
    case 1:
      return Buffer.concat([tag(no, WireType.Bit64), Buffer.alloc(8, random.below(256))]);
    case 2:
      return Buffer.concat([tag(no, WireType.Bit32), Buffer.alloc(4, random.below(256))]);
    case 3:
      return Buffer.concat([tag(no, WireType.StartGroup), integer(1, 1), tag(no, WireType.EndGroup)]);
    default:
      return text(no, random.of(TEXTS));
  }
}

/** The message with one thing changed; undefined where the bytes are no message. */
export function mutateProtobuf(
  schema: DescMessage,
  bytes: Uint8Array,
  other: Uint8Array,
  random: Random,
): Buffer | undefined {
  const fields = parse(schema, bytes);
  if (fields === undefined) return undefined;
  const filled = lists(fields).filter(({ length }) => length > 0);
  if (filled.length === 0) return encode([{ no: 1, desc: undefined, bytes: anyWireType(1, random) }]);
  const donors = lists(parse(schema, random.chance(0.5) ? other : bytes) ?? fields).flat();
  random.of(MUTATIONS)(random.of(filled), random, donors);
  return encode(fields);
}
