/** What the page asks of the API, each part by itself: one that is slow or refused holds up no other. */
import { computed, effect, signal } from '@preact/signals';
import type {
  BundleList,
  Capacity,
  ClaimList,
  ClusterList,
  ClusterStatus,
  FitResponse,
  Snapshot,
} from '../api/types.ts';
import { type Change, SeenClusters } from '../model/changes.ts';
import { isNoFilter, listPath, momentMs } from '../model/clusters.ts';
import { fitRequest } from '../model/fit-question.ts';
import { serverTime, setClockOffset } from './clock.ts';
import { Resource } from './resource.ts';
import type { PageConfig } from './session.ts';
import { token } from './session.ts';
import { view } from './view.ts';

/** Milliseconds between two polls of up to a thousand clusters; more clusters, longer pauses. */
const POLL_MS = 5_000;
const CLUSTERS_PER_POLL = 1_000;
/** Until the next keystroke of a search, at least. */
const KEYSTROKES_MS = 200;
/** By how much clocks of the service's instances may differ. */
const CLOCKS_MS = 5_000;
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

/** Larger maps are polled less often: what a poll costs the service grows with them. */
function pollMs(clusters: number): number {
  return POLL_MS * Math.max(1, Math.ceil(clusters / CLUSTERS_PER_POLL));
}

/** Rows at first, and with each "show more". */
export const PAGE_ROWS = 100;
/** What the service lists at most. */
export const MAX_ROWS = 1_000;
/** Rows of the table of clusters that are to be shown. */
export const clusterRows = signal(PAGE_ROWS);

/** The filter, a moment after the last keystroke. */
const filter = signal(view.peek().filter);
let keystroke: number | undefined;
effect(() => {
  const { filter: next } = view.value;
  clearTimeout(keystroke);
  const apply = (): void => {
    if (JSON.stringify(next) === JSON.stringify(filter.peek())) return;
    clusterRows.value = PAGE_ROWS;
    filter.value = next;
  };
  if (next.search === filter.peek().search) apply();
  else keystroke = setTimeout(apply, KEYSTROKES_MS);
});

let seen = new SeenClusters();
/** From when on changes are asked for, where the table does not show every cluster; absent: it does. */
const changesSince = signal<string | undefined>(undefined);
effect(() => {
  // Another token may see other clusters.
  token.value;
  seen = new SeenClusters();
  feed.value = [];
  feedSinceMs.value = undefined;
  changesSince.value = undefined;
});

/** The rows of the table, and the counts of all clusters. */
export const clusters = new Resource<ClusterList>({
  request: () =>
    signedIn.value ? { path: listPath(filter.value, Math.min(MAX_ROWS, clusterRows.value)) } : undefined,
  keep: true,
  everyMs: (data) => pollMs(data?.counts.all ?? 0),
  onData: ({ clusters: list, counts, asOf }) => {
    setClockOffset(momentMs(asOf) - Date.now());
    const atMs = serverTime(Date.now());
    const all = isNoFilter(filter.peek()) && list.length === counts.all;
    add(seen.listed(list, all));
    const listMs = momentMs(asOf);
    if (feedSinceMs.peek() === undefined) {
      feedSinceMs.value = atMs;
      firstListMs = listMs;
    } else {
      // Not from before the first list: what changed then did not change while the page was open.
      const sinceMs = Math.max(firstListMs, lastListMs - CLOCKS_MS);
      changesSince.value = all ? undefined : new Date(sinceMs).toISOString();
    }
    lastListMs = listMs;
  },
});
/** When the first list since the sign-in was, and the last, by the service's clock. */
let [firstListMs, lastListMs] = [0, 0];

/** Changes of clusters that the table does not show. */
new Resource<ClusterList>({
  request: () =>
    signedIn.value && changesSince.value !== undefined
      ? {
          path: `/v1/clusters?${new URLSearchParams({ changed_since: changesSince.value, limit: String(MAX_FEED) })}`,
        }
      : undefined,
  everyMs: undefined,
  onData: ({ clusters: list }) => add(seen.changed(list)),
});

function add(changes: readonly Change[]): void {
  if (changes.length === 0) return;
  const atMs = serverTime(Date.now());
  feed.value = [...changes.map((change) => ({ ...change, atMs })), ...feed.peek()].slice(0, MAX_FEED);
}

export const capacity = new Resource<Capacity>({
  request: () =>
    signedIn.value ? { path: '/v1/capacity?group_by=accelerator_model&group_by=region' } : undefined,
  everyMs: () => pollMs(clusters.state.peek().data?.counts.all ?? 0),
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

const hasRoute = (route: string): boolean => routes.state.value.data?.resources.includes(route) ?? false;
export const hasClaims = computed(() => hasRoute('GET /v1/claims'));
export const hasBundles = computed(() => hasRoute('GET /v1/bundles'));

/** Claims of the opened cluster. */
export const claims = new Resource<ClaimList>({
  request: () =>
    signedIn.value && hasClaims.value && openedId.value !== ''
      ? { path: `/v1/claims?cluster=${encodeURIComponent(openedId.value)}` }
      : undefined,
  everyMs: () => POLL_MS,
});

/** Stored bundles, while they are opened. */
export const bundles = new Resource<BundleList>({
  request: () =>
    signedIn.value && hasBundles.value && view.value.bundles ? { path: '/v1/bundles' } : undefined,
  everyMs: () => POLL_MS,
});
