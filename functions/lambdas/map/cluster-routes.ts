/** What is known of each cluster, and its snapshot. */
import { create } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { maySeeCluster } from '../../auth/principal.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { inIdOrder } from '../../core/map/entry.ts';
import { type FilterFacts, narrow } from '../../core/map/filter.ts';
import { spliceClusterJson } from '../../core/map/splice-json.ts';
import { spliceClusterProtobuf } from '../../core/map/splice-protobuf.ts';
import { quote } from '../../core/quote.ts';
import { nextCounter } from '../../core/snapshot/next-counter.ts';
import { nanosOfMs, timestampOf } from '../../core/timestamp.ts';
import {
  ClusterListSchema,
  type ClusterStatus,
  ClusterStatusSchema,
  FindingSchema,
} from '../../gen/resourcemap/v1/service_pb.ts';
import type { App } from '../../http/app-env.ts';
import { CLUSTER_ROUTE, clusterIdOf, SNAPSHOT_ROUTE } from '../../http/cluster-path.ts';
import { clusterStatus, refusedClusterStatus } from '../../http/cluster-status.ts';
import { responseFormat } from '../../http/media-type.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import { respond } from '../../http/respond.ts';
import { sendMessage } from '../../http/send-message.ts';
import { encodePieces, sendEncoded } from '../../http/send-pieces.ts';
import type { FilterFactsReader } from '../../reading/filter-facts.ts';
import type { MapReader } from '../../reading/map-reader.ts';
import { readPrior, type Store } from '../../storage/commit.ts';
import { highWaterOf } from '../../storage/decide.ts';
import { ClusterNotFoundError } from '../../storage/errors.ts';
import type { Head } from '../../storage/head.ts';
import type { Refusal } from '../../storage/refusals.ts';
import { CLUSTER_QUERY, clusterQueryOf, countsOf, type ListedCluster } from './cluster-query.ts';
import type { MapDeps } from './deps.ts';
import { filterOf, wantedForm } from './map-request.ts';
import { standingWarnings } from './standing-warnings.ts';

export function clusterRoutes(
  app: App,
  { map, facts }: { readonly map: MapReader; readonly facts: FilterFactsReader },
  { store, now, maxResponseBytes }: MapDeps,
): void {
  app.get('/v1/clusters', async (c) => {
    const filter = filterOf(c, ['state', ...CLUSTER_QUERY]);
    const inState = stateMatcher(c);
    const { accepts, limit } = clusterQueryOf(c);
    const principal = c.get('principal');
    const nowMs = now();
    const [heads, refusals] = await Promise.all([map.allHeads(), store.heads.refusals.readAll()]);
    const refusalOf = new Map(refusals.map((refusal) => [refusal.clusterId, refusal]));
    const known = new Set(heads.map((head) => head.clusterId));
    const all: readonly ListedCluster[] = inIdOrder([
      ...heads.map((head) => ({ clusterId: head.clusterId, head, refusal: refusalOf.get(head.clusterId) })),
      // In no state, and of their identity only the id is known.
      ...refusals
        .filter(({ clusterId }) => !known.has(clusterId))
        .map((refusal) => ({ clusterId: refusal.clusterId, head: undefined, refusal })),
    ]).filter(({ clusterId }) => maySeeCluster(principal, clusterId));
    const factsOf = await facts.read(heads, filter);
    const matching = narrow(all, filter, ({ clusterId, head }) =>
      head === undefined ? factsOfRefused(clusterId) : factsOf(head),
    ).filter((each) => inState(each) && accepts(each, nowMs));
    const clusters = await Promise.all(
      matching.slice(0, limit).map(async ({ head, refusal }) => statusOf(store, head, refusal, nowMs)),
    );
    const list = create(ClusterListSchema, {
      clusters: clusters.filter((status) => status !== undefined),
      counts: countsOf(all, nowMs),
      matching: matching.length,
      asOf: timestampOf(nanosOfMs(nowMs)),
    });
    return sendMessage(c, ClusterListSchema, list, {
      maxBytes: maxResponseBytes,
      remedy:
        'narrow it with cluster, provider, region, site, accelerator_model, state, condition or search, or send limit',
    });
  });

  app.get(SNAPSHOT_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    const wanted = wantedForm(c);
    const head = await knownHead(store, clusterIdOf(c, '/snapshot'));
    if (head.omission !== undefined) {
      throw new ResourceMapError(
        'cluster_omitted',
        `Cluster ${JSON.stringify(head.clusterId)} is out of the map (${head.omission.reason}), so what it has is unknown. ` +
          returnAdvice(head.highWater),
      );
    }
    const [entry] = await map.entries([head], wanted);
    if (entry === undefined) {
      throw new ResourceMapError(
        'snapshot_unavailable',
        `The snapshot of cluster ${JSON.stringify(head.clusterId)} cannot be read at the moment. A push of other content fixes that, and so does DELETE of the cluster before its next push.`,
        { retryAfterSeconds: 10 },
      );
    }
    const splice = wanted.format === 'protobuf' ? spliceClusterProtobuf : spliceClusterJson;
    return sendEncoded(c, encodePieces(splice(entry), wanted.zipped), {
      zipped: wanted.zipped,
      headers: { 'content-type': wanted.contentType },
      maxBytes: maxResponseBytes,
      remedy: 'send Accept-Encoding: gzip',
    });
  });

  app.get(CLUSTER_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    responseFormat(c);
    const clusterId = clusterIdOf(c, '');
    const [head, refusal] = await Promise.all([
      store.heads.read(clusterId),
      store.heads.refusals.read(clusterId),
    ]);
    if (head === undefined) {
      if (refusal === undefined) throw new ClusterNotFoundError(clusterId);
      return respond(c, ClusterStatusSchema, await statusWithoutHead(store, refusal, now()));
    }
    const status = clusterStatus(head, refusal, now());
    for (const warning of await standingWarnings(map, head)) {
      status.warnings.push(create(FindingSchema, warning));
    }
    return respond(c, ClusterStatusSchema, status);
  });
}

