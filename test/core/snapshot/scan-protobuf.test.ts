import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, file_google_protobuf_descriptor } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DISTINCT_KEYS, MAX_ELEMENTS, MAX_NESTING } from '../../../functions/core/snapshot/limits.ts';
import { scanProtobuf } from '../../../functions/core/snapshot/scan-protobuf.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { SyncRequestSchema } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { arbitraryMessage } from '../../builders/arbitrary-message.ts';
import { FIELD, groups, integer, nested, repeated, tag, text, varint } from '../../builders/wire.ts';

const EMPTY = Buffer.alloc(0);
const UNKNOWN = 1000;

function scan(...parts: readonly Uint8Array[]): number {
  return scanProtobuf(ClusterResourceMapSchema, Buffer.concat(parts));
}

function malformed(bytes: Uint8Array, what: string): string {
  return (
    `[malformed_protobuf] The ${bytes.length}-byte body is not a valid resourcemap.v1.ClusterResourceMap: ${what}. ` +
    'Send the encoded message itself, without a length prefix or framing.'
  );
}

describe('The scan of an encoded message', () => {
  it('counts the message, every nested one, every entry of a list or a map and every unknown field', () => {
    const snapshot = create(ClusterResourceMapSchema, {
      cluster: { clusterId: 'c' },
      capacityPools: [{ id: 'p', nodeTypes: [{ id: 'a' }, { id: 'b' }] }],
      apiResources: [{ kind: 'Job', servedVersions: ['v1', 'v2'] }],
      jobs: [{ ranks: [{ runtime: { engineParameters: { a: '1', b: '2' } } }] }],
    });
    // 1 + cluster + pool + 2 types + resource + 2 versions + job + rank + runtime + 2 parameters + 1
    expect(scan(toBinary(ClusterResourceMapSchema, snapshot), integer(UNKNOWN, 7))).toBe(14);
  });

  it('counts the elements of a packed list, and of one that is not', () => {
    const proto = create(FileDescriptorProtoSchema, { publicDependency: [0, 300, 2] });
    expect(scanProtobuf(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, proto))).toBe(4);
    expect(scanProtobuf(FileDescriptorProtoSchema, nested(10, varint(0), varint(300), varint(2)))).toBe(4);
  });

  it('takes whatever the library encodes', () => {
    for (const schema of [ClusterResourceMapSchema, SyncRequestSchema] as const) {
      fc.assert(
        fc.property(arbitraryMessage(schema), (message) => {
          scanProtobuf(schema, toBinary(schema, message as never));
        }),
        { numRuns: 200 },
      );
    }
    // Every kind of field, packed lists of every type among them.
    const { proto } = file_google_protobuf_descriptor;
    scanProtobuf(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, proto));
  });

  it('takes nothing that the library then refuses for its structure', () => {
    const seed = toBinary(
      ClusterResourceMapSchema,
      create(ClusterResourceMapSchema, {
        cluster: { clusterId: 'cluster' },
        collectedAt: { seconds: 1_767_225_600n, nanos: 5 },
        capacityPools: [{ id: 'p', nodeTypes: [{ id: 'a', inUse: [{ allocations: [{ jobId: 'j' }] }] }] }],
        jobs: [{ ranks: [{ runtime: { engineParameters: { a: '1' } } }] }],
        logicalCounter: 2n ** 64n - 1n,
      }),
    );
    const mutation = fc.tuple(fc.nat(seed.length - 1), fc.nat(255), fc.constantFrom('set', 'cut', 'insert'));
    let taken = 0;
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        let bytes: Uint8Array = Uint8Array.from(seed);
        for (const [at, value, how] of mutations) {
          if (how === 'set') bytes[at % bytes.length] = value;
          else if (how === 'cut') bytes = bytes.slice(0, Math.max(1, at));
          else bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([value]), bytes.subarray(at)]);
        }
        try {
          scanProtobuf(ClusterResourceMapSchema, bytes);
        } catch {
          return;
        }
        taken++;
        try {
          fromBinary(ClusterResourceMapSchema, bytes);
        } catch (error) {
          // Whether text is UTF-8 is seen only by reading it.
          expect(String(error)).toMatch(/UTF-8/i);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  it('refuses one element more than the limit, and takes the limit', () => {
    const most = repeated(nested(FIELD.pools), MAX_ELEMENTS - 1);
    expect(scan(most)).toBe(MAX_ELEMENTS);
    expect(() => scan(most, nested(FIELD.pools))).toThrow(
      '[too_many_elements] The body has more than 1000000 elements (messages, list entries, map entries, unknown fields), which is the most that is taken.',
    );
  });

  it.each([
    ['unknown fields', repeated(Buffer.concat([tag(UNKNOWN, 2), varint(0)]), MAX_ELEMENTS)],
    ['entries of a list', nested(FIELD.apiResources, repeated(text(3, ''), MAX_ELEMENTS))],
    ['repetitions of a singular field', repeated(nested(FIELD.cluster), MAX_ELEMENTS)],
  ])('counts %s', (_, body) => {
    expect(() => scan(body)).toThrow('[too_many_elements]');
  });

  it('refuses one different map key more than the limit, and takes the limit', () => {
    const entry = (i: number): Buffer => nested(1, text(1, `c${i}`), integer(2, 1));
    const clock = (keys: number): Buffer =>
      Buffer.concat(Array.from({ length: keys }, (_, i) => entry(i % keys)));
    expect(scanProtobuf(SyncRequestSchema, clock(MAX_DISTINCT_KEYS))).toBe(MAX_DISTINCT_KEYS + 1);
    expect(() => scanProtobuf(SyncRequestSchema, clock(MAX_DISTINCT_KEYS + 1))).toThrow(
      '[too_many_elements] The maps of the body have more than 65536 different keys, which is the most that is taken.',
    );
  });

  it('refuses groups nested too deeply, without recursion', () => {
    expect(scan(groups(UNKNOWN, MAX_NESTING - 1))).toBe(2);
    expect(() => scan(groups(UNKNOWN, MAX_NESTING))).toThrow(
      '[nested_too_deeply] The body is nested more than 64 deep at byte 0; no ClusterResourceMap is.',
    );
    expect(() => scan(repeated(tag(UNKNOWN, 3), 4_000_000))).toThrow('[nested_too_deeply]');
  });

  it.each([
    ['a field number of 0', Buffer.from([0x02, 0x00]), 'at byte 0, a field number is 0'],
    [
      'a field number above the largest',
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0x1f, 0]),
      'at byte 0, a field number is above 536870911',
    ],
    ['a wire type that does not exist', tag(UNKNOWN, 7), 'at byte 0, there is no wire type 7'],
    ['a tag that is cut off', Buffer.from([0x82]), 'at byte 0, a field tag is cut off'],
    ['a varint that is cut off', Buffer.from([0x40, 0x80]), 'at byte 1, a varint is cut off'],
    [
      'a varint without end',
      Buffer.concat([tag(FIELD.logicalCounter, 0), repeated(Buffer.from([0x80]), 1_000)]),
      'at byte 1, a varint has more than 10 bytes',
    ],
    [
      'a length beyond the end',
      Buffer.concat([tag(FIELD.pools, 2), varint(2 ** 31), EMPTY]),
      'at byte 1, a length of 2147483648 is more than the 0 bytes that are left',
    ],
    [
      'a length of 2^63, of which the low 32 bits are 0',
      Buffer.concat([
        tag(FIELD.pools, 2),
        Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
      ]),
      'at byte 1, a length of 9223372036854776000 is more than the 0 bytes that are left',
    ],
    [
      'a nested message that runs over the end of the one around it',
      Buffer.concat([tag(FIELD.pools, 2), varint(2), tag(FIELD.nodeTypes, 2), varint(4), text(1, 'ab')]),
      'at byte 3, a length of 4 is more than the 0 bytes that are left',
    ],
    ['a number that is cut off', Buffer.concat([tag(UNKNOWN, 5), EMPTY]), 'at byte 2, a number is cut off'],
    [
      'a message field with the wire type of a number',
      integer(FIELD.pools, 0),
      'at byte 0, ClusterResourceMap.capacity_pools has wire type 0 where 2 belongs',
    ],
    [
      'a number field with the wire type of a string',
      nested(FIELD.logicalCounter),
      'at byte 0, ClusterResourceMap.logical_counter has wire type 2 where 0 belongs',
    ],
    ['the end of a group that never began', tag(UNKNOWN, 4), 'at byte 0, a group ends that never began'],
    [
      'a group that ends as another',
      Buffer.concat([tag(UNKNOWN, 3), tag(UNKNOWN + 1, 4)]),
      'at byte 2, the end of group 1001 is not that of the one which is open',
    ],
    ['a group without end', tag(UNKNOWN, 3), 'at byte 2, a group does not end'],
  ])('refuses %s', (_, bytes, what) => {
    expect(() => scan(bytes)).toThrow(malformed(bytes, what));
  });

  it('finds the nesting of the contract far below the limit', () => {
    const deepest = (schema: typeof ClusterResourceMapSchema, seen = 0): number =>
      Math.max(
        seen + 1,
        ...schema.fields.flatMap((f) =>
          f.message === undefined ? [] : [deepest(f.message as unknown as typeof schema, seen + 1)],
        ),
      );
    expect(deepest(ClusterResourceMapSchema)).toBeLessThanOrEqual(MAX_NESTING / 4);
  });
});
