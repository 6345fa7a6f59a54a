/** What state a cluster is in, in words; and which clusters a view shows. */
import type { ClusterStatus } from '../api/types.ts';

/** Without a push for this long a cluster in the map is called stale: three pushes of an agent that sends one a minute. */
export const STALE_RECEIVED_MS = 3 * 60_000;
/** The service warns of what was collected earlier than this before its push. */
export const STALE_COLLECTED_MS = 10 * 60_000;

export const CONDITIONS = ['included', 'stale', 'warned', 'refused', 'out'] as const;
export type Condition = (typeof CONDITIONS)[number];

export function isCondition(text: string): text is Condition {
  return (CONDITIONS as readonly string[]).includes(text);
}

export function isOut(cluster: ClusterStatus): boolean {
  return cluster.state !== 'CLUSTER_STATE_INCLUDED';
}

/** Why a cluster is out of the map, in words. */
export function outText({ state, omittedReason }: ClusterStatus): string {
  switch (state) {
    case 'CLUSTER_STATE_OMITTED':
      return `out: ${omittedReason}`;
    case 'CLUSTER_STATE_UNSPECIFIED':
      return 'no snapshot accepted yet';
    default:
      // A newer service may have states that this page has no word for.
      return `state ${state}`;
  }
}

/** What of a cluster is old, or nothing. Only of one that is in the map: of the others nothing is shown as current. */
export function staleness(cluster: ClusterStatus, nowMs: number): 'received' | 'collected' | undefined {
  if (isOut(cluster)) return undefined;
  if (nowMs - momentMs(cluster.receivedAt) > STALE_RECEIVED_MS) return 'received';
  if (nowMs - momentMs(cluster.collectedAt) > STALE_COLLECTED_MS) return 'collected';
  return undefined;
}

/** Whether a cluster is counted under a condition; it may be under several. */
export function meets(cluster: ClusterStatus, condition: Condition, nowMs: number): boolean {
  switch (condition) {
    case 'included':
      return !isOut(cluster);
    case 'out':
      return isOut(cluster);
    case 'stale':
      return staleness(cluster, nowMs) !== undefined;
    case 'warned':
      return !isOut(cluster) && cluster.warningCount > 0;
    case 'refused':
      return cluster.lastRefusal !== undefined;
  }
}

/** Clusters under each condition. */
export function countConditions(
  clusters: readonly ClusterStatus[],
  nowMs: number,
): Readonly<Record<Condition, number>> {
  const counts = { included: 0, stale: 0, warned: 0, refused: 0, out: 0 };
  for (const cluster of clusters) {
    for (const condition of CONDITIONS) if (meets(cluster, condition, nowMs)) counts[condition]++;
  }
  return counts;
}

export interface ClusterFilter {
  /** Found in the id, the display name, provider, region or site, in any case. */
  readonly search: string;
  readonly model: string;
  readonly region: string;
  readonly condition: Condition | undefined;
}

/** The clusters of a view, in the order in which the service lists them. */
export function filterClusters(
  clusters: readonly ClusterStatus[],
  { search, model, region, condition }: ClusterFilter,
  nowMs: number,
): readonly ClusterStatus[] {
  const sought = search.trim().toLowerCase();
  return clusters.filter(
    (each) =>
      (region === '' || each.cluster.region === region) &&
      (model === '' || mayHaveModel(each, model)) &&
      (condition === undefined || meets(each, condition, nowMs)) &&
      (sought === '' || namesOf(each).some((name) => name.toLowerCase().includes(sought))),
  );
}

/** A status leaves models out where a cluster has very many; such a cluster may have any. */
function mayHaveModel(cluster: ClusterStatus, model: string): boolean {
  return cluster.omittedAcceleratorModels > 0 || cluster.accelerators.some((each) => each.model === model);
}

function namesOf({ cluster }: ClusterStatus): readonly string[] {
  return [cluster.clusterId, cluster.displayName, cluster.provider, cluster.region, cluster.site];
}

/** Milliseconds since the epoch; of what is absent, the epoch itself. */
export function momentMs(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text);
}

/**
 * By how much the service's clock is ahead of the browser's, in milliseconds: ages are counted
 * by the clock that wrote the times. `undefined` for a list from which it cannot be told.
 */
export function clockOffsetMs(clusters: readonly ClusterStatus[], nowMs: number): number | undefined {
  for (const { receivedAt, age } of clusters) {
    if (receivedAt === undefined || age === undefined) continue;
    const ageMs = Number.parseFloat(age) * 1_000;
    // An age of zero may be that of a push which another instance's clock dates after ours.
    if (ageMs > 0) return momentMs(receivedAt) + ageMs - nowMs;
  }
  return undefined;
}
