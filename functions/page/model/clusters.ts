/** What state a cluster is in, in words; and which clusters a view shows. */
import type { ClusterStatus } from '../api/types.ts';

/** Without a push for this long a cluster in the map is called stale, as the service counts it. */
export const STALE_RECEIVED_MS = 3 * 60_000;
/** What was collected earlier than this is, too. */
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

export interface ClusterFilter {
  /** A part of the id, the display name, provider, region or site, in any case. */
  readonly search: string;
  readonly model: string;
  readonly region: string;
  readonly condition: Condition | undefined;
}

export const NO_FILTER: ClusterFilter = { search: '', model: '', region: '', condition: undefined };

export function isNoFilter({ search, model, region, condition }: ClusterFilter): boolean {
  return search.trim() === '' && model === '' && region === '' && condition === undefined;
}

/** Where the service lists the clusters of a view, the first of them. */
export function listPath({ search, model, region, condition }: ClusterFilter, limit: number): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (search.trim() !== '') query.set('search', search.trim());
  if (model !== '') query.set('accelerator_model', model);
  if (region !== '') query.set('region', region);
  if (condition !== undefined) query.set('condition', condition);
  return `/v1/clusters?${query}`;
}

/** Milliseconds since the epoch; of what is absent, the epoch itself. */
export function momentMs(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text);
}
