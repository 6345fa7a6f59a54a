/** What the page asks of the API, each part by itself: one that is slow or refused holds up no other. */
import { computed, signal } from '@preact/signals';
import type { Capacity, ClaimList, ClusterList, ClusterStatus, FitResponse, Snapshot } from '../api/types.ts';
import { type Change, changesBetween } from '../model/changes.ts';
import { clockOffsetMs } from '../model/clusters.ts';
import { fitRequest } from '../model/fit-question.ts';
import { serverTime, setClockOffset } from './clock.ts';
import { Resource } from './resource.ts';
import type { PageConfig } from './session.ts';
import { token } from './session.ts';
import { view } from './view.ts';

/** Milliseconds between two polls of up to a thousand clusters; more clusters, longer pauses. */
const POLL_MS = 5_000;
const CLUSTERS_PER_POLL = 1_000;
/** Changes that the feed keeps, the newest. */
const MAX_FEED = 100;

export interface DatedChange extends Change {
  readonly atMs: number;
}

export const config = signal<PageConfig | undefined>(undefined);
export const feed = signal<readonly DatedChange[]>([]);
/** Since when the feed has been watching. */
export const feedSinceMs = signal<number | undefined>(undefined);

const signedIn = computed(
  () => config.value !== undefined && (config.value.auth === 'open' || token.value !== undefined),
);
export const openedId = computed(() => view.value.cluster);
const question = computed(() => JSON.stringify(view.value.question ?? null));

/** Longer lists are polled less often: what a poll costs grows with them. */
function pollMs(clusters: number): number {
  return POLL_MS * Math.max(1, Math.ceil(clusters / CLUSTERS_PER_POLL));
}

export const clusters = new Resource<ClusterList>({
  request: () => (signedIn.value ? { path: '/v1/clusters' } : undefined),
  everyMs: (data) => pollMs(data?.clusters.length ?? 0),
  onData: (after, before) => {
    const offset = clockOffsetMs(after.clusters, Date.now());
    if (offset !== undefined) setClockOffset(offset);
    const atMs = serverTime(Date.now());
    if (before === undefined) {
      feed.value = [];
      feedSinceMs.value = atMs;
      return;
    }
    const changes = changesBetween(before.clusters, after.clusters).map((change) => ({ ...change, atMs }));
    if (changes.length > 0) feed.value = [...changes, ...feed.value].slice(0, MAX_FEED);
  },
});

export const capacity = new Resource<Capacity>({
  request: () =>
    signedIn.value ? { path: '/v1/capacity?group_by=accelerator_model&group_by=region' } : undefined,
  everyMs: () => pollMs(clusters.state.peek().data?.clusters.length ?? 0),
});

export const openedStatus = new Resource<ClusterStatus>({
  request: () =>
    signedIn.value && openedId.value !== ''
      ? { path: `/v1/clusters/${encodeURIComponent(openedId.value)}` }
      : undefined,
  everyMs: () => POLL_MS,
});

export const openedTargets = new Resource<Capacity>({
  request: () =>
    signedIn.value && openedId.value !== ''
      ? { path: `/v1/capacity?cluster=${encodeURIComponent(openedId.value)}` }
      : undefined,
  everyMs: () => POLL_MS,
});

/** The counter at which the opened cluster's content appeared: its work is fetched again only when that changes. */
const openedContent = computed(() => {
  const status = openedStatus.state.value.data;
  if (status === undefined || status.cluster.clusterId !== openedId.value) return undefined;
  return status.state === 'CLUSTER_STATE_INCLUDED' ? status.contentSinceCounter : undefined;
});

export const openedSnapshot = new Resource<Snapshot>({
  request: () =>
    signedIn.value && openedContent.value !== undefined
      ? { path: `/v1/clusters/${encodeURIComponent(openedId.value)}/snapshot` }
      : undefined,
  everyMs: undefined,
});

export const fit = new Resource<FitResponse>({
  request: () => {
    if (!signedIn.value || question.value === 'null') return undefined;
    const asked = fitRequest(JSON.parse(question.value));
    return 'fault' in asked ? undefined : { path: '/v1/capacity/fit', body: asked.request };
  },
  everyMs: undefined,
});

/** Routes that the service has: newer parts of the page show themselves only where there is something behind them. */
const routes = new Resource<{ readonly resources: readonly string[] }>({
  request: () => (config.value === undefined ? undefined : { path: '/' }),
  everyMs: undefined,
});

export const hasClaims = computed(
  () => routes.state.value.data?.resources.includes('GET /v1/claims') ?? false,
);

/** Claims of the opened cluster. */
export const claims = new Resource<ClaimList>({
  request: () =>
    signedIn.value && hasClaims.value && openedId.value !== ''
      ? { path: `/v1/claims?cluster=${encodeURIComponent(openedId.value)}` }
      : undefined,
  everyMs: () => POLL_MS,
});
