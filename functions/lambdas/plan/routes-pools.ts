/** The configured pools: a change says which pool its sender has seen. */
import { create } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { MAX_POOL_REQUEST_BYTES } from '../../core/bundle/model/limits.ts';
import { readOnePool } from '../../core/bundle/wire/read-pool.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import type { WireFormat } from '../../core/snapshot/decode.ts';
import { PoolListSchema, PoolSchema, StoredPoolSchema } from '../../gen/resourcemap/bundle/v1/pool_pb.ts';
import type { App, AppEnv } from '../../http/app-env.ts';
import { knownRepresentations, type WriteCondition, writeCondition } from '../../http/conditional.ts';
import { responseFormat } from '../../http/media-type.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { BodyLimits } from '../../http/read-body.ts';
import { readMessage } from '../../http/read-message.ts';
import { respond } from '../../http/respond.ts';
import { sendMessage } from '../../http/send-message.ts';
import { REVALIDATE } from '../../http/send-pieces.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { KeptPool, PoolCondition, PoolStore } from '../../storage/pools.ts';
import { newPoolNameOf, POOL_ROUTE, poolNameOf, poolPath } from './pool-name.ts';

export interface PoolDeps {
  readonly pools: PoolStore;
  readonly telemetry: Telemetry;
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
}

const POOL_LIMITS: BodyLimits = { sentBytes: MAX_POOL_REQUEST_BYTES, inflatedBytes: MAX_POOL_REQUEST_BYTES };

export function poolRoutes(app: App, { pools, telemetry, maxResponseBytes }: PoolDeps): void {
  /** Who changed what: the log is the only place that remembers it. */
  const record = (c: Context<AppEnv>, change: string, pool: string): void => {
    const principal = c.get('principal');
    const by = principal.kind === 'caller' ? principal.id : 'anyone';
    telemetry.warn(change, { pool, by });
  };

  app.get('/v1/pools', async (c) => {
    refuseUnknownParameters(c, []);
    const { format } = responseFormat(c);
    const kept = await pools.list();
    const list = create(PoolListSchema, {
      pools: kept.map(({ pool, version }) => ({ pool, etag: etagOf(version, format) })),
    });
    return sendMessage(c, PoolListSchema, list, {
      maxBytes: maxResponseBytes,
      remedy: 'read the pools one by one',
    });
  });

  app.get(POOL_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    const name = poolNameOf(c);
    const { format } = responseFormat(c);
    const isKnown = knownRepresentations(c);
    const kept = await pools.read(name);
    if (kept === undefined) throw notFound(name);
    const etag = etagOf(kept.version, format);
    if (isKnown(etag)) return c.body(null, 304, { ...REVALIDATE, etag });
    return respondPool(c, kept, 200);
  });

  app.put(POOL_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    const name = newPoolNameOf(c);
    responseFormat(c);
    const condition = writeCondition(c);
    const pool = await readMessage(c, PoolSchema, { limits: POOL_LIMITS });
    if (pool.poolName !== '' && pool.poolName !== name) {
      throw new ResourceMapError(
        'invalid_bundle_request',
        `pool.pool_name: ${quote(pool.poolName)} is not the name in the URL, ${quote(name)}; leave it out.`,
      );
    }
    pool.poolName = name;
    readOnePool(pool);
    const put = await pools.put(pool, poolCondition(condition));
    if (put.outcome === 'refused') throw condition.kind === 'none' ? unseen(name) : changed(name, condition);
    record(c, `pool ${put.outcome}`, name);
    return respondPool(c, { pool, version: put.version }, put.outcome === 'created' ? 201 : 200);
  });

  app.delete(POOL_ROUTE, async (c) => {
    refuseUnknownParameters(c, []);
    const name = poolNameOf(c);
    const condition = writeCondition(c);
    if (condition.kind === 'absent') {
      throw new ResourceMapError(
        'invalid_precondition',
        'A DELETE with If-None-Match: * would remove nothing; send If-Match, or neither.',
      );
    }
    const removed = await pools.remove(
      name,
      condition.kind === 'match' ? versionsOf(condition.tags) : undefined,
    );
    if (removed === 'refused') throw changed(name, condition);
    if (removed === 'absent') throw condition.kind === 'none' ? notFound(name) : changed(name, condition);
    record(c, 'pool removed', name);
    return c.body(null, 204);
  });
}

function respondPool(c: Context, { pool, version }: KeptPool, status: 200 | 201): Response {
  const etag = etagOf(version, responseFormat(c).format);
  const response = respond(c, StoredPoolSchema, create(StoredPoolSchema, { pool, etag }), status);
  response.headers.set('etag', etag);
  return response;
}

const SUFFIX: Readonly<Record<WireFormat, string>> = { protobuf: 'pb', json: 'json' };

/** Each format has a tag of its own, as the map's have, so that no cache hands out one for the other. */
function etagOf(version: string, format: WireFormat): string {
  return `"${version}.${SUFFIX[format]}"`;
}

/** A writer may have read the pool in either format. A tag of another form is that of no pool, and so matches none. */
function versionsOf(tags: readonly string[]): readonly string[] {
  return tags.flatMap((tag) => /^([0-9a-f]{32})\.(?:pb|json)$/.exec(tag)?.[1] ?? []);
}

function poolCondition(condition: WriteCondition): PoolCondition {
  switch (condition.kind) {
    case 'none':
      return { kind: 'new' };
    case 'match':
      return { kind: 'version', versions: versionsOf(condition.tags) };
    case 'absent':
    case 'present':
      return condition;
  }
}

function notFound(name: string): ResourceMapError {
  return new ResourceMapError(
    'pool_not_found',
    `No pool ${quote(name)} is configured; GET /v1/pools lists those that are.`,
    { field: 'pool', value: name },
  );
}

function changed(name: string, condition: WriteCondition): ResourceMapError {
  if (condition.kind === 'match' && condition.weak) {
    return new ResourceMapError(
      'pool_changed',
      `If-Match has a weak tag, W/"…", which never matches, and nothing was changed. The service gives strong tags: something between, ` +
        `a proxy that compresses as a rule, has weakened this one. Send the \`etag\` in the body of GET ${poolPath(name)}, which is the strong one.`,
    );
  }
  return new ResourceMapError(
    'pool_changed',
    `Pool ${quote(name)} is not what the request expects to be there, and nothing was changed; GET ${poolPath(name)} has what is, with its ETag.`,
  );
}

function unseen(name: string): ResourceMapError {
  return new ResourceMapError(
    'precondition_required',
    `Pool ${quote(name)} is there already, and not as it was sent; to replace it send If-Match with the ETag of GET ${poolPath(name)}, or If-Match: * for whatever it is by then.`,
  );
}
