/** Bundles that are stored and kept placed: their owners say what they want, and read what became of it. */
import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { ownerOf } from '../../auth/principal.ts';
import {
  type Actor,
  checkOwner,
  deleteBundle,
  moveCopy,
  putBundle,
  setStopTime,
} from '../../core/bundle/live/commands.ts';
import {
  MAX_REPLACE_UNKNOWN_MS,
  MAX_STORED_BUNDLES,
  MAX_STORED_REQUEST_BYTES,
  MIN_REPLACE_UNKNOWN_MS,
} from '../../core/bundle/live/limits.ts';
import { recordMessage } from '../../core/bundle/live/record.ts';
import {
  type BundleOptions,
  bandOf,
  checkBundleId,
  readOneBundle,
  versionOf,
} from '../../core/bundle/live/spec.ts';
import { PRIORITY_BANDS } from '../../core/bundle/model/model.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import type { WireFormat } from '../../core/snapshot/decode.ts';
import { BundleSchema } from '../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import {
  BundleListSchema,
  BundleRecordSchema,
  BundleStopTimeSchema,
} from '../../gen/resourcemap/bundle/v1/live_pb.ts';
import type { StoredBundle } from '../../gen/resourcemap/bundle/v1/stored_pb.ts';
import type { App, AppEnv } from '../../http/app-env.ts';
import { knownRepresentations, type WriteCondition, writeCondition } from '../../http/conditional.ts';
import { responseFormat } from '../../http/media-type.ts';
import { preferredWaitSeconds } from '../../http/prefer.ts';
import { booleanParameter, refuseUnknownParameters } from '../../http/query.ts';
import { readMessage } from '../../http/read-message.ts';
import { respond } from '../../http/respond.ts';
import { sendMessage } from '../../http/send-message.ts';
import { REVALIDATE } from '../../http/send-pieces.ts';
import type { ChangeSignal } from '../../http/wait.ts';
import { WaitLimiter } from '../../http/wait-limiter.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { BundleStore, KeptBundle } from '../../storage/bundles.ts';
import type { BundleKeeper } from './bundle-keeper.ts';
import { clientClosedRequest } from './turns.ts';

export interface StoredBundleDeps {
  readonly bundles: BundleStore;
  readonly keeper: BundleKeeper;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly changes: ChangeSignal;
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
}

/** The ids that are left out are reserved, and routes of their own: these methods are not theirs. */
const BUNDLE_ROUTE = '/v1/bundles/:id{(?!(?:plan|validate)$)[^/]+}';
const LIMITS = { sentBytes: MAX_STORED_REQUEST_BYTES, inflatedBytes: MAX_STORED_REQUEST_BYTES };

const PHASES = ['pending', 'acquiring', 'placed', 'running', 'unknown', 'done', 'stopping'] as const;
const STATES = ['live', 'deleting'] as const;

