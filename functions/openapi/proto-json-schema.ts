/**
 * JSON Schemas (2020-12) of what messages look like in ProtoJSON, derived from their
 * descriptors. Source: the ProtoJSON format, https://protobuf.dev/programming-guides/json.
 *
 * They describe what the service writes and what a client had best send. Its readers take
 * more, as ProtoJSON has it: snake_case names, numbers for 64-bit strings and enum names.
 */
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';

export type JsonSchema = { readonly [keyword: string]: unknown };

export interface ProtoJsonOptions {
  /** What the proto files say of a message, enum, field or value, by its full name. */
  readonly comments: ReadonlyMap<string, string>;
  /**
   * Names of the messages and enums that clients send, as {@link reachableFrom} gives them. What
   * else there is comes from the service, which writes every field that cannot be absent, and no
   * enum that it does not know.
   */
  readonly fromClients: ReadonlySet<string>;
}

/** The components that an OpenAPI document gathers. */
export class ProtoJsonSchemas {
  readonly #schemas = new Map<string, JsonSchema>();
  readonly #names = new Map<string, string>();

  constructor(private readonly options: ProtoJsonOptions) {}

  /** A reference to the schema of a message, which is now among the {@link components} with all that it refers to. */
  message(message: DescMessage): JsonSchema {
    const known = WELL_KNOWN.get(message.typeName);
    if (known !== undefined) return known;
    return this.#component(message, () => this.#object(message));
  }

  /** By name, in the order of the names. */
  components(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #component(desc: DescMessage | DescEnum, make: () => JsonSchema): JsonSchema {
    const { name, typeName } = desc;
    const other = this.#names.get(name);
    if (other !== undefined && other !== typeName) {
      throw new Error(`Both ${other} and ${typeName} would be the component ${name}; rename one of them.`);
    }
    if (other === undefined) {
      // Before it is made: a message may hold itself.
      this.#names.set(name, typeName);
      this.#schemas.set(name, { ...this.#described(typeName), ...make() });
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #object(message: DescMessage): JsonSchema {
    // ProtoJSON leaves out what is zero, so of a client's messages nothing is required.
    const full = !this.options.fromClients.has(message.typeName);
    const required = full ? message.fields.filter(isAlwaysWritten).map(({ jsonName }) => jsonName) : [];
    return {
      type: 'object',
      properties: Object.fromEntries(
        message.fields.map((field) => [
          field.jsonName,
          { ...this.#described(`${message.typeName}.${field.name}`), ...this.#field(field) },
        ]),
      ),
      ...(required.length > 0 ? { required } : {}),
      // A name that is not known is refused; what the service writes may grow.
      ...(full ? {} : { additionalProperties: false }),
      ...(message.oneofs.length > 0 ? { dependentSchemas: exclusions(message) } : {}),
    };
  }

  #field(field: DescField): JsonSchema {
    switch (field.fieldKind) {
      case 'list':
        return { type: 'array', items: this.#value(field) };
      case 'map':
        return {
          type: 'object',
          ...keySchema(field.mapKey),
          additionalProperties: this.#value(field),
        };
      default:
        return this.#value(field);
    }
  }

  #value({ message, enum: enumeration, scalar }: DescField): JsonSchema {
    if (message !== undefined) return this.message(message);
    if (enumeration !== undefined) return this.#enum(enumeration);
    return scalarSchema(scalar);
  }

  #enum(desc: DescEnum): JsonSchema {
    if (desc.typeName === 'google.protobuf.NullValue') return { type: 'null' };
    const values = desc.values.map(({ name }) => ({
      name,
      comment: this.options.comments.get(`${desc.typeName}.${name}`),
    }));
    const lines = values.flatMap(({ name, comment }) =>
      comment === undefined ? [] : [`- \`${name}\`: ${comment}`],
    );
    return this.#component(desc, () => {
      const own = this.options.comments.get(desc.typeName);
      const description = [...(own === undefined ? [] : [own]), lines.join('\n')].join('\n\n').trim();
      const names = { type: 'string', enum: values.map(({ name }) => name) };
      return {
        ...(description === '' ? {} : { description }),
        // Enums are open: the number of a newer client is kept, and served as it came.
        ...(this.options.fromClients.has(desc.typeName) ? { anyOf: [names, SIGNED_32] } : names),
      };
    });
  }

  #described(name: string): JsonSchema {
    const description = this.options.comments.get(name);
    return description === undefined ? {} : { description };
  }
}

