import {
  create,
  createFileRegistry,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf';
import {
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { LaunchSpecSchema } from '../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import { CapacityResponseSchema, FitResponseSchema } from '../../functions/gen/resourcemap/v1/capacity_pb.ts';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ClusterListSchema, SyncRequestSchema } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { ProtoJsonSchemas, reachableFrom } from '../../functions/openapi/proto-json-schema.ts';
import { arbitraryMessage } from '../builders/arbitrary-message.ts';
import { commentsOfProto } from './make-document.ts';
import { compileSchema, schemaFaults } from './schema-faults.ts';

/** A check of JSON by the schema of a message that clients send, or else that the service writes. */
function validator(message: DescMessage, from: 'clients' | 'service'): ValidateFunction {
  const schemas = new ProtoJsonSchemas({
    comments: new Map(),
    fromClients: from === 'clients' ? reachableFrom([message]) : new Set(),
  });
  const root = schemas.message(message);
  return compileSchema(root, schemas.components());
}

describe('The schema of a message that clients send', () => {
  it.each([ClusterResourceMapSchema, SyncRequestSchema])(
    'takes whatever ProtoJSON writes of %s',
    (schema) => {
      const validate = validator(schema, 'clients');
      fc.assert(
        fc.property(arbitraryMessage(schema), fc.boolean(), (message, alwaysEmitImplicit) => {
          // What JSON.parse gives, as a client sends it.
          const json = JSON.parse(JSON.stringify(toJson(schema, message, { alwaysEmitImplicit })));
          expect(schemaFaults(validate, json)).toEqual([]);
        }),
        { numRuns: 200 },
      );
    },
  );

  it.each([
    [
      'a name that is not known',
      { cluster: { clusterID: 'a' } },
      '/cluster must NOT have additional properties',
    ],
    ['a counter that is a number', { logicalCounter: 1 }, '/logicalCounter must be string'],
    ['a counter that is no number', { logicalCounter: '-1' }, '/logicalCounter must match pattern'],
    ['a count below zero', { capacityPools: [{ minNodes: -1 }] }, '/capacityPools/0/minNodes must be >= 0'],
    [
      'a count that is too large',
      { capacityPools: [{ minNodes: 2 ** 32 }] },
      '/capacityPools/0/minNodes must be <=',
    ],
    ['a time that is none', { collectedAt: 'yesterday' }, '/collectedAt must match format "date-time"'],
    ['a list that is none', { jobs: {} }, '/jobs must be array'],
    [
      'an enum of another name',
      { jobs: [{ workloadKind: 'ONLINE' }] },
      '/jobs/0/workloadKind must be equal to one of',
    ],
  ])('refuses %s', (_, json, fault) => {
    expect(schemaFaults(validator(ClusterResourceMapSchema, 'clients'), json).join('\n')).toContain(fault);
  });

  it('refuses two fields of a oneof', () => {
    const validate = validator(LaunchSpecSchema, 'clients');
    for (const json of [
      {},
      { legacy: {} },
      { productTemplate: { ref: 'a', parameters: { any: [1, null] } } },
    ]) {
      expect(schemaFaults(validate, json)).toEqual([]);
    }
    expect(schemaFaults(validate, { legacy: {}, productTemplate: {} })).toEqual([
      '/legacy boolean schema is false',
      '/productTemplate boolean schema is false',
    ]);
  });
});

describe('The schema of a message that the service writes', () => {
  it.each([ClusterListSchema, CapacityResponseSchema, FitResponseSchema])(
    'takes what is written of %s',
    (schema) => {
      const validate = validator(schema, 'service');
      // Maps with integer keys are beyond the builder; the routes' own responses are checked elsewhere.
      const json = toJson(schema, create(schema), { alwaysEmitImplicit: true });
      expect(schemaFaults(validate, json)).toEqual([]);
    },
  );

  it('requires what is always written, and nothing else', () => {
    const validate = validator(ClusterListSchema, 'service');
    expect(schemaFaults(validate, { clusters: [{}], matching: 0 })).toEqual(
      [
        'state',
        'omittedReason',
        'highWaterMark',
        'contentSinceCounter',
        'accelerators',
        'omittedAcceleratorModels',
        'warningCount',
        'warnings',
        'bodyBytes',
        'storedBytes',
      ].map((name) => `/clusters/0 must have required property '${name}'`),
    );
  });

  it('has no enum that the service does not know', () => {
    const validate = validator(ClusterListSchema, 'service');
    expect(schemaFaults(validate, { clusters: [{ state: 7 }] })).toContain(
      '/clusters/0/state must be string',
    );
  });
});

describe('A message with a field of every kind', () => {
  /** Every scalar by itself and as the value of a map, every well-known type, and itself. */
  const scalars = Object.values(ScalarType).filter((type): type is ScalarType => typeof type === 'number');
  const wellKnown = [
    'Timestamp',
    'Duration',
    'Struct',
    'Value',
    'ListValue',
    'Int64Value',
    'BoolValue',
    'BytesValue',
  ];
  const nameOf = (type: ScalarType): string => ScalarType[type].toLowerCase();
  const keys = scalars.filter(
    (type) => ![ScalarType.DOUBLE, ScalarType.FLOAT, ScalarType.BYTES].includes(type),
  );
  const fields = [
    ...scalars.map((type) => ({ name: `one_${nameOf(type)}`, type: type as number as Type })),
    ...wellKnown.map((name) => ({
      name: `known_${name.toLowerCase()}`,
      type: Type.MESSAGE,
      typeName: `.google.protobuf.${name}`,
    })),
    { name: 'nothing', type: Type.ENUM, typeName: '.google.protobuf.NullValue' },
    { name: 'itself', type: Type.MESSAGE, typeName: '.test.Everything' },
    ...keys.map((type) => ({
      name: `by_${nameOf(type)}`,
      type: Type.MESSAGE,
      label: Label.REPEATED,
      typeName: `.test.Everything.By${nameOf(type)}Entry`,
    })),
  ];
  const registry = createFileRegistry(
    create(FileDescriptorSetSchema, {
      file: [
        ...[
          file_google_protobuf_any,
          file_google_protobuf_duration,
          file_google_protobuf_struct,
          file_google_protobuf_timestamp,
          file_google_protobuf_wrappers,
        ].map(({ proto }) => proto),
        {
          name: 'test.proto',
          package: 'test',
          syntax: 'proto3',
          dependency: ['duration', 'struct', 'timestamp', 'wrappers'].map(
            (name) => `google/protobuf/${name}.proto`,
          ),
          messageType: [
            {
              name: 'Everything',
              field: fields.map((field, i) => ({
                label: Label.OPTIONAL,
                number: i + 1,
                // As a compiler would write it.
                jsonName: field.name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
                ...field,
              })),
              nestedType: keys.map((type) => ({
                name: `By${nameOf(type)}Entry`,
                options: { mapEntry: true },
                field: [
                  { name: 'key', number: 1, label: Label.OPTIONAL, type: type as number as Type },
                  { name: 'value', number: 2, label: Label.OPTIONAL, type: Type.DOUBLE },
                ],
              })),
            },
          ],
        },
      ],
    }),
  );
  const everything = registry.getMessage('test.Everything') as DescMessage;
  let validate: ValidateFunction;
  beforeAll(() => {
    validate = validator(everything, 'clients');
  });

  const EXAMPLE = {
    oneDouble: 'NaN',
    oneFloat: 1.5,
    oneInt64: '-9223372036854775808',
    oneUint64: '18446744073709551615',
    oneInt32: -2_147_483_648,
    oneFixed64: '1',
    oneFixed32: 4_294_967_295,
    oneBool: true,
    oneString: 'ä',
    oneBytes: 'AQI=',
    oneUint32: 0,
    oneSfixed32: -1,
    oneSfixed64: '-1',
    oneSint32: 1,
    oneSint64: '0',
    knownTimestamp: '2026-01-01T00:00:00.000000001Z',
    knownDuration: '-1.500s',
    knownStruct: { a: [1, { b: null }] },
    knownValue: 'text',
    knownListvalue: [1, 'a', null],
    knownInt64value: '5',
    knownBoolvalue: false,
    knownBytesvalue: 'AQI=',
    nothing: null,
    itself: { itself: { oneBool: true } },
    byInt64: { '-1': 1 },
    byUint64: { '18446744073709551615': 'Infinity' },
    byBool: { true: 1, false: 0 },
    byInt32: { '-7': 0 },
    byString: { 'any text': 1 },
  };

  it('is described as the library reads and writes it', () => {
    expect(fields.length).toBeGreaterThan(35);
    const read = fromJson(everything, EXAMPLE as JsonValue, { registry });
    const written = toJson(everything, read, { registry, alwaysEmitImplicit: true });
    expect(written).toMatchObject(EXAMPLE);
    expect(schemaFaults(validate, EXAMPLE)).toEqual([]);
    expect(schemaFaults(validate, written)).toEqual([]);
  });

  it.each([
    [{ byInt32: { a: 0 } }, '/byInt32 property name must be valid'],
    [{ byBool: { yes: 0 } }, '/byBool property name must be valid'],
    [{ byUint64: { '-1': 0 } }, '/byUint64 property name must be valid'],
    [{ oneDouble: 'nan' }, '/oneDouble must match exactly one schema in oneOf'],
    [{ knownDuration: '1' }, '/knownDuration must match pattern'],
    [{ itself: { itself: { oneBool: 1 } } }, '/itself/itself/oneBool must be boolean'],
  ])('does not take %j', (json, fault) => {
    expect(schemaFaults(validate, json).join('\n')).toContain(fault);
    expect(() => fromJson(everything, json as JsonValue, { registry })).toThrow();
  });
});

describe('The comments of the proto files', () => {
  const comments = commentsOfProto();

  it('are found for messages, fields, fields of a oneof after others, enums and values', () => {
    expect(comments.get('resourcemap.v1.PushResult.high_water_mark')).toBe('The next push must be above it.');
    expect(comments.get('resourcemap.v1.Registration')).toBe(
      'Binds identities of an OIDC issuer to a role: one, by its subject, or all whose tokens have an attribute. Exactly one of subject, claim and email_domain is given.',
    );
    expect(comments.get('resourcemap.v1.GroupKey')).toBe('What targets can be grouped by.');
    expect(comments.get('resourcemap.v1.Role.ROLE_ADMIN')).toContain('Manages access');
    expect(comments.get('resourcemap.bundle.v1.ProductTemplate.tags')).toContain('reserved and dropped');
  });

  it('have no line breaks within a paragraph, and no word to a linter', () => {
    expect(comments.size).toBeGreaterThan(150);
    for (const comment of comments.values()) {
      expect(comment).not.toMatch(/[^\n]\n[^\n]/);
      expect(comment).not.toContain('buf:lint');
    }
  });
});

describe('Two messages of one name', () => {
  it('are refused, rather than one of them be described as the other', () => {
    const schemas = new ProtoJsonSchemas({ comments: new Map(), fromClients: new Set() });
    schemas.message(ClusterListSchema);
    const other = { ...ClusterListSchema, typeName: 'other.v1.ClusterList' } as DescMessage;
    expect(() => schemas.message(other)).toThrow(
      'Both resourcemap.v1.ClusterList and other.v1.ClusterList would be the component ClusterList; rename one of them.',
    );
  });
});
