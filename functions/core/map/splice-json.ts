/**
 * Responses in ProtoJSON, joined from rendered members (`jsonMembers`). Empty lists and maps are
 * written out, which ProtoJSON allows and which spares a reader without a schema the question.
 */
import { type ClusterVersion, inIdOrder, type MapEntry } from './entry.ts';
import type { Piece } from './pieces.ts';
import { rfc3339 } from './rfc3339.ts';
import type { SyncResult } from './sync.ts';
import { ByteWriter } from './wire.ts';

/** A GlobalResourceMap: the clusters in the order of their ids, then the clock in the same order. */
export function spliceMapJson(entries: readonly MapEntry[]): Piece[] {
  const sorted = inIdOrder(entries);
  const writer = new ByteWriter();
  const pieces: Piece[] = [];
  writer.text('{"clusterResourceMaps":[');
  clusters(pieces, writer, sorted);
  writer.text('],"vectorClock":');
  clock(writer, sorted);
  writer.text('}');
  pieces.push(writer.cut());
  return pieces;
}

/** A ClusterResourceMap by itself. */
export function spliceClusterJson(entry: MapEntry): Piece[] {
  const writer = new ByteWriter();
  const pieces: Piece[] = [];
  clusters(pieces, writer, [entry]);
  pieces.push(writer.cut());
  return pieces;
}

/** A VectorClock, in the order of the ids. */
export function spliceClockJson(versions: readonly ClusterVersion[]): Piece[] {
  const writer = new ByteWriter();
  writer.text('{"vectorClock":');
  clock(writer, inIdOrder(versions));
  writer.text('}');
  return [writer.cut()];
}

/** A SyncResponse. */
export function spliceSyncJson(response: SyncResult): Piece[] {
  const writer = new ByteWriter();
  const pieces: Piece[] = [];
  writer.text('{"changed":[');
  clusters(pieces, writer, response.changed);
  writer.text('],"refreshed":[');
  list(writer, response.refreshed, (each) => {
    writer.text(`{"clusterId":${JSON.stringify(each.clusterId)},${version(each)}}`);
  });
  writer.text('],"omitted":[');
  list(writer, response.omitted, (clusterId) => writer.text(JSON.stringify(clusterId)));
  writer.text(`],"complete":${response.complete},"etag":${JSON.stringify(response.etag)}`);
  if (response.continuation !== undefined)
    writer.text(`,"continuation":${JSON.stringify(response.continuation)}`);
  writer.text('}');
  pieces.push(writer.cut());
  return pieces;
}

function clusters(pieces: Piece[], writer: ByteWriter, entries: readonly MapEntry[]): void {
  list(writer, entries, (entry) => {
    writer.text(`{${version(entry)}`);
    pieces.push(writer.cut(), entry.body);
    writer.text('}');
  });
}

function clock(writer: ByteWriter, versions: readonly ClusterVersion[]): void {
  writer.text('{');
  list(writer, versions, (each) => writer.text(`${JSON.stringify(each.clusterId)}:"${each.counter}"`));
  writer.text('}');
}

function version({ collectedAtNanos, counter }: ClusterVersion): string {
  return `"collectedAt":"${rfc3339(collectedAtNanos)}","logicalCounter":"${counter}"`;
}

function list<T>(writer: ByteWriter, items: readonly T[], write: (item: T) => void): void {
  for (const [index, item] of items.entries()) {
    if (index > 0) writer.text(',');
    write(item);
  }
}
