import { gunzipSync } from 'node:zlib';
import { create, fromBinary, fromJsonString, toBinary, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inIdOrder } from '../../../functions/core/map/entry.ts';
import { plain } from '../../../functions/core/map/pieces.ts';
import { gzip } from '../../../functions/core/map/splice-gzip.ts';
import {
  spliceClockJson,
  spliceClusterJson,
  spliceMapJson,
  spliceSyncJson,
} from '../../../functions/core/map/splice-json.ts';
import {
  spliceClockProtobuf,
  spliceClusterProtobuf,
  spliceMapProtobuf,
  spliceSyncProtobuf,
} from '../../../functions/core/map/splice-protobuf.ts';
import { timestampFields } from '../../../functions/core/timestamp.ts';
import {
  ClusterResourceMapSchema,
  type GlobalResourceMap,
  GlobalResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { SyncResponseSchema, VectorClockSchema } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { clusterId, clusters, jsonEntry, type Kept, protobufEntry, snapshotOf } from './builders.ts';
import { gather } from './gather.ts';

/** The map as a service without splicing would merge it. */
function merged(kept: readonly Kept[]): GlobalResourceMap {
  const sorted = inIdOrder(kept);
  return create(GlobalResourceMapSchema, {
    clusterResourceMaps: sorted.map(snapshotOf),
    vectorClock: Object.fromEntries(sorted.map((each) => [each.clusterId, each.counter])),
  });
}

/** The documented order of fields, by protobuf-es: per cluster the body, then time and counter; then the clock. */
function encodedAsDocumented(kept: readonly Kept[]): Buffer {
  const sorted = inIdOrder(kept);
  const parts: Uint8Array[] = [];
  for (const each of sorted) {
    const whole = Buffer.concat([
      toBinary(ClusterResourceMapSchema, each.body),
      toBinary(
        ClusterResourceMapSchema,
        create(ClusterResourceMapSchema, {
          collectedAt: timestampFields(each.collectedAtNanos),
          logicalCounter: each.counter,
        }),
      ),
    ]);
    // An empty message in a list is its tag and a length of 0, which is then replaced.
    const [tagByte] = toBinary(
      GlobalResourceMapSchema,
      create(GlobalResourceMapSchema, { clusterResourceMaps: [{}] }),
    );
    parts.push(Buffer.from([tagByte ?? 0]), varint(whole.length), whole);
  }
  for (const each of sorted) {
    parts.push(
      toBinary(
        GlobalResourceMapSchema,
        create(GlobalResourceMapSchema, { vectorClock: { [each.clusterId]: each.counter } }),
      ),
    );
  }
  return Buffer.concat(parts);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

describe('the spliced map', () => {
  it('is, in Protobuf, the encoding of the merged map in the documented order of fields', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        const spliced = gather(plain(spliceMapProtobuf(kept.map(protobufEntry))));
        expect(Buffer.from(spliced).equals(encodedAsDocumented(kept))).toBe(true);
      }),
    );
  });

  it('decodes to the merged map, whose own encoding is that of the merged map', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        const spliced = gather(plain(spliceMapProtobuf(kept.map(protobufEntry))));
        const decoded = fromBinary(GlobalResourceMapSchema, spliced);
        const encoded = toBinary(GlobalResourceMapSchema, decoded);
        expect(Buffer.from(encoded).equals(toBinary(GlobalResourceMapSchema, merged(kept)))).toBe(true);
      }),
    );
  });

  it('is, in JSON, the ProtoJSON of the merged map', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        const text = Buffer.from(gather(plain(spliceMapJson(kept.map(jsonEntry))))).toString('utf8');
        expect(JSON.parse(text)).toStrictEqual({
          clusterResourceMaps: [],
          vectorClock: {},
          ...(toJson(GlobalResourceMapSchema, merged(kept)) as object),
        });
        fromJsonString(GlobalResourceMapSchema, text);
      }),
    );
  });

  it('is, in gzip, one member of the same bytes, of the length that was announced', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        for (const pieces of [
          spliceMapProtobuf(kept.map(protobufEntry)),
          spliceMapJson(kept.map(jsonEntry)),
        ]) {
          const payload = gzip(pieces);
          const bytes = Buffer.concat([...payload.chunks]);
          expect(bytes.length).toBe(payload.length);
          // gunzip checks the CRC-32 and the length in the trailer.
          expect(gunzipSync(bytes).equals(gather(plain(pieces)))).toBe(true);
        }
      }),
    );
  });

  it('is the same bytes whichever order the clusters come in', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        const there = gather(gzip(spliceMapProtobuf(kept.map(protobufEntry))));
        const back = gather(gzip(spliceMapProtobuf(kept.toReversed().map(protobufEntry))));
        expect(back).toStrictEqual(there);
      }),
    );
  });

  it('without clusters is an empty message, or an object of an empty list and an empty clock', () => {
    expect(gather(plain(spliceMapProtobuf([])))).toHaveLength(0);
    expect(Buffer.from(gather(plain(spliceMapJson([])))).toString()).toBe(
      '{"clusterResourceMaps":[],"vectorClock":{}}',
    );
    expect(gunzipSync(gather(gzip(spliceMapProtobuf([]))))).toHaveLength(0);
  });

  it('keeps a clock larger than a stored block whole', () => {
    const kept = Array.from({ length: 700 }, (_, index) => ({
      clusterId: `${index}-${'x'.repeat(240)}`,
      counter: BigInt(index + 1),
      collectedAtNanos: 0n,
      body: create(ClusterResourceMapSchema),
    }));
    const pieces = spliceMapProtobuf(kept.map(protobufEntry));
    const map = fromBinary(GlobalResourceMapSchema, gunzipSync(gather(gzip(pieces))));
    expect(Object.keys(map.vectorClock)).toHaveLength(700);
  });
});