export function storedBundleRoutes(app: App, deps: StoredBundleDeps): void {
  const { bundles, keeper, telemetry, now, changes, maxResponseBytes } = deps;
  const waits = new WaitLimiter();

  /** Who changed what: the record names the last one alone. */
  const record = (c: Context<AppEnv>, change: string, bundle: string): void => {
    telemetry.warn(change, { bundle, by: ownerOf(c.get('principal')) });
  };

  app.get('/v1/bundles', async (c) => {
    refuseUnknownParameters(c, ['state', 'phase', 'owner', 'pool', 'band']);
    const { format } = responseFormat(c);
    const isKnown = knownRepresentations(c);
    const accepts = bundleFilter(c);
    const read = async () => {
      const kept = (await bundles.list()).filter(({ item }) => accepts(item));
      return { kept, etag: listEtag(kept, format) };
    };
    const { kept, etag } = await waits.pollUntil(c.get('principal'), read, (seen) => !isKnown(seen.etag), {
      changes,
      waitMs: preferredWaitSeconds(c) * 1_000,
      signal: c.req.raw.signal,
    });
    if (isKnown(etag)) return c.body(null, 304, { ...REVALIDATE, etag });
    const list = create(BundleListSchema, { bundles: kept.map((one) => messageOf(one, format)) });
    const response = sendMessage(c, BundleListSchema, list, {
      maxBytes: maxResponseBytes,
      remedy: 'narrow it with state, phase, owner, pool or band',
    });
    response.headers.set('etag', etag);
    return response;
  });

  app.get(BUNDLE_ROUTE, async (c) => {
    refuseUnknownParameters(c, ['rev']);
    const id = idOf(c);
    const { format } = responseFormat(c);
    const seenRev = revOf(c);
    const kept = await waits.pollUntil(
      c.get('principal'),
      () => bundles.read(id),
      (seen) => seen === undefined || seenRev === undefined || seen.rev > seenRev,
      { changes, waitMs: preferredWaitSeconds(c) * 1_000, signal: c.req.raw.signal },
    );
    if (kept === undefined) throw notFound(id);
    return send(c, kept, 200, format);
  });

  app.put(BUNDLE_ROUTE, async (c) => {
    refuseUnknownParameters(c, ['dry_run', 'replace', 'paused', 'replace_unknown_after', 'repair_degraded']);
    const id = idOf(c);
    checkBundleId(id);
    const { format } = responseFormat(c);
    const condition = writeCondition(c);
    const dryRun = booleanParameter(c, 'dry_run');
    const replace = booleanParameter(c, 'replace');
    const options = optionsOf(c);
    const spec = await readMessage(c, BundleSchema, { limits: LIMITS });
    if (spec.bundleId !== '' && spec.bundleId !== id) {
      throw new ResourceMapError(
        'invalid_bundle_request',
        `bundle.bundle_id: ${quote(spec.bundleId)} is not the id in the URL, ${quote(id)}; leave it out.`,
      );
    }
    if (spec.state === 'deleting') {
      throw new ResourceMapError(
        'invalid_bundle_request',
        `bundle.state: "deleting" cannot be put; send DELETE /v1/bundles/${id}.`,
      );
    }
    spec.bundleId = id;
    const actor = actorOf(c);
    spec.state = '';
    readOneBundle(spec);
    const version = versionOf(spec, options);
    const decide = (seen: KeptBundle | undefined): StoredBundle => {
      // The same again, after a response that was lost, is a success, whatever it expects.
      if (seen?.item.version !== version) {
        if (condition.kind === 'none' && seen !== undefined) {
          checkOwner(seen.item, actor);
          throw unseen(id);
        }
        checkCondition(id, condition, seen);
      }
      return putBundle(seen?.item, { spec, options, replace }, actor, now());
    };
    if (dryRun) {
      const seen = await bundles.read(id);
      const preview = await keeper.preview(decide(seen), c.req.raw.signal);
      if (preview === 'abandoned') return clientClosedRequest();
      return send(c, { bundleId: id, rev: seen?.rev ?? 0n, item: preview }, 200, format);
    }
    if ((await bundles.read(id)) === undefined && (await bundles.list()).length >= MAX_STORED_BUNDLES) {
      throw new ResourceMapError(
        'too_many_bundles',
        `${MAX_STORED_BUNDLES} bundles are stored, which is the most that are kept; delete some first.`,
        { retryAfterSeconds: 60 },
      );
    }
    const { kept, created } = await keeper.change(id, decide);
    record(c, created ? 'bundle created' : 'bundle put', id);
    const after = (await keeper.keep(id, c.req.raw.signal)) ?? kept;
    if (after === undefined) throw notFound(id);
    return send(c, after, created ? 201 : 200, format);
  });

  app.delete(BUNDLE_ROUTE, async (c) => {
    refuseUnknownParameters(c, ['reason', 'force']);
    const id = idOf(c);
    const { format } = responseFormat(c);
    const condition = writeCondition(c);
    if (condition.kind === 'absent') {
      throw new ResourceMapError(
        'invalid_precondition',
        'A DELETE with If-None-Match: * would remove nothing; send If-Match, or neither.',
      );
    }
    const actor = actorOf(c);
    const force = booleanParameter(c, 'force');
    if (force && !actor.mayChangeAny) {
      throw new ResourceMapError('forbidden', 'Only an administrator removes a bundle by force.');
    }
    const reason = reasonOf(c);
    const { kept } = await keeper.change(id, (seen) => {
      if (seen === undefined) throw notFound(id);
      checkCondition(id, condition, seen);
      const next = deleteBundle(seen.item, actor, reason);
      return force ? undefined : next;
    });
    record(c, force ? 'bundle removed by force' : 'bundle deleted', id);
    if (kept === undefined) return c.body(null, 204);
    const after = await keeper.keep(id, c.req.raw.signal);
    return after === undefined ? c.body(null, 204) : send(c, after, 200, format);
  });

  app.post(`${BUNDLE_ROUTE}/stop-time`, async (c) => {
    refuseUnknownParameters(c, []);
    const id = idOf(c);
    const { format } = responseFormat(c);
    const { stopAt } = await readMessage(c, BundleStopTimeSchema, { limits: LIMITS, mayBeEmpty: true });
    const stopAtMs =
      stopAt === undefined ? 0 : Number(stopAt.seconds) * 1_000 + Math.floor(stopAt.nanos / 1e6);
    if (stopAtMs < 0 || stopAtMs > 8.64e15) {
      throw new ResourceMapError(
        'invalid_bundle_request',
        `stop_at: ${stopAtMs} ms is not a time that can be kept.`,
      );
    }
    const actor = actorOf(c);
    const { kept } = await keeper.change(id, (seen) => {
      if (seen === undefined) throw notFound(id);
      return setStopTime(seen.item, actor, stopAtMs);
    });
    record(c, 'stop time of bundle set', id);
    const after = await keeper.keep(id, c.req.raw.signal);
    if (after !== undefined) return send(c, after, 200, format);
    if (kept === undefined) throw notFound(id);
    // Its time has come, and nothing of it ran.
    return send(c, { ...kept, item: { ...kept.item, state: 'deleting' } }, 200, format);
  });

  app.post(`${BUNDLE_ROUTE}/copies/:copy/move`, async (c) => {
    refuseUnknownParameters(c, []);
    const id = idOf(c);
    const { format } = responseFormat(c);
    const actor = actorOf(c);
    const copy = c.req.param('copy');
    await keeper.change(id, (seen) => {
      if (seen === undefined) throw notFound(id);
      return moveCopy(seen.item, actor, copy);
    });
    record(c, `${copy} of bundle moved`, id);
    const after = await keeper.keep(id, c.req.raw.signal);
    if (after === undefined) throw notFound(id);
    return send(c, after, 200, format);
  });
}

