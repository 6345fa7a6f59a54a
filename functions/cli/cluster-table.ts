/** Clusters as a table that a person reads. */
import { ClusterState, type ClusterStatus } from '../gen/resourcemap/v1/service_pb.ts';
import { ageText } from './age.ts';
import { table } from './table.ts';

export function clusterTable(clusters: readonly ClusterStatus[]): string {
  return table(
    [
      { title: 'CLUSTER' },
      { title: 'STATE' },
      { title: 'COUNTER', align: 'right' },
      { title: 'RECEIVED AGO', align: 'right' },
      { title: 'WHERE' },
      { title: 'FREE', align: 'right' },
      { title: 'TOTAL', align: 'right' },
      { title: 'ACCELERATORS (free of total)' },
      { title: 'WARNINGS', align: 'right' },
    ],
    clusters.map((c) => [
      c.cluster?.clusterId ?? '',
      c.state === ClusterState.OMITTED ? `omitted: ${c.omittedReason}` : 'included',
      String(c.highWaterMark),
      ageText(c.age),
      [c.cluster?.provider, c.cluster?.region, c.cluster?.site].filter((part) => part).join('/') || '-',
      ...(c.state === ClusterState.OMITTED ? ['?', '?', 'unknown'] : acceleratorCells(c)),
      c.warningCount === 0 ? '-' : String(c.warningCount),
    ]),
  );
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
