import { fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wireContentOf } from '../../../functions/core/snapshot/wire-content.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { permuteWire, seededRandom } from '../../builders/permute-wire.ts';
import { integer, nested } from '../../builders/wire.ts';
import { arbitrarySnapshot } from './arbitrary-snapshot.ts';
import { snapshotOf } from './builders.ts';

const COLLECTED_AT = 2;
const COUNTER = 8;

describe('The content on the wire', () => {
  it('is the snapshot without time and counter, wherever these are', () => {
    fc.assert(
      fc.property(arbitrarySnapshot(), fc.nat(), (snapshot, seed) => {
        const encoded = permuteWire(
          ClusterResourceMapSchema,
          toBinary(ClusterResourceMapSchema, snapshot),
          () => false,
          seededRandom(seed),
        );
        const wire = wireContentOf(encoded);
        expect(wire?.collectedAt).toEqual(snapshot.collectedAt);
        expect(wire?.logicalCounter).toBe(snapshot.logicalCounter);
        const content = Buffer.concat(wire?.pieces ?? []);
        expect(wire?.length).toBe(content.length);
        const whole = fromBinary(ClusterResourceMapSchema, encoded);
        expect(fromBinary(ClusterResourceMapSchema, content)).toEqual({
          ...whole,
          collectedAt: undefined,
          logicalCounter: 0n,
        });
      }),
    );
  });

  const good = toBinary(ClusterResourceMapSchema, snapshotOf({ logicalCounter: 3n }));
  const time = nested(COLLECTED_AT, integer(1, 5));
  it.each([
    ['nothing', new Uint8Array()],
    ['no counter', time],
    ['no time', Uint8Array.of(COUNTER << 3, 1)],
    ['a counter twice', Buffer.concat([good, integer(COUNTER, 4)])],
    ['a time twice', Buffer.concat([good, time])],
    ['a time with more in it', Buffer.concat([integer(COUNTER, 1), nested(COLLECTED_AT, integer(9, 1))])],
    ['a counter of another wire type', Buffer.concat([time, nested(COUNTER, Uint8Array.of(1))])],
    ['a time of another wire type', Buffer.concat([integer(COLLECTED_AT, 1), integer(COUNTER, 1)])],
    ['an end in the middle', good.subarray(0, -1)],
    ['a length beyond the end', Buffer.concat([good, Uint8Array.of(0x1a, 0x7f)])],
    ['a field that is no message', Buffer.concat([good, integer(99, 1)])],
    ['a group', Buffer.concat([good, Uint8Array.of((9 << 3) | 3, (9 << 3) | 4)])],
  ])('is left to the decoder in bytes with %s', (_, bytes) => {
    expect(wireContentOf(bytes)).toBeUndefined();
  });

  it('is parted of the bytes that those are made of', () => {
    expect(wireContentOf(good)?.logicalCounter).toBe(3n);
  });

  it('does not throw, whatever the bytes are', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void wireContentOf(bytes)));
  });
});
