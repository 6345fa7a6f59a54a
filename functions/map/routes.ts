/** What a scheduler reads. */
import { create } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { ResourceMapError } from '../errors.ts';
import {
  ClusterListSchema,
  ClusterStatusSchema,
  FindingSchema,
  SyncRequestSchema,
} from '../gen/resourcemap/v1/service_pb.ts';
import { clockEtag } from '../globalmap/clock.ts';
import { type MapFilter, matcher, WHOLE_MAP } from '../globalmap/filter.ts';
import {
  spliceClockJson,
  spliceClusterJson,
  spliceMapJson,
  spliceSyncJson,
} from '../globalmap/splice-json.ts';
import {
  spliceClockProtobuf,
  spliceClusterProtobuf,
  spliceMapProtobuf,
  spliceSyncProtobuf,
} from '../globalmap/splice-protobuf.ts';
import type { App } from '../http/app.ts';
import { CLUSTER_ROUTE, clusterIdOf, SNAPSHOT_ROUTE } from '../http/cluster-path.ts';
import { matchesEtag } from '../http/conditional.ts';
import { MAX_SYNC_BYTES } from '../http/limits.ts';
import { acceptsGzip, type ResponseFormat, responseFormat } from '../http/media-type.ts';
import { preferredWaitSeconds } from '../http/prefer.ts';
import { refuseUnknownParameters } from '../http/query.ts';
import type { BodyLimits } from '../http/read-body.ts';
import { readMessage } from '../http/read-message.ts';
import { respond } from '../http/respond.ts';
import { REVALIDATE, sendPieces } from '../http/send-pieces.ts';
import type { Store } from '../store/commit.ts';
import { ClusterNotFoundError } from '../store/errors.ts';
import type { Head } from '../store/head.ts';
import { clusterStatus } from '../store/status.ts';
import type { Telemetry } from '../telemetry.ts';
import { answerSync, type SyncQuery, tellsNothing } from './answer-sync.ts';
import { BodyCache } from './body-cache.ts';
import { type BodyForm, filterFacts, MapReader, versionOf } from './read-map.ts';
import { standingWarnings } from './standing-warnings.ts';
import { ChangeSignal, lookUntil, type Patience } from './wait.ts';

export interface MapDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Memory for bodies. */
  readonly cacheBytes: number;
  /** The largest body of an answer that the front can carry; absent where it has no bound. */
  readonly maxAnswerBytes?: number;
  /** Notified where this process makes changes; others' are found by looking. */
  readonly changes?: ChangeSignal;
}

const FILTER_PARAMETERS = ['cluster', 'provider', 'region', 'site', 'accelerator_model'] as const;

/** What an answer to sync holds unless the caller says otherwise: what a Lambda can carry. */
const DEFAULT_SYNC_BYTES = 4_000_000;

const SYNC_LIMITS: BodyLimits = { sentBytes: MAX_SYNC_BYTES, inflatedBytes: MAX_SYNC_BYTES };

