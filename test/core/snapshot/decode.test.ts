import { gzipSync } from 'node:zlib';
import { toBinary, toJsonString } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { MalformedBodyError, ResourceMapError } from '../../../functions/core/errors.ts';
import { decodeSnapshot, type WireFormat } from '../../../functions/core/snapshot/decode.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { snapshotOf } from './builders.ts';

function refusal(bytes: Uint8Array, format: WireFormat): ResourceMapError {
  try {
    decodeSnapshot(bytes, format);
  } catch (error) {
    if (error instanceof ResourceMapError) return error;
    throw error;
  }
  throw new Error('The bytes were decoded.');
}

const SNAPSHOT = snapshotOf({
  logicalCounter: 18_446_744_073_709_551_614n,
  jobs: [{ jobId: 'j', ranks: [{ rankId: 'r', runtime: { engineParameters: { a: '1' } } }] }],
});
const FRAMING = 'Send the encoded message itself, without a length prefix or framing.';

describe('decoding a snapshot', () => {
  it.each(['protobuf', 'json'] as const)('an empty body in %s is named as such', (format) => {
    const error = refusal(new Uint8Array(0), format);
    expect([error.code, error.detail]).toEqual([
      'empty_body',
      'The body is empty; send one ClusterResourceMap as application/x-protobuf or application/json.',
    ]);
  });

  it.each([
    [
      'a message that ends early',
      Buffer.from(toBinary(ClusterResourceMapSchema, SNAPSHOT)).subarray(0, -1),
      'at byte 35, a varint is cut off',
    ],
    [
      'a length beyond the end',
      Buffer.from([0x0a, 0x7f, 0x0a, 1, 65]),
      'at byte 1, a length of 127 is more than the 3 bytes that are left',
    ],
    ['a field number of 0', Buffer.from([0x02, 0]), 'at byte 0, a field number is 0'],
    [
      'a string that is not UTF-8',
      Buffer.from([0x0a, 3, 0x0a, 1, 0xff]),
      'The encoded data was not valid for encoding utf-8',
    ],
  ])('Protobuf of %s is refused', (_, bytes, reason) => {
    const error = refusal(bytes, 'protobuf');
    expect([error.code, error.detail]).toEqual([
      'malformed_protobuf',
      `The ${bytes.length}-byte body is not a valid resourcemap.v1.ClusterResourceMap: ${reason}. ${FRAMING}`,
    ]);
  });

  it('every true prefix of a snapshot is refused or says less, and never throws anything else', () => {
    const whole = toBinary(ClusterResourceMapSchema, SNAPSHOT);
    for (let end = 1; end < whole.length; end++) {
      try {
        expect(decodeSnapshot(whole.subarray(0, end), 'protobuf').logicalCounter).toBe(0n);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedBodyError);
      }
    }
  });

  it('JSON that is not UTF-8 is refused before it is parsed', () => {
    expect(refusal(Buffer.from([0x7b, 0xff, 0x7d]), 'json').detail).toBe(
      'The body is not valid UTF-8; JSON must be.',
    );
  });

  it.each(['protobuf', 'json'] as const)('gzip is told from %s', (format) => {
    expect(refusal(gzipSync(toBinary(ClusterResourceMapSchema, SNAPSHOT)), format)).toMatchObject({
      code: `malformed_${format}`,
      detail:
        'The body is gzip and no resourcemap.v1.ClusterResourceMap; compress it once, and say Content-Encoding: gzip.',
    });
  });

  it('JSON is told from Protobuf', () => {
    expect(refusal(Buffer.from('{"cluster":{}}'), 'protobuf')).toMatchObject({
      code: 'malformed_protobuf',
      detail:
        'The 14-byte body is not a valid resourcemap.v1.ClusterResourceMap: at byte 2, a length of 99 is more than the 11 bytes that are left. It begins as JSON does, which is application/json.',
    });
  });

  it('what is not JSON is refused with the parser’s reason, cut', () => {
    const error = refusal(Buffer.from(`{"a":${'x'.repeat(10_000)}`), 'json');
    expect(error.code).toBe('malformed_json');
    expect(error.detail).toMatch(/^The body is not valid JSON: Unexpected token /);
    expect(error.detail.length).toBeLessThan(400);
  });

  it('one fault in JSON is told whole', () => {
    const error = refusal(Buffer.from('{"logicalCouter":"1"}'), 'json');
    const message = 'ClusterResourceMap has no field "logicalCouter"; did you mean "logicalCounter"?';
    expect(error.message).toBe(
      `[malformed_json] The body is no resourcemap.v1.ClusterResourceMap in ProtoJSON: logicalCouter: ${message}`,
    );
    expect(error.details).toEqual({
      findings: [{ code: 'unknown_field', severity: 'reject', path: 'logicalCouter', message }],
    });
  });

  it('several faults in JSON are told by the first, and all of them in the findings', () => {
    const error = refusal(Buffer.from(JSON.stringify({ jobs: Array(1_200).fill(1) })), 'json');
    expect(error.detail).toBe(
      'The body is no resourcemap.v1.ClusterResourceMap in ProtoJSON: ' +
        'jobs[0]: 1 is given where an object (JobState) is expected. And 1199 more, see findings.',
    );
    expect([error.details.findings?.length, error.details.omittedFindings]).toEqual([1_000, 200]);
  });

  it('JSON nested without end is refused', () => {
    const deep = `{"jobs":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    expect(refusal(Buffer.from(deep), 'json').code).toBe('nested_too_deeply');
  });

  it('Protobuf of groups in groups without end is refused', () => {
    expect(refusal(Buffer.alloc(100_000, 0x7b), 'protobuf').code).toBe('nested_too_deeply');
  });

  it('both formats of a snapshot are the same snapshot', () => {
    const fromProtobuf = decodeSnapshot(toBinary(ClusterResourceMapSchema, SNAPSHOT), 'protobuf');
    const json = toJsonString(ClusterResourceMapSchema, SNAPSHOT, { useProtoFieldName: true });
    expect(decodeSnapshot(Buffer.from(json), 'json')).toEqual(fromProtobuf);
    expect(fromProtobuf.logicalCounter).toBe(18_446_744_073_709_551_614n);
  });

  it.each(['protobuf', 'json'] as const)('an engine parameter "__proto__" survives %s', (format) => {
    const json = '{"jobs":[{"ranks":[{"runtime":{"engineParameters":{"__proto__":"x","a":"b"}}}]}]}';
    let snapshot = decodeSnapshot(Buffer.from(json), 'json');
    if (format === 'protobuf') {
      snapshot = decodeSnapshot(toBinary(ClusterResourceMapSchema, snapshot), 'protobuf');
    }
    const parameters = snapshot.jobs[0]?.ranks[0]?.runtime?.engineParameters ?? {};
    expect(Object.entries(parameters)).toEqual([
      ['__proto__', 'x'],
      ['a', 'b'],
    ]);
    expect(Object.getPrototypeOf(parameters)).not.toBe('x');
  });

  it('a field that a newer agent sends in Protobuf is kept', () => {
    const newer = Buffer.concat([toBinary(ClusterResourceMapSchema, SNAPSHOT), Buffer.from([0xf8, 0x07, 5])]);
    const again = toBinary(ClusterResourceMapSchema, decodeSnapshot(newer, 'protobuf'));
    expect(Buffer.from(again).equals(newer)).toBe(true);
  });
});
