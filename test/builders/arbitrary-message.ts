/** Random messages of any type, made from the type's descriptor, so that new fields are covered unasked. */
import { create, type DescField, type DescMessage, type MessageShape, ScalarType } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';

/** Strings that have caught something: quotes, astral code points, U+FFFD's neighbourhood, controls. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('', '"', '\\', '\u2028', '😀', '\uffee', 'arn:aws:eks:eu-west-1:1:cluster/a'),
);

/** Seconds of the years 1 to 9999, which is all that a Timestamp may say. */
export const timestampSeconds = fc.oneof(
  fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
  fc.bigInt({ min: -2n, max: 2n }),
  fc.bigInt({ min: 1_700_000_000n, max: 1_800_000_000n }),
);
export const timestampNanos = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 999 }).map((ms) => ms * 1_000_000),
  fc.integer({ min: 0, max: 999_999 }).map((us) => us * 1_000),
  fc.integer({ min: 0, max: 999_999_999 }),
);

/** A random message; repeated fields and nesting stay small. */
export function arbitraryMessage<D extends DescMessage>(schema: D): fc.Arbitrary<MessageShape<D>> {
  if (schema.typeName === TimestampSchema.typeName) {
    return message(schema, { seconds: timestampSeconds, nanos: timestampNanos });
  }
  if (schema.typeName === DurationSchema.typeName) {
    return message(schema, {
      seconds: fc.bigInt({ min: 0n, max: 315_576_000_000n }),
      nanos: timestampNanos,
    });
  }
  const fields: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of schema.fields) fields[field.localName] = fieldValue(field);
  return message(schema, fields);
}

function message<D extends DescMessage>(
  schema: D,
  fields: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<MessageShape<D>> {
  return fc
    .record(fields, { requiredKeys: [] })
    .map((values) => create(schema, values as Parameters<typeof create<D>>[1]));
}

function fieldValue(field: DescField): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'scalar':
      return scalar(field.scalar);
    case 'enum':
      // Proto3 enums are open: an agent may know values that we do not.
      return fc.oneof(fc.constantFrom(...field.enum.values.map((value) => value.number)), fc.constant(77));
    case 'message':
      return arbitraryMessage(field.message);
    case 'list':
      return fc.array(
        field.listKind === 'message'
          ? arbitraryMessage(field.message)
          : field.listKind === 'scalar'
            ? scalar(field.scalar)
            : fc.constantFrom(...field.enum.values.map((value) => value.number)),
        { maxLength: 2 },
      );
    case 'map':
      return fc.dictionary(
        text.filter((key) => key !== '__proto__' && isParsedRight(key)),
        field.mapKind === 'scalar' ? scalar(field.scalar) : fc.nat(),
        { maxKeys: 3 },
      );
  }
}

/**
 * Whether the engine's JSON.parse reads the key right beside any other. That of Node 24.21 (V8 13.6) takes a key of
 * one escaped character for the one that an earlier object of the same shape had there.
 */
const READS_ESCAPES =
  ['\\', '"']
    .flatMap((key) => Object.keys(JSON.parse(JSON.stringify({ '': '', [key]: '', '\uffee': '' }))))
    .join('') === '\\\uffee"\uffee';

function isParsedRight(key: string): boolean {
  return READS_ESCAPES || JSON.stringify(key) === `"${key}"`;
}

function scalar(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.UINT32:
      return fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffff_ffff }));
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    default:
      throw new Error(`no arbitrary for scalar type ${ScalarType[type]}: add it here`);
  }
}
