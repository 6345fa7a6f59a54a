import {
  type DescField,
  type DescMessage,
  fromBinary,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CANONICAL_ORDERS, encodeContent } from '../../../functions/core/snapshot/canonical.ts';
import { contentIdOf } from '../../../functions/core/snapshot/content.ts';
import { decodeSnapshot } from '../../../functions/core/snapshot/decode.ts';
import {
  ApiResourceSchema,
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  RankStateSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitraryMessage } from '../../builders/arbitrary-message.ts';
import { permuteWire, seededRandom } from '../../builders/permute-wire.ts';
import { CLUSTER_ID, snapshotOf } from './builders.ts';

/** Every repeated field of the contract whose order says something. */
const KEEPS_ORDER: ReadonlySet<DescField> = new Set([
  RankStateSchema.field.podRequirements,
  ApiResourceSchema.field.servedVersions,
]);

const encode = (snapshot: ClusterResourceMap): Uint8Array => toBinary(ClusterResourceMapSchema, snapshot);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const contentId = (snapshot: ClusterResourceMap): string => contentIdOf(CLUSTER_ID, encodeContent(snapshot));

/** Three random snapshots run together, which Protobuf reads as one with longer lists; unknown fields at the end. */
const wire = fc
  .tuple(
    fc.array(arbitraryMessage(ClusterResourceMapSchema), { minLength: 1, maxLength: 3 }),
    fc.array(fc.tuple(fc.integer({ min: 9, max: 12 }), fc.nat(127)), { maxLength: 5 }),
  )
  .map(([snapshots, unknown]) =>
    encode(
      fromBinary(
        ClusterResourceMapSchema,
        Buffer.concat([
          ...snapshots.map(encode),
          // One byte of tag (varint), one of value; the same again inside the identity.
          ...unknown.map(([no, value]) => Buffer.from([no << 3, value])),
          ...unknown.map(([no, value]) => Buffer.from([0x0a, 2, no << 3, value])),
        ]),
      ),
    ),
  );

describe('the canonical form', () => {
  it('is the same whatever the order of fields, elements, map entries and unknown fields', () => {
    fc.assert(
      fc.property(wire, fc.integer({ min: 1 }), (bytes, seed) => {
        const permuted = permuteWire(
          ClusterResourceMapSchema,
          bytes,
          (field) => KEEPS_ORDER.has(field),
          seededRandom(seed),
        );
        const one = encodeContent(decodeSnapshot(nonEmpty(bytes), 'protobuf'));
        const other = encodeContent(decodeSnapshot(nonEmpty(permuted), 'protobuf'));
        expect(hex(other)).toBe(hex(one));
      }),
      { numRuns: 300 },
    );
  });

  it('loses nothing of what a snapshot says but its time and counter', () => {
    fc.assert(
      fc.property(wire, (bytes) => {
        const snapshot = decodeSnapshot(nonEmpty(bytes), 'protobuf');
        const { collectedAt, logicalCounter } = snapshot;
        const said = asMultisets(ClusterResourceMapSchema, snapshot);
        const body = fromBinary(ClusterResourceMapSchema, encodeContent(snapshot));
        expect([body.collectedAt, body.logicalCounter]).toEqual([undefined, 0n]);
        if (collectedAt !== undefined) body.collectedAt = collectedAt;
        body.logicalCounter = logicalCounter;
        expect(asMultisets(ClusterResourceMapSchema, body)).toBe(said);
      }),
      { numRuns: 200 },
    );
  });

  it('is its own canonical form', () => {
    fc.assert(
      fc.property(wire, (bytes) => {
        const body = encodeContent(decodeSnapshot(nonEmpty(bytes), 'protobuf'));
        expect(hex(encodeContent(fromBinary(ClusterResourceMapSchema, body)))).toBe(hex(body));
      }),
      { numRuns: 100 },
    );
  });

  it('knows of every repeated field of the contract whether its order says something', () => {
    const canonical = new Set(CANONICAL_ORDERS.map((order) => order.field));
    const neither = listFields(ClusterResourceMapSchema).filter(
      (field) => !canonical.has(field) && !KEEPS_ORDER.has(field),
    );
    expect(neither.map(String)).toEqual([]);
    expect([...canonical].filter((field) => KEEPS_ORDER.has(field))).toEqual([]);
    expect(listFields(ClusterResourceMapSchema).length).toBe(canonical.size + KEEPS_ORDER.size);
  });

  it('does not depend on time and counter', () => {
    const one = snapshotOf({ logicalCounter: 1n, collectedAt: { seconds: 1n } });
    const other = snapshotOf({ logicalCounter: 9n, collectedAt: { seconds: 2n, nanos: 3 } });
    expect(contentId(one)).toBe(contentId(other));
  });

  it.each([
    [
      'pod_requirements',
      (counts: readonly number[]) =>
        snapshotOf({
          jobs: [{ ranks: [{ podRequirements: counts.map((n) => ({ acceleratorCount: n })) }] }],
        }),
    ],
    [
      'served_versions',
      (counts: readonly number[]) =>
        snapshotOf({ apiResources: [{ kind: 'Job', servedVersions: counts.map((n) => `v${n}`) }] }),
    ],
  ])('keeps the order of %s, and so gives another order another digest', (_, build) => {
    expect(contentId(build([4, 8]))).not.toBe(contentId(build([8, 4])));
    expect(contentId(build([4, 8]))).toBe(contentId(build([4, 8])));
  });

  it('keeps equal occupancy entries apart from one entry', () => {
    const nodes = (...external: number[]) =>
      snapshotOf({
        capacityPools: [{ nodeTypes: [{ inUse: external.map((n) => ({ externalAcceleratorsInUse: n })) }] }],
      });
    expect(contentId(nodes(1, 1, 2))).toBe(contentId(nodes(2, 1, 1)));
    expect(contentId(nodes(1, 1, 2))).not.toBe(contentId(nodes(1, 2)));
    expect(contentId(nodes(1, 1, 2))).not.toBe(contentId(nodes(1, 2, 2)));
  });

  it('orders elements with equal ids by all that they say', () => {
    const pools = (...maxima: number[]) =>
      snapshotOf({ capacityPools: maxima.map((maxNodes) => ({ id: 'p', maxNodes })) });
    expect(contentId(pools(3, 1, 2))).toBe(contentId(pools(2, 3, 1)));
  });

  it('merges a singular field that is sent twice, as Protobuf has it', () => {
    const identity = (fields: { clusterId?: string; region?: string }) =>
      encode(fromBinary(ClusterResourceMapSchema, encode(snapshotOf({ cluster: fields }))));
    const twice = Buffer.concat([identity({ clusterId: 'c1' }), identity({ region: 'eu' })]);
    const once = identity({ clusterId: 'c1', region: 'eu' });
    expect(contentId(decodeSnapshot(twice, 'protobuf'))).toBe(contentId(decodeSnapshot(once, 'protobuf')));
  });

  it('keeps the order of an unknown field’s own occurrences', () => {
    const withUnknown = (...values: number[]) =>
      decodeSnapshot(
        Buffer.concat([encode(snapshotOf()), ...values.map((v) => Buffer.from([0x78, v]))]),
        'protobuf',
      );
    expect(contentId(withUnknown(1, 2))).not.toBe(contentId(withUnknown(2, 1)));
  });

  it('keeps an engine parameter "__proto__"', () => {
    const parameters = (json: string) =>
      decodeSnapshot(Buffer.from(`{"jobs":[{"ranks":[{"runtime":{"engineParameters":${json}}}]}]}`), 'json');
    const body = encodeContent(parameters('{"b":"2","__proto__":"x","a":"1"}'));
    const read = fromBinary(ClusterResourceMapSchema, body).jobs[0]?.ranks[0]?.runtime?.engineParameters;
    expect(Object.entries(read ?? {})).toEqual([
      ['__proto__', 'x'],
      ['a', '1'],
      ['b', '2'],
    ]);
    expect(contentId(parameters('{"__proto__":"x"}'))).not.toBe(contentId(parameters('{}')));
  });

  it('tells an absent number from 0', () => {
    const bounds = (pool: { minNodes?: number }) => snapshotOf({ capacityPools: [{ id: 'p', ...pool }] });
    expect(contentId(bounds({ minNodes: 0 }))).not.toBe(contentId(bounds({})));
  });
});