describe('the spliced single cluster', () => {
  it('is the snapshot as it was sent', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        for (const each of kept) {
          const sent = toJson(ClusterResourceMapSchema, snapshotOf(each));
          const binary = gather(plain(spliceClusterProtobuf(protobufEntry(each))));
          expect(
            toJson(ClusterResourceMapSchema, fromBinary(ClusterResourceMapSchema, binary)),
          ).toStrictEqual(sent);
          const text = Buffer.from(gather(plain(spliceClusterJson(jsonEntry(each))))).toString();
          expect(JSON.parse(text)).toStrictEqual(sent);
        }
      }),
    );
  });
});

describe('the spliced clock', () => {
  it('is the encoding and the ProtoJSON of the clock', () => {
    fc.assert(
      fc.property(clusters, (kept) => {
        const clock = create(VectorClockSchema, { vectorClock: merged(kept).vectorClock });
        const decoded = fromBinary(VectorClockSchema, gather(plain(spliceClockProtobuf(kept))));
        expect(decoded).toStrictEqual(clock);
        const text = Buffer.from(gather(plain(spliceClockJson(kept)))).toString();
        expect(fromJsonString(VectorClockSchema, text)).toStrictEqual(clock);
      }),
    );
  });
});

describe('the spliced answer to sync', () => {
  const response = fc.record({
    changed: clusters,
    refreshed: clusters,
    omitted: fc.uniqueArray(clusterId, { maxLength: 4 }),
    complete: fc.boolean(),
    etag: fc.constantFrom('W/"abc"', 'W/"x-_9"'),
    continuation: fc.constantFrom(undefined, 'i', 'iYWJj'),
  });

  it('is, in Protobuf and in JSON, plain and in gzip, the SyncResponse that it was made from', () => {
    fc.assert(
      fc.property(response, ({ changed, refreshed, omitted, complete, etag, continuation }) => {
        const expected = toJson(
          SyncResponseSchema,
          create(SyncResponseSchema, {
            changed: changed.map(snapshotOf),
            refreshed: refreshed.map((each) => ({
              clusterId: each.clusterId,
              collectedAt: timestampFields(each.collectedAtNanos),
              logicalCounter: each.counter,
            })),
            omitted,
            complete,
            etag,
            ...(continuation === undefined ? {} : { continuation }),
          }),
        ) as object;

        const rest = {
          refreshed,
          omitted,
          complete,
          etag,
          ...(continuation === undefined ? {} : { continuation }),
        };
        const binary = spliceSyncProtobuf({ changed: changed.map(protobufEntry), ...rest });
        const json = spliceSyncJson({ changed: changed.map(jsonEntry), ...rest });

        const decoded = fromBinary(SyncResponseSchema, gather(plain(binary)));
        expect(toJson(SyncResponseSchema, decoded)).toStrictEqual(expected);
        expect(JSON.parse(Buffer.from(gather(plain(json))).toString())).toStrictEqual({
          changed: [],
          refreshed: [],
          omitted: [],
          complete: false,
          ...expected,
        });
        for (const pieces of [binary, json]) {
          expect(gunzipSync(gather(gzip(pieces))).equals(gather(plain(pieces)))).toBe(true);
        }
      }),
    );
  });
});
