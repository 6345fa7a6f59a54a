/** Clusters as a table that a person reads. */
import { create, toJson } from '@bufbuild/protobuf';
import { type Duration, DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { ClusterState, type ClusterStatus } from '../gen/resourcemap/v1/service_pb.ts';
import { ageText } from './age.ts';
import { printable } from './printable.ts';
import { table } from './table.ts';

export function clusterTable(clusters: readonly ClusterStatus[]): string {
  return table(
    [
      { title: 'CLUSTER' },
      { title: 'STATE' },
      { title: 'COUNTER', align: 'right' },
      { title: 'RECEIVED AGO', align: 'right' },
      { title: 'COLLECTED AGO', align: 'right' },
      { title: 'WHERE' },
      { title: 'FREE', align: 'right' },
      { title: 'TOTAL', align: 'right' },
      { title: 'ACCELERATORS (free of total)' },
      { title: 'WARNINGS', align: 'right' },
      { title: 'LAST REFUSAL' },
    ],
    clusters.map((c) => [
      c.cluster?.clusterId ?? '',
      stateText(c),
      isKnown(c) ? String(c.highWaterMark) : '-',
      isKnown(c) ? ageText(c.age) : '-',
      isKnown(c) ? ageText(collectedAge(c)) : '-',
      [c.cluster?.provider, c.cluster?.region, c.cluster?.site].filter((part) => part).join('/') || '-',
      ...(c.state === ClusterState.INCLUDED ? acceleratorCells(c) : ['?', '?', 'unknown']),
      c.warningCount === 0 ? '-' : String(c.warningCount),
      c.lastRefusal === undefined ? '-' : c.lastRefusal.code,
    ]),
  );
}

/** When a cluster's last push was refused, and why: one line, or none. */
export function refusalLines({ lastRefusal }: ClusterStatus): readonly string[] {
  if (lastRefusal === undefined) return [];
  const { at, code, message, count } = lastRefusal;
  const when = at === undefined ? '' : ` at ${toJson(TimestampSchema, at)}`;
  const times = count > 1 ? `, as were at least ${count - 1} before it` : '';
  return [`The push${when} was refused${times}: [${printable(code)}] ${printable(message)}`];
}

function stateText(c: ClusterStatus): string {
  switch (c.state) {
    case ClusterState.INCLUDED:
      return 'included';
    case ClusterState.OMITTED:
      return `omitted: ${c.omittedReason}`;
    default:
      return 'never accepted';
  }
}

/** Whether the service has a snapshot of it, or had one before it was omitted. */
function isKnown(c: ClusterStatus): boolean {
  return c.state !== ClusterState.UNSPECIFIED;
}

/** By the service's clock, which is the age past the received time; 0 for an agent whose clock is ahead. */
function collectedAge({ collectedAt, receivedAt, age }: ClusterStatus): Duration | undefined {
  if (collectedAt === undefined || receivedAt === undefined || age === undefined) return undefined;
  const seconds = receivedAt.seconds + age.seconds - collectedAt.seconds;
  return create(DurationSchema, { seconds: seconds < 0n ? 0n : seconds });
}

/** Models of a cluster beyond these make its line unreadable. */
const MODELS_SHOWN = 3;

function acceleratorCells(c: ClusterStatus): [string, string, string] {
  const sum = (of: 'free' | 'total'): bigint => c.accelerators.reduce((total, a) => total + a[of], 0n);
  const models = c.accelerators
    .slice(0, MODELS_SHOWN)
    .map((a) => `${a.model === '' ? '(no model)' : a.model} ${a.free}/${a.total}`);
  const more = c.accelerators.length - models.length + c.omittedAcceleratorModels;
  if (more > 0) models.push(`and ${more} more`);
  // Where models were left out of the status, so are their numbers.
  const atLeast = c.omittedAcceleratorModels > 0 ? '≥' : '';
  return [`${atLeast}${sum('free')}`, `${atLeast}${sum('total')}`, models.join(', ') || '-'];
}