describe('the body id', () => {
  it('is another for the same body of another cluster', () => {
    const body = encodeContent(snapshotOf());
    expect(contentIdOf('c1', body)).not.toBe(contentIdOf('c2', body));
  });

  it('does not run cluster id and body together', () => {
    expect(contentIdOf('ab', Buffer.from('c'))).not.toBe(contentIdOf('a', Buffer.from('bc')));
  });

  it('is SHA-256 over both, each after its length, so that another implementation can compute it', () => {
    // printf '\0\0\0\2c1\0\0\0\3abc' | sha256sum
    expect(contentIdOf('c1', Buffer.from('abc'))).toBe(
      '95c62b5d3a8fe0dbc581d6b012d9b8cd6fbffbd4f6ac47dafd9909a6d7ebec9e',
    );
  });
});

/** A snapshot of nothing has no bytes, which a push may not be; an empty identity is as little. */
function nonEmpty(bytes: Uint8Array): Uint8Array {
  return bytes.length > 0 ? bytes : Buffer.from([0x0a, 0]);
}

/** Every repeated field of a message and of those within it. */
function listFields(schema: DescMessage, seen = new Set<DescMessage>()): DescField[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  return schema.fields.flatMap((field) => [
    ...(field.fieldKind === 'list' ? [field] : []),
    ...('message' in field && field.message !== undefined ? listFields(field.message, seen) : []),
  ]);
}

/** What a message says, with every list whose order says nothing sorted by its elements' own text. */
function asMultisets(schema: DescMessage, message: Message): string {
  return JSON.stringify(sorted(schema, toJson(schema, message)));
}

function sorted(schema: DescMessage, json: JsonValue): JsonValue {
  // Timestamps and durations are text already.
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(
    schema.fields.flatMap((field) => {
      const value = json[field.jsonName];
      if (value === undefined) return [];
      return [[field.jsonName, sortedValue(field, value)]];
    }),
  );
}

function sortedValue(field: DescField, value: JsonValue): JsonValue {
  if (field.fieldKind === 'message') return sorted(field.message, value);
  if (field.fieldKind === 'map') {
    return Object.entries(value as Record<string, JsonValue>).sort(([a], [b]) => (a < b ? -1 : 1));
  }
  if (field.fieldKind !== 'list' || !Array.isArray(value)) return value;
  const elements = value.map((element) =>
    field.message === undefined ? element : sorted(field.message, element),
  );
  return KEEPS_ORDER.has(field)
    ? elements
    : elements.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