/**
 * The status of a cluster that had no head when its refusal was read. Its head may have come
 * since, and a retired cluster left its high-water mark, below which none may be reported.
 */
async function statusWithoutHead({ heads }: Store, refusal: Refusal, nowMs: number): Promise<ClusterStatus> {
  const prior = await readPrior(heads, refusal.clusterId);
  return prior.kind === 'head'
    ? clusterStatus(prior.head, refusal, nowMs)
    : refusedClusterStatus(refusal, highWaterOf(prior));
}

async function statusOf(
  store: Store,
  head: Head | undefined,
  refusal: Refusal | undefined,
  nowMs: number,
): Promise<ClusterStatus | undefined> {
  if (head !== undefined) return clusterStatus(head, refusal, nowMs);
  return refusal && statusWithoutHead(store, refusal, nowMs);
}

/** @throws ResourceMapError `invalid_query` */
function stateMatcher(c: Context): (cluster: ListedCluster) => boolean {
  const states = c.req.queries('state') ?? [];
  const unknown = states.find((state) => state !== 'included' && state !== 'omitted');
  if (unknown !== undefined) {
    throw new ResourceMapError(
      'invalid_query',
      `The query parameter state is ${quote(unknown)}; it can be "included" or "omitted".`,
      { field: 'state', value: unknown },
    );
  }
  return ({ head }) =>
    states.length === 0 ||
    (head !== undefined && states.includes(head.omission === undefined ? 'included' : 'omitted'));
}

function factsOfRefused(clusterId: string): FilterFacts {
  return {
    clusterId,
    provider: '',
    region: '',
    site: '',
    acceleratorModels: [],
    acceleratorModelsCut: false,
  };
}

function returnAdvice(highWater: bigint): string {
  return nextCounter(highWater) === undefined
    ? `No counter is left above ${highWater}: push the cluster under another id.`
    : `A push above ${highWater} brings it back.`;
}

async function knownHead(store: Store, clusterId: string): Promise<Head> {
  const head = await store.heads.read(clusterId);
  if (head === undefined) throw new ClusterNotFoundError(clusterId);
  return head;
}