export function mapRoutes(app: App, deps: MapDeps): void {
  const { store, telemetry, now, cacheBytes, maxAnswerBytes, changes = new ChangeSignal() } = deps;
  const map = new MapReader(store, new BodyCache(cacheBytes), telemetry);

  app.get('/v1/map', async (c) => {
    const filter = filterOf(c);
    const wanted = wantedForm(c);
    const { patience, headers } = patienceOf(c, changes);
    const matches = matcher(filter);
    const look = async () => {
      const heads = (await map.includedHeads()).filter((head) => matches(filterFacts(head)));
      return { heads, etag: clockEtag(heads.map(versionOf), filter, wanted.format) };
    };
    const { heads, etag } = await lookUntil(look, (seen) => !matchesEtag(c, seen.etag), patience);
    if (matchesEtag(c, etag)) return notModified(c, etag, headers);

    const entries = await map.entries(heads, wanted);
    // What could not be read is not in the map, and so not in its etag.
    const sentEtag = clockEtag(entries, filter, wanted.format);
    if (matchesEtag(c, sentEtag)) return notModified(c, sentEtag, headers);
    const splice = wanted.format === 'protobuf' ? spliceMapProtobuf : spliceMapJson;
    return sendPieces(c, splice(entries), {
      zipped: wanted.zipped,
      headers: { ...headers, 'content-type': wanted.contentType, etag: sentEtag },
      maxBytes: maxAnswerBytes,
      remedy: wanted.zipped
        ? 'fetch it in parts with POST /v1/map/sync, or narrow it with a filter'
        : 'send Accept-Encoding: gzip, fetch it in parts with POST /v1/map/sync, or narrow it with a filter',
    });
  });

  app.post('/v1/map/sync', async (c) => {
    refuseUnknownParameters(c, []);
    const wanted = wantedForm(c);
    const { patience, headers } = patienceOf(c, changes);
    const question = await readMessage(c, SyncRequestSchema, { limits: SYNC_LIMITS, mayBeEmpty: true });
    const query: SyncQuery = {
      callerClock: new Map(Object.entries(question.vectorClock)),
      filter: question.filter ?? WHOLE_MAP,
      maxBytes: Math.min(
        Number(question.maxBytes) || DEFAULT_SYNC_BYTES,
        maxAnswerBytes ?? Number.MAX_SAFE_INTEGER,
      ),
    };
    const answer = await lookUntil(
      () => answerSync(map, query, wanted),
      (seen) => !tellsNothing(seen),
      patience,
    );
    const splice = wanted.format === 'protobuf' ? spliceSyncProtobuf : spliceSyncJson;
    return sendPieces(c, splice(answer), {
      zipped: wanted.zipped,
      headers: { ...headers, 'content-type': wanted.contentType },
      maxBytes: maxAnswerBytes,
      remedy: wanted.zipped
        ? 'leave its largest cluster out with a filter'
        : 'send Accept-Encoding: gzip, or leave its largest cluster out with a filter',
    });
  });

  app.get('/v1/map/clock', async (c) => {
    const filter = filterOf(c);
    const wanted = wantedForm(c);
    const matches = matcher(filter);
    const heads = (await map.includedHeads()).filter((head) => matches(filterFacts(head)));
    const versions = heads.map(versionOf);
    const etag = clockEtag(versions, filter, wanted.format);
    if (matchesEtag(c, etag)) return notModified(c, etag);
    const splice = wanted.format === 'protobuf' ? spliceClockProtobuf : spliceClockJson;
    return sendPieces(c, splice(versions), {
      zipped: wanted.zipped,
      headers: { 'content-type': wanted.contentType, etag },
      maxBytes: maxAnswerBytes,
      remedy: 'narrow it with a filter',
    });
  });

  app.get('/v1/clusters', async (c) => {
    refuseUnknownParameters(c, []);
    const heads = await map.allHeads();
    const clusters = heads.map((head) => clusterStatus(head, now()));
    return respond(c, ClusterListSchema, create(ClusterListSchema, { clusters }));
  });

  app.get(SNAPSHOT_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    const wanted = wantedForm(c);
    const head = await knownHead(store, clusterIdOf(c, '/snapshot'));
    if (head.omission !== undefined) {
      throw new ResourceMapError(
        'cluster_omitted',
        `Cluster ${JSON.stringify(head.clusterId)} is out of the map (${head.omission.reason}), so what it has is unknown. ` +
          `A push above ${head.highWater} brings it back.`,
      );
    }
    const [entry] = await map.entries([head], wanted);
    if (entry === undefined) {
      throw new ResourceMapError(
        'snapshot_unavailable',
        `The snapshot of cluster ${JSON.stringify(head.clusterId)} cannot be read at the moment. A push of other content mends that, and so does DELETE of the cluster before its next push.`,
        { retryAfterSeconds: 10 },
      );
    }
    const splice = wanted.format === 'protobuf' ? spliceClusterProtobuf : spliceClusterJson;
    return sendPieces(c, splice(entry), {
      zipped: wanted.zipped,
      headers: { 'content-type': wanted.contentType },
      maxBytes: maxAnswerBytes,
      remedy: 'send Accept-Encoding: gzip',
    });
  });

  app.get(CLUSTER_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    responseFormat(c);
    const head = await knownHead(store, clusterIdOf(c, ''));
    const status = clusterStatus(head, now());
    for (const warning of await standingWarnings(map, head, now())) {
      status.warnings.push(create(FindingSchema, warning));
    }
    return respond(c, ClusterStatusSchema, status);
  });
}

async function knownHead(store: Store, clusterId: string): Promise<Head> {
  const head = await store.heads.read(clusterId);
  if (head === undefined) throw new ClusterNotFoundError(clusterId);
  return head;
}

function filterOf(c: Context): MapFilter {
  refuseUnknownParameters(c, FILTER_PARAMETERS);
  const values = (name: (typeof FILTER_PARAMETERS)[number]): readonly string[] => c.req.queries(name) ?? [];
  return {
    cluster: values('cluster'),
    provider: values('provider'),
    region: values('region'),
    site: values('site'),
    acceleratorModel: values('accelerator_model'),
  };
}

function wantedForm(c: Context): BodyForm & ResponseFormat {
  return { ...responseFormat(c), zipped: acceptsGzip(c) };
}

/** How long the client lets us wait, and the header that says how long we took it to be. */
function patienceOf(
  c: Context,
  changes: ChangeSignal,
): { readonly patience: Patience; readonly headers: Readonly<Record<string, string>> } {
  const seconds = preferredWaitSeconds(c);
  return {
    patience: { changes, waitMs: seconds * 1_000, signal: c.req.raw.signal },
    headers: seconds === 0 ? {} : { 'preference-applied': `wait=${seconds}` },
  };
}

function notModified(c: Context, etag: string, headers: Readonly<Record<string, string>> = {}): Response {
  return c.body(null, 304, { ...REVALIDATE, ...headers, etag });
}
