/** What happens to a replica of the map, as a line for a person or for a program. */
import { toJson } from '@bufbuild/protobuf';
import type { ReplicaEvent } from '../client/replica.ts';
import { acceleratorTotals } from '../core/snapshot/accelerators.ts';
import { type ClusterResourceMap, ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import { printable } from '../terminal/printable.ts';

/** One line of text. */
export function eventLine(event: ReplicaEvent): string {
  switch (event.kind) {
    case 'added':
    case 'refreshed':
      return line(event.kind, event.clusterId, stateOf(event.snapshot));
    case 'changed':
      return event.regressed
        ? line(
            'changed',
            event.clusterId,
            `${stateOf(event.snapshot)}, back from ${event.previous.logicalCounter}`,
          )
        : line('changed', event.clusterId, stateOf(event.snapshot));
    case 'omitted':
      return line('omitted', event.clusterId, `unknown since ${event.previous.logicalCounter}`);
    case 'complete':
      return line('complete', event.etag);
    case 'mismatch':
      return line('mismatch', event.actualEtag, `the service has ${event.expectedEtag}; fetching all again`);
    case 'unreachable':
      return line(
        'unreachable',
        event.error.message,
        `asking again in ${(event.retryInMs / 1_000).toFixed(1)} s`,
      );
  }
}

/** One JSON object; snapshots in ProtoJSON, counters as strings. */
export function eventJson(event: ReplicaEvent): string {
  switch (event.kind) {
    case 'added':
    case 'changed':
      return JSON.stringify({
        kind: event.kind,
        clusterId: event.clusterId,
        logicalCounter: String(event.snapshot.logicalCounter),
        ...(event.kind === 'changed' ? { regressed: event.regressed } : {}),
        snapshot: toJson(ClusterResourceMapSchema, event.snapshot),
      });
    case 'refreshed':
      return JSON.stringify({
        kind: event.kind,
        clusterId: event.clusterId,
        logicalCounter: String(event.snapshot.logicalCounter),
      });
    case 'omitted':
      return JSON.stringify({
        kind: event.kind,
        clusterId: event.clusterId,
        previousCounter: String(event.previous.logicalCounter),
      });
    case 'unreachable':
      return JSON.stringify({ kind: event.kind, error: event.error.message, retryInMs: event.retryInMs });
    case 'complete':
    case 'mismatch':
      return JSON.stringify(event);
  }
}

const KIND_WIDTH = 'unreachable'.length;

function line(kind: ReplicaEvent['kind'], subject: string, state = ''): string {
  return printable(`${kind.padEnd(KIND_WIDTH)}  ${subject}  ${state}`.trimEnd());
}

function stateOf(snapshot: ClusterResourceMap): string {
  const totals = acceleratorTotals(snapshot);
  const free = totals.reduce((sum, each) => sum + each.free, 0n);
  const total = totals.reduce((sum, each) => sum + each.total, 0n);
  return `at ${snapshot.logicalCounter}, ${free} of ${total} accelerators free`;
}
