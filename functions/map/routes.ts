/** What a scheduler reads. */
import { create } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { ResourceMapError } from '../errors.ts';
import { ClusterListSchema, ClusterStatusSchema } from '../gen/resourcemap/v1/service_pb.ts';
import { clockEtag } from '../globalmap/clock.ts';
import type { MapFilter } from '../globalmap/filter.ts';
import { gather, type Piece, plain } from '../globalmap/pieces.ts';
import { gzip } from '../globalmap/splice-gzip.ts';
import { spliceClockJson, spliceClusterJson, spliceMapJson } from '../globalmap/splice-json.ts';
import {
  spliceClockProtobuf,
  spliceClusterProtobuf,
  spliceMapProtobuf,
} from '../globalmap/splice-protobuf.ts';
import type { App } from '../http/app.ts';
import { clusterIdOf } from '../http/cluster-path.ts';
import { acceptsGzip, type ResponseFormat, responseFormat } from '../http/media-type.ts';
import { refuseUnknownParameters } from '../http/query.ts';
import { respond } from '../http/respond.ts';
import type { Store } from '../store/commit.ts';
import { ClusterNotFoundError } from '../store/errors.ts';
import type { Head } from '../store/head.ts';
import { clusterStatus } from '../store/status.ts';
import type { Telemetry } from '../telemetry.ts';
import { MapReader, versionOf } from './read-map.ts';

export interface MapDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const FILTER_PARAMETERS = ['cluster', 'provider', 'region', 'site', 'accelerator_model'] as const;

export function mapRoutes(app: App, { store, telemetry, now }: MapDeps): void {
  const map = new MapReader(store, telemetry);

  app.get('/v1/map', async (c) => {
    const filter = filterOf(c);
    const wanted = responseFormat(c);
    const heads = await map.includedHeads(filter);
    const current = clockEtag(heads.map(versionOf), filter);
    if (matchesEtag(c, current)) return notModified(c, current);
    const entries = await map.entries(heads, wanted.format);
    const splice = wanted.format === 'protobuf' ? spliceMapProtobuf : spliceMapJson;
    return send(c, wanted, splice(entries), clockEtag(entries, filter));
  });

  app.get('/v1/map/clock', async (c) => {
    const filter = filterOf(c);
    const wanted = responseFormat(c);
    const versions = (await map.includedHeads(filter)).map(versionOf);
    const etag = clockEtag(versions, filter);
    if (matchesEtag(c, etag)) return notModified(c, etag);
    const splice = wanted.format === 'protobuf' ? spliceClockProtobuf : spliceClockJson;
    return send(c, wanted, splice(versions), etag);
  });

  app.get('/v1/clusters', async (c) => {
    refuseUnknownParameters(c, []);
    const heads = await map.allHeads();
    const clusters = heads.map((head) => clusterStatus(head, now()));
    return respond(c, ClusterListSchema, create(ClusterListSchema, { clusters }));
  });

  app.get('/v1/clusters/:id{.+}/snapshot', async (c) => {
    refuseUnknownParameters(c, []);
    const wanted = responseFormat(c);
    const head = await knownHead(store, clusterIdOf(c, '/snapshot'));
    if (head.omission !== undefined) {
      throw new ResourceMapError(
        'cluster_omitted',
        `Cluster ${JSON.stringify(head.clusterId)} is out of the map (${head.omission.reason}), so what it has is unknown. ` +
          `A push above ${head.highWater} brings it back.`,
      );
    }
    const [entry] = await map.entries([head], wanted.format);
    if (entry === undefined) {
      throw new ResourceMapError(
        'snapshot_unavailable',
        `The snapshot of cluster ${JSON.stringify(head.clusterId)} cannot be read at the moment. A push of other content mends that, and so does DELETE of the cluster before its next push.`,
        { retryAfterSeconds: 10 },
      );
    }
    const splice = wanted.format === 'protobuf' ? spliceClusterProtobuf : spliceClusterJson;
    return send(c, wanted, splice(entry));
  });

  app.get('/v1/clusters/:id{.+}', async (c) => {
    refuseUnknownParameters(c, []);
    responseFormat(c);
    const head = await knownHead(store, clusterIdOf(c, ''));
    return respond(c, ClusterStatusSchema, clusterStatus(head, now()));
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

/** A cache may keep the answer, but must ask each time whether it still stands: counters never go back. */
const REVALIDATE = { 'cache-control': 'private, no-cache', vary: 'accept, accept-encoding' } as const;

function send(
  c: Context,
  { contentType }: ResponseFormat,
  pieces: readonly Piece[],
  etag?: string,
): Response {
  const zipped = acceptsGzip(c);
  const payload = zipped ? gzip(pieces) : plain(pieces);
  return c.body(gather(payload), 200, {
    ...REVALIDATE,
    'content-type': contentType,
    'content-length': String(payload.length),
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    ...(etag === undefined ? {} : { etag }),
  });
}

function notModified(c: Context, etag: string): Response {
  return c.body(null, 304, { ...REVALIDATE, etag });
}

/** RFC 9110 has If-None-Match compare weakly, so the W/ plays no part. */
function matchesEtag(c: Context, etag: string): boolean {
  const header = c.req.header('if-none-match');
  if (header === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(etag));
}
