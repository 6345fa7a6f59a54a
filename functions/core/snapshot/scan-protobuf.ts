/**
 * Reads through an encoded message without building anything of it, before it is decoded:
 * two bytes can stand for a message that takes two hundred in memory. What passes here is
 * within the limits and well-formed, so that the decoder sees exactly the elements that
 * were counted; the decoder alone would take a field of the wrong wire type for another
 * and read past the end of a nested message.
 */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { MalformedBodyError, ResourceMapError } from '../errors.ts';
import { MAX_DISTINCT_KEYS, MAX_ELEMENTS, MAX_NESTING } from './limits.ts';

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const GROUP_START = 3;
const GROUP_END = 4;
const FIXED32 = 5;
/** `{`, which begins a Protobuf message only if its first field is a group of number 15. */
const OPENING_BRACE = 0x7b;

const MAX_VARINT_BYTES = 10;
const MAX_TAG_BYTES = 5;

/**
 * Counts messages, list entries, map entries and unknown fields.
 *
 * @returns the number of elements
 * @throws MalformedBodyError `malformed_protobuf`; ResourceMapError `too_many_elements`, `nested_too_deeply`
 */
export function scanProtobuf(schema: DescMessage, bytes: Uint8Array): number {
  return new Scan(schema, bytes).run();
}

/** How the value of a known field is gone through. */
type Step =
  | { readonly kind: 'value'; readonly field: DescField; readonly wireType: number; readonly counts: boolean }
  | { readonly kind: 'packable'; readonly field: DescField; readonly wireType: number }
  | { readonly kind: 'message'; readonly field: DescField; readonly plan: Plan }
  | { readonly kind: 'map'; readonly field: DescField; readonly plan: Plan };

/** The steps of a message by field number; a message type that contains itself makes it a cycle. */
type Plan = Map<number, Step>;

class Scan {
  readonly #schema: DescMessage;
  readonly #bytes: Uint8Array;
  #at = 0;
  #elements = 0;
  readonly #mapKeys = new Set<string>();

  constructor(schema: DescMessage, bytes: Uint8Array) {
    this.#schema = schema;
    this.#bytes = bytes;
  }

  run(): number {
    this.#message(planOf(this.#schema), this.#bytes.length, 1);
    return this.#elements;
  }

