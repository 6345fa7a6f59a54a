/**
 * What a race's pushes say. Content and time follow from counter and writer's group, so
 * whoever reads a snapshot can tell whether its parts came from one push.
 */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ClusterResourceMap } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { NOW_MS, snapshotOf } from '../../core/snapshot/builders.ts';

/** Writers of one group push the same at the same counter; two groups never do. */
export type Group = 0 | 1;

/** Counters in a row that say the same, so that there is something to refresh. */
const SAME_CONTENT = 20n;

/** The last counter but some, so that a race runs beyond 2^63. */
export const FIRST_COUNTER = 18_446_744_073_709_000_000n;

export function contentAt(counter: bigint, group: Group): string {
  return `content ${counter / SAME_CONTENT} of group ${group}`;
}

export function millisAt(counter: bigint, group: Group): number {
  return NOW_MS + Number(counter - FIRST_COUNTER) * 2 + group;
}

/** A snapshot of cluster `c1` with some kilobytes beside its content. */
export function snapshotAt(counter: bigint, group: Group): ClusterResourceMap {
  const content = contentAt(counter, group);
  return snapshotOf({
    logicalCounter: counter,
    collectedAt: timestampFromMs(millisAt(counter, group)),
    installedComponents: Array.from({ length: 100 }, (_, i) => ({ name: `${i}`, version: content })),
  });
}

/**
 * The push that a read snapshot came from.
 *
 * @throws Error where counter, time and content are not one push's
 */
export function pushOfSnapshot(snapshot: ClusterResourceMap): { counter: bigint; group: Group } {
  const counter = snapshot.logicalCounter;
  const said = new Set(snapshot.installedComponents.map((component) => component.version));
  const millis = Number(snapshot.collectedAt?.seconds) * 1_000 + (snapshot.collectedAt?.nanos ?? 0) / 1e6;
  const group = ([0, 1] as const).find((g) => millis === millisAt(counter, g));
  if (group === undefined || said.size !== 1 || !said.has(contentAt(counter, group))) {
    throw new Error(
      `Counter ${counter} has the time ${millis} and the content ${JSON.stringify([...said])}.`,
    );
  }
  return { counter, group };
}