function actorOf(c: Context<AppEnv>): Actor {
  const principal = c.get('principal');
  const isAnyone = principal.kind === 'anyone';
  return { owner: ownerOf(principal), mayChangeAny: isAnyone || principal.rights.role === 'admin' };
}

function idOf(c: Context): string {
  return c.req.param('id') ?? '';
}

function reasonOf(c: Context): string {
  const reason = c.req.query('reason') ?? '';
  if (Buffer.byteLength(reason) <= MAX_REASON_BYTES) return reason;
  throw new ResourceMapError(
    'invalid_query',
    `The reason has ${Buffer.byteLength(reason)} bytes; at most ${MAX_REASON_BYTES} are kept.`,
  );
}

const MAX_REASON_BYTES = 200;

function revOf(c: Context): bigint | undefined {
  const rev = c.req.query('rev');
  if (rev === undefined) return undefined;
  if (/^\d{1,19}$/.test(rev)) return BigInt(rev);
  throw new ResourceMapError(
    'invalid_query',
    `The query parameter rev is ${quote(rev)}; it must be the rev of a response.`,
  );
}

function optionsOf(c: Context<AppEnv>): BundleOptions {
  return {
    paused: booleanParameter(c, 'paused'),
    repairDegraded: booleanParameter(c, 'repair_degraded'),
    replaceUnknownAfterMs: durationOf(c.req.query('replace_unknown_after')),
  };
}

function durationOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const seconds = /^(\d{1,9})s$/.exec(text)?.[1];
  const ms = Number(seconds ?? Number.NaN) * 1_000;
  if (ms === 0 || (ms >= MIN_REPLACE_UNKNOWN_MS && ms <= MAX_REPLACE_UNKNOWN_MS)) return ms;
  throw new ResourceMapError(
    'invalid_query',
    `The query parameter replace_unknown_after is ${quote(text)}; it must be 0s or from ${MIN_REPLACE_UNKNOWN_MS / 1_000}s to ${MAX_REPLACE_UNKNOWN_MS / 1_000}s, such as 1800s.`,
  );
}

function bundleFilter(c: Context<AppEnv>): (item: StoredBundle) => boolean {
  const owners = (c.req.queries('owner') ?? []).map((owner) =>
    owner === 'self' ? ownerOf(c.get('principal')) : owner,
  );
  const states = words(c, 'state', STATES);
  const phases = words(c, 'phase', PHASES);
  const bands = words(c, 'band', PRIORITY_BANDS);
  const pools = c.req.queries('pool') ?? [];
  return ({ owner, state, copies, spec }) =>
    (owners.length === 0 || owners.includes(owner)) &&
    (states.length === 0 || states.some((one) => one === state)) &&
    (phases.length === 0 || copies.some(({ phase }) => phases.some((one) => one === phase))) &&
    (pools.length === 0 || pools.includes(spec?.pool ?? '')) &&
    (bands.length === 0 ||
      (spec !== undefined && bands.includes(PRIORITY_BANDS[bandOf(readOneBundle(spec))] ?? 'bronze')));
}

function words<Word extends string>(c: Context, name: string, known: readonly Word[]): readonly Word[] {
  return (c.req.queries(name) ?? []).map((value) => {
    const word = known.find((one) => one === value);
    if (word !== undefined) return word;
    throw new ResourceMapError(
      'invalid_query',
      `The query parameter ${name} is ${quote(value)}; it can be ${known.join(', ')}.`,
    );
  });
}

const SUFFIX: Readonly<Record<WireFormat, string>> = { protobuf: 'pb', json: 'json' };

function etagOf({ item }: Pick<KeptBundle, 'item'>, format: WireFormat): string {
  return `"${item.version}.${SUFFIX[format]}"`;
}

function listEtag(kept: readonly KeptBundle[], format: WireFormat): string {
  const said = kept.map(({ bundleId, rev }) => `${bundleId}@${rev}`).join('\n');
  return `"${createHash('sha256').update(said).digest('hex').slice(0, 32)}.${SUFFIX[format]}"`;
}

function messageOf(kept: KeptBundle, format: WireFormat) {
  return recordMessage(kept.bundleId, kept.item, kept.rev, etagOf(kept, format));
}

function send(c: Context, kept: KeptBundle, status: 200 | 201, format: WireFormat): Response {
  const response = respond(c, BundleRecordSchema, messageOf(kept, format), status);
  response.headers.set('etag', etagOf(kept, format));
  return response;
}

/** A writer may have read the bundle in either format. */
function checkCondition(id: string, condition: WriteCondition, seen: KeptBundle | undefined): void {
  switch (condition.kind) {
    case 'none':
      return;
    case 'absent':
      if (seen !== undefined) throw changed(id);
      return;
    case 'present':
      if (seen === undefined) throw changed(id);
      return;
    case 'match': {
      const versions = condition.tags.flatMap((tag) => /^([0-9a-f]{32})\.(?:pb|json)$/.exec(tag)?.[1] ?? []);
      if (seen === undefined || !versions.includes(seen.item.version)) throw changed(id);
    }
  }
}

function notFound(id: string): ResourceMapError {
  return new ResourceMapError(
    'bundle_not_found',
    `No bundle ${quote(id)} is stored; GET /v1/bundles lists those that are.`,
  );
}

function unseen(id: string): ResourceMapError {
  return new ResourceMapError(
    'precondition_required',
    `Bundle ${quote(id)} is there already, and not as it was sent; to change it send If-Match with the ETag of GET /v1/bundles/${id}, or If-Match: * for whatever it is by then.`,
  );
}

function changed(id: string): ResourceMapError {
  return new ResourceMapError(
    'bundle_changed',
    `Bundle ${quote(id)} is not what the request expects to be there, and nothing was changed; GET /v1/bundles/${id} has what is, with its ETag.`,
  );
}
