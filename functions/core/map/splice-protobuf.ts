/**
 * Responses in Protobuf, joined from encoded bodies. A message's fields may stand in any order
 * and a repeated field is written entry by entry, so a cluster of a response is
 * `tag, length, body, collected_at, logical_counter`, and nothing is decoded to put it there.
 */

import { type TimestampFields, timestampFields } from '../timestamp.ts';
import { type ClusterVersion, inIdOrder, type MapEntry } from './entry.ts';
import type { Piece } from './pieces.ts';
import type { SyncResult } from './sync.ts';
import { ByteWriter, tag, varint64Bytes, varintBytes, WIRE_LENGTH_DELIMITED, WIRE_VARINT } from './wire.ts';

const MAP = {
  clusterResourceMaps: tag(1, WIRE_LENGTH_DELIMITED),
  vectorClock: tag(2, WIRE_LENGTH_DELIMITED),
};
const CLUSTER = { collectedAt: tag(2, WIRE_LENGTH_DELIMITED), logicalCounter: tag(8, WIRE_VARINT) };
const CLOCK_ENTRY = { key: tag(1, WIRE_LENGTH_DELIMITED), value: tag(2, WIRE_VARINT) };
const TIMESTAMP = { seconds: tag(1, WIRE_VARINT), nanos: tag(2, WIRE_VARINT) };
const CLOCK = { vectorClock: tag(1, WIRE_LENGTH_DELIMITED) };
const SYNC = {
  changed: tag(1, WIRE_LENGTH_DELIMITED),
  refreshed: tag(2, WIRE_LENGTH_DELIMITED),
  omitted: tag(3, WIRE_LENGTH_DELIMITED),
  complete: tag(4, WIRE_VARINT),
  etag: tag(5, WIRE_LENGTH_DELIMITED),
  continuation: tag(6, WIRE_LENGTH_DELIMITED),
};
const REFRESHED = {
  clusterId: tag(1, WIRE_LENGTH_DELIMITED),
  collectedAt: tag(2, WIRE_LENGTH_DELIMITED),
  logicalCounter: tag(3, WIRE_VARINT),
};

/** A GlobalResourceMap: the clusters in the order of their ids, then the clock in the same order. */
export function spliceMapProtobuf(entries: readonly MapEntry[]): Piece[] {
  const sorted = inIdOrder(entries);
  const writer = new ByteWriter();
  const pieces: Piece[] = [];
  for (const entry of sorted) cluster(pieces, writer, MAP.clusterResourceMaps, entry);
  for (const entry of sorted) clockEntry(writer, MAP.vectorClock, entry);
  pieces.push(writer.cut());
  return pieces;
}

/** A ClusterResourceMap by itself. */
export function spliceClusterProtobuf(entry: MapEntry): Piece[] {
  const writer = new ByteWriter();
  version(writer, CLUSTER, entry, timeOf(entry));
  return [entry.body, writer.cut()];
}

/** A VectorClock, in the order of the ids. */
export function spliceClockProtobuf(versions: readonly ClusterVersion[]): Piece[] {
  const writer = new ByteWriter();
  for (const each of inIdOrder(versions)) clockEntry(writer, CLOCK.vectorClock, each);
  return [writer.cut()];
}

/** A SyncResponse. */
export function spliceSyncProtobuf(response: SyncResult): Piece[] {
  const writer = new ByteWriter();
  const pieces: Piece[] = [];
  for (const entry of response.changed) cluster(pieces, writer, SYNC.changed, entry);
  for (const each of response.refreshed) {
    const time = timeOf(each);
    const idBytes = Buffer.byteLength(each.clusterId, 'utf8');
    writer.byte(SYNC.refreshed);
    writer.varint(1 + varintBytes(idBytes) + idBytes + versionBytes(each, time));
    writer.byte(REFRESHED.clusterId);
    writer.lengthPrefixedText(each.clusterId);
    version(writer, REFRESHED, each, time);
  }
  for (const clusterId of response.omitted) {
    writer.byte(SYNC.omitted);
    writer.lengthPrefixedText(clusterId);
  }
  if (response.complete) {
    writer.byte(SYNC.complete);
    writer.byte(1);
  }
  writer.byte(SYNC.etag);
  writer.lengthPrefixedText(response.etag);
  if (response.continuation !== undefined) {
    writer.byte(SYNC.continuation);
    writer.lengthPrefixedText(response.continuation);
  }
  pieces.push(writer.cut());
  return pieces;
}

function cluster(pieces: Piece[], writer: ByteWriter, fieldTag: number, entry: MapEntry): void {
  const time = timeOf(entry);
  writer.byte(fieldTag);
  writer.varint(entry.body.rawLength + versionBytes(entry, time));
  pieces.push(writer.cut(), entry.body);
  version(writer, CLUSTER, entry, time);
}

/** A Timestamp's fields, and how long it is; that fits in one byte. */
interface EncodedTime extends TimestampFields {
  readonly bytes: number;
}

function timeOf({ collectedAtNanos }: ClusterVersion): EncodedTime {
  const { seconds, nanos } = timestampFields(collectedAtNanos);
  const bytes =
    (seconds === 0n ? 0 : 1 + varint64Bytes(seconds)) + (nanos === 0 ? 0 : 1 + varintBytes(nanos));
  return { seconds, nanos, bytes };
}

/** Writes `collected_at` and `logical_counter`. */
function version(
  writer: ByteWriter,
  tags: { readonly collectedAt: number; readonly logicalCounter: number },
  { counter }: ClusterVersion,
  { seconds, nanos, bytes }: EncodedTime,
): void {
  writer.byte(tags.collectedAt);
  writer.byte(bytes);
  if (seconds !== 0n) {
    writer.byte(TIMESTAMP.seconds);
    writer.varint64(seconds);
  }
  if (nanos !== 0) {
    writer.byte(TIMESTAMP.nanos);
    writer.varint(nanos);
  }
  writer.byte(tags.logicalCounter);
  writer.varint64(counter);
}

function versionBytes({ counter }: ClusterVersion, { bytes }: EncodedTime): number {
  return 2 + bytes + 1 + varint64Bytes(counter);
}

function clockEntry(writer: ByteWriter, fieldTag: number, { clusterId, counter }: ClusterVersion): void {
  const idBytes = Buffer.byteLength(clusterId, 'utf8');
  writer.byte(fieldTag);
  writer.varint(1 + varintBytes(idBytes) + idBytes + 1 + varint64Bytes(counter));
  writer.byte(CLOCK_ENTRY.key);
  writer.lengthPrefixedText(clusterId);
  writer.byte(CLOCK_ENTRY.value);
  writer.varint64(counter);
}