/** Names of the messages, themselves included, and of every message and enum that they may hold. */
export function reachableFrom(messages: Iterable<DescMessage>): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (message: DescMessage): void => {
    if (names.has(message.typeName)) return;
    names.add(message.typeName);
    for (const { message: held, enum: enumeration } of message.fields) {
      if (held !== undefined) visit(held);
      if (enumeration !== undefined) names.add(enumeration.typeName);
    }
  };
  for (const message of messages) visit(message);
  return names;
}

function isAlwaysWritten(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.IMPLICIT;
}

/** Where one field of a oneof is there, no other one is. */
function exclusions({ oneofs }: DescMessage): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    oneofs.flatMap(({ fields }) =>
      fields.map(({ jsonName }) => [
        jsonName,
        {
          properties: Object.fromEntries(
            fields.filter((other) => other.jsonName !== jsonName).map((other) => [other.jsonName, false]),
          ),
        },
      ]),
    ),
  );
}

const UNSIGNED_64: JsonSchema = { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,19})$' };
const SIGNED_64: JsonSchema = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]{0,18})$' };

/** No `format`: int32 is one of OpenAPI's, uint32 of nobody's, and the bounds say it all. */
const UNSIGNED_32: JsonSchema = { type: 'integer', minimum: 0, maximum: 4_294_967_295 };
const SIGNED_32: JsonSchema = { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 };
const FLOAT: JsonSchema = { oneOf: [{ type: 'number' }, { enum: ['NaN', 'Infinity', '-Infinity'] }] };

function scalarSchema(scalar: ScalarType | undefined): JsonSchema {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: 'string' };
    case ScalarType.BOOL:
      return { type: 'boolean' };
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return UNSIGNED_64;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return SIGNED_64;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return UNSIGNED_32;
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return SIGNED_32;
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return FLOAT;
    case undefined:
      throw new Error('A field without a type.');
  }
}

/** Keys of an object are text, so a number or a truth value is written as one. */
function keySchema(key: ScalarType): JsonSchema {
  if (key === ScalarType.STRING) return {};
  if (key === ScalarType.BOOL) return { propertyNames: { enum: ['true', 'false'] } };
  const scalar = scalarSchema(key);
  const pattern = scalar.pattern ?? (scalar.minimum === 0 ? UNSIGNED_64.pattern : SIGNED_64.pattern);
  return { propertyNames: { pattern } };
}

const ANYTHING: JsonSchema = {};

/** Messages that ProtoJSON writes in a way of their own. */
const WELL_KNOWN: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ['google.protobuf.Timestamp', { type: 'string', format: 'date-time' }],
  ['google.protobuf.Duration', { type: 'string', pattern: '^-?[0-9]{1,12}(?:\\.[0-9]{1,9})?s$' }],
  ['google.protobuf.Struct', { type: 'object', additionalProperties: true }],
  ['google.protobuf.ListValue', { type: 'array', items: ANYTHING }],
  ['google.protobuf.Value', ANYTHING],
  ['google.protobuf.Empty', { type: 'object', additionalProperties: false }],
  ['google.protobuf.FieldMask', { type: 'string' }],
  [
    'google.protobuf.Any',
    {
      type: 'object',
      properties: { '@type': { type: 'string' } },
      required: ['@type'],
      additionalProperties: true,
    },
  ],
  ...(
    [
      ['Double', ScalarType.DOUBLE],
      ['Float', ScalarType.FLOAT],
      ['Int64', ScalarType.INT64],
      ['UInt64', ScalarType.UINT64],
      ['Int32', ScalarType.INT32],
      ['UInt32', ScalarType.UINT32],
      ['Bool', ScalarType.BOOL],
      ['String', ScalarType.STRING],
      ['Bytes', ScalarType.BYTES],
    ] as const
  ).map(([name, scalar]): [string, JsonSchema] => [
    `google.protobuf.${name}Value`,
    { anyOf: [scalarSchema(scalar), { type: 'null' }] },
  ]),
]);
