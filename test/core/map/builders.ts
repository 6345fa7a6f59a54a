/** Random maps, and what the splice is measured against. */
import { clone, create, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import type { MapEntry } from '../../../functions/core/map/entry.ts';
import { Fragment } from '../../../functions/core/map/fragment.ts';
import { jsonMembers } from '../../../functions/core/map/json-members.ts';
import { nanosOf, timestampFields } from '../../../functions/core/timestamp.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitraryMessage, timestampNanos, timestampSeconds } from '../../builders/arbitrary-message.ts';

/** One cluster's snapshot, taken apart as the service keeps it. */
export interface Kept {
  readonly clusterId: string;
  readonly counter: bigint;
  readonly collectedAtNanos: bigint;
  /** Without `collected_at` and `logical_counter`. */
  readonly body: ClusterResourceMap;
}

/** Printable ids, `/` and astral code points included; protobuf-es cannot hold `__proto__` as a key. */
export const clusterId: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 20 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
    fc.constantFrom('1', '10', '2', 'constructor', '\uffee', '😀', 'arn:aws:eks:eu-west-1:1:cluster/a'),
  )
  .filter((id) => id !== '__proto__');

export const counter: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: 1n, max: 300n }),
  fc.bigInt({ min: 1n, max: 2n ** 64n - 2n }),
);

const body = arbitraryMessage(ClusterResourceMapSchema).map((snapshot) => {
  const { collectedAt: _left, ...rest } = snapshot;
  return { ...rest, logicalCounter: 0n };
});

const kept: fc.Arbitrary<Kept> = fc
  .record({ clusterId, counter, seconds: timestampSeconds, nanos: timestampNanos, body })
  .map(({ seconds, nanos, ...rest }) => ({ ...rest, collectedAtNanos: nanosOf({ seconds, nanos }) }));

/** Clusters with distinct ids. */
export const clusters: fc.Arbitrary<Kept[]> = fc.uniqueArray(kept, {
  selector: (each) => each.clusterId,
  maxLength: 6,
});

export function protobufEntry(each: Kept): MapEntry {
  return { ...each, body: Fragment.compress(toBinary(ClusterResourceMapSchema, each.body)) };
}

export function jsonEntry(each: Kept): MapEntry {
  return { ...each, body: Fragment.compress(jsonMembers(each.body)) };
}

/** The snapshot as the agent sent it. */
export function snapshotOf(each: Kept): ClusterResourceMap {
  const snapshot = clone(ClusterResourceMapSchema, each.body);
  snapshot.collectedAt = create(TimestampSchema, timestampFields(each.collectedAtNanos));
  snapshot.logicalCounter = each.counter;
  return snapshot;
}