  #message(plan: Plan, end: number, depth: number): void {
    this.#count();
    while (this.#at < end) {
      const tagAt = this.#at;
      const tag = this.#tag(end);
      const step = plan.get(tag >>> 3);
      if (step === undefined) {
        this.#count();
        this.#skip(tag, tagAt, end, depth);
      } else {
        this.#known(step, tag & 7, tagAt, end, depth);
      }
    }
  }

  #known(step: Step, wireType: number, tagAt: number, end: number, depth: number): void {
    switch (step.kind) {
      case 'value':
        this.#expect(step.field, wireType, step.wireType, tagAt);
        if (step.counts) this.#count();
        this.#skipValue(wireType, end);
        return;
      case 'packable':
        if (wireType === LENGTH_DELIMITED) {
          this.#packed(step, this.#enter(end));
        } else {
          this.#expect(step.field, wireType, step.wireType, tagAt);
          this.#count();
          this.#skipValue(wireType, end);
        }
        return;
      case 'message':
        this.#expect(step.field, wireType, LENGTH_DELIMITED, tagAt);
        this.#nest(depth, tagAt);
        this.#message(step.plan, this.#enter(end), depth + 1);
        return;
      case 'map':
        this.#expect(step.field, wireType, LENGTH_DELIMITED, tagAt);
        this.#nest(depth, tagAt);
        this.#mapEntry(step.plan, this.#enter(end), depth + 1);
        return;
    }
  }

  /** A map entry is a message of a key (1) and a value (2). */
  #mapEntry(plan: Plan, end: number, depth: number): void {
    this.#count();
    let key = '';
    while (this.#at < end) {
      const tagAt = this.#at;
      const tag = this.#tag(end);
      const valueAt = this.#at;
      const step = plan.get(tag >>> 3);
      if (step === undefined) this.#skip(tag, tagAt, end, depth);
      else this.#known(step, tag & 7, tagAt, end, depth);
      // The key's bytes, its length with them, tell it from any other.
      if (tag >>> 3 === 1) key = latin1(this.#bytes, valueAt, this.#at);
    }
    this.#mapKeys.add(key);
    if (this.#mapKeys.size > MAX_DISTINCT_KEYS) {
      throw new ResourceMapError(
        'too_many_elements',
        `The maps of the body have more than ${MAX_DISTINCT_KEYS} different keys, which is the most that is taken.`,
        { limit: MAX_DISTINCT_KEYS },
      );
    }
  }

  #packed({ field, wireType }: Step & { kind: 'packable' }, end: number): void {
    while (this.#at < end) {
      this.#count();
      this.#skipValue(wireType, end);
    }
    if (this.#at !== end) throw this.#malformed(this.#at, `the packed field ${field.name} does not end`);
  }

  /** Skips a field that the schema does not have; a group with all that is in it. */
  #skip(tag: number, tagAt: number, end: number, depth: number): void {
    const wireType = tag & 7;
    if (wireType === GROUP_END) throw this.#malformed(tagAt, 'a group ends that never began');
    if (wireType !== GROUP_START) {
      this.#skipValue(wireType, end);
      return;
    }
    const open = [tag >>> 3];
    while (open.length > 0) {
      this.#nest(depth + open.length - 1, tagAt);
      const innerAt = this.#at;
      if (innerAt >= end) throw this.#malformed(innerAt, 'a group does not end');
      const inner = this.#tag(end);
      if ((inner & 7) === GROUP_START) open.push(inner >>> 3);
      else if ((inner & 7) !== GROUP_END) this.#skipValue(inner & 7, end);
      else if (open.pop() !== inner >>> 3) {
        throw this.#malformed(
          innerAt,
          `the end of group ${inner >>> 3} is not that of the one which is open`,
        );
      }
    }
  }

  #skipValue(wireType: number, end: number): void {
    const from = this.#at;
    switch (wireType) {
      case VARINT:
        this.#skipVarint(end);
        return;
      case LENGTH_DELIMITED:
        this.#at = this.#enter(end);
        return;
      case FIXED32:
        this.#at += 4;
        break;
      default:
        this.#at += 8;
    }
    if (this.#at > end) throw this.#malformed(from, 'a number is cut off');
  }

  #skipVarint(end: number): void {
    const from = this.#at;
    const last = Math.min(end, from + MAX_VARINT_BYTES);
    while (this.#at < last) {
      const byte = this.#bytes[this.#at++];
      if (byte !== undefined && byte < 0x80) return;
    }
    throw this.#malformed(
      from,
      last === end ? 'a varint is cut off' : `a varint has more than ${MAX_VARINT_BYTES} bytes`,
    );
  }

  /** Reads a field's tag: its number, above 0, and a wire type that there is. */
  #tag(end: number): number {
    const from = this.#at;
    let tag = 0;
    for (let i = 0; ; i++) {
      if (this.#at >= end) throw this.#malformed(from, 'a field tag is cut off');
      const byte = this.#bytes[this.#at++] ?? 0;
      // 32 bits: four of the fifth byte.
      if (i === MAX_TAG_BYTES - 1 && byte > 0x0f) {
        throw this.#malformed(from, 'a field number is above 536870911');
      }
      tag += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) break;
    }
    if (tag >>> 3 === 0) throw this.#malformed(from, 'a field number is 0');
    if ((tag & 7) > FIXED32) throw this.#malformed(from, `there is no wire type ${tag & 7}`);
    return tag;
  }

  /** Reads a length and gives the position at which what has this length ends. */
  #enter(end: number): number {
    const from = this.#at;
    this.#skipVarint(end);
    let length = 0;
    for (let i = this.#at - 1; i >= from; i--) length = length * 0x80 + ((this.#bytes[i] ?? 0) & 0x7f);
    if (length > end - this.#at) {
      throw this.#malformed(
        from,
        `a length of ${length} is more than the ${end - this.#at} bytes that are left`,
      );
    }
    return this.#at + length;
  }

  #count(): void {
    if (++this.#elements <= MAX_ELEMENTS) return;
    throw new ResourceMapError(
      'too_many_elements',
      `The body has more than ${MAX_ELEMENTS} elements (messages, list entries, map entries, unknown fields), which is the most that is taken.`,
      { limit: MAX_ELEMENTS },
    );
  }

  #nest(depth: number, at: number): void {
    if (depth < MAX_NESTING) return;
    throw new ResourceMapError(
      'nested_too_deeply',
      `The body is nested more than ${MAX_NESTING} deep at byte ${at}; no ${this.#schema.name} is.`,
      { limit: MAX_NESTING },
    );
  }

  #expect(field: DescField, wireType: number, expected: number, at: number): void {
    if (wireType === expected) return;
    throw this.#malformed(
      at,
      `${field.parent.name}.${field.name} has wire type ${wireType} where ${expected} belongs`,
    );
  }

  #malformed(at: number, what: string): MalformedBodyError {
    const remedy =
      this.#bytes[0] === OPENING_BRACE
        ? 'It begins as JSON does, which is application/json.'
        : 'Send the encoded message itself, without a length prefix or framing.';
    return new MalformedBodyError(
      'malformed_protobuf',
      `The ${this.#bytes.length}-byte body is not a valid ${this.#schema.typeName}: at byte ${at}, ${what}. ${remedy}`,
    );
  }
}

const plans = new WeakMap<DescMessage, Plan>();

function planOf(schema: DescMessage): Plan {
  const known = plans.get(schema);
  if (known !== undefined) return known;
  const plan: Plan = new Map();
  plans.set(schema, plan);
  for (const field of schema.fields) plan.set(field.number, stepOf(field));
  return plan;
}

function stepOf(field: DescField): Step {
  switch (field.fieldKind) {
    case 'message':
      return { kind: 'message', field, plan: planOf(field.message) };
    case 'scalar':
      return { kind: 'value', field, wireType: wireTypeOf(field.scalar), counts: false };
    case 'enum':
      return { kind: 'value', field, wireType: VARINT, counts: false };
    case 'list': {
      if (field.listKind === 'message') return { kind: 'message', field, plan: planOf(field.message) };
      const wireType = field.listKind === 'enum' ? VARINT : wireTypeOf(field.scalar);
      return wireType === LENGTH_DELIMITED
        ? { kind: 'value', field, wireType, counts: true }
        : { kind: 'packable', field, wireType };
    }
    case 'map': {
      const key: Step = { kind: 'value', field, wireType: wireTypeOf(field.mapKey), counts: false };
      const value: Step =
        field.mapKind === 'message'
          ? { kind: 'message', field, plan: planOf(field.message) }
          : {
              kind: 'value',
              field,
              wireType: field.mapKind === 'enum' ? VARINT : wireTypeOf(field.scalar),
              counts: false,
            };
      return {
        kind: 'map',
        field,
        plan: new Map([
          [1, key],
          [2, value],
        ]),
      };
    }
  }
}

function wireTypeOf(type: ScalarType): number {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return LENGTH_DELIMITED;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return FIXED64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return FIXED32;
    default:
      return VARINT;
  }
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
