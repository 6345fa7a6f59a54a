/** Claims over HTTP: what one scheduler decided for, no other decides for again. */
import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { maySeeCluster, ownerOf } from '../../auth/principal.ts';
import type { OwnerLimit } from '../../core/claims/admit.ts';
import {
  confirmClaim,
  endOfClaim,
  evaluateSituation,
  type FoundClaim,
  releaseClaim,
  renewClaim,
} from '../../core/claims/change.ts';
import { type ClaimId, parseClaimId } from '../../core/claims/claim-id.ts';
import { confirmedTtlMs, heldTtlMs, parseClaimRequest } from '../../core/claims/claim-request.ts';
import type { ClaimSettings } from '../../core/claims/evaluate.ts';
import { MAX_CLAIM_BYTES, MAX_NOTE_BYTES } from '../../core/claims/limits.ts';
import { claimMessage } from '../../core/claims/message.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import { clusterIdFault } from '../../core/snapshot/rules/ids.ts';
import { compareUtf8 } from '../../core/utf8-order.ts';
import {
  type Claim,
  ClaimListSchema,
  ClaimRenewalSchema,
  ClaimRequestSchema,
  ClaimSchema,
  ClaimState,
} from '../../gen/resourcemap/v1/claims_pb.ts';
import type { App, AppEnv } from '../../http/app-env.ts';
import { knownRepresentations } from '../../http/conditional.ts';
import { responseFormat } from '../../http/media-type.ts';
import { preferredWaitSeconds } from '../../http/prefer.ts';
import { booleanParameter, refuseUnknownParameters } from '../../http/query.ts';
import { readMessage } from '../../http/read-message.ts';
import { respond } from '../../http/respond.ts';
import { sendMessage } from '../../http/send-message.ts';
import { REVALIDATE } from '../../http/send-pieces.ts';
import type { ChangeSignal } from '../../http/wait.ts';
import { WaitLimiter } from '../../http/wait-limiter.ts';
import { ClaimReader } from '../../reading/claim-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import type { LedgerStore } from '../../storage/ledgers.ts';
import { ClaimService } from './claim-service.ts';
import { clientClosedRequest } from './turns.ts';

export interface ClaimDeps {
  readonly store: Store;
  readonly ledgers: LedgerStore;
  readonly telemetry: Telemetry;
  readonly settings: ClaimSettings & OwnerLimit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly changes: ChangeSignal;
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
}

const CLAIMS_PATH = '/v1/claims/';
const CLAIM_ROUTE = '/v1/claims/:id';
const CLAIM_LIMITS = { sentBytes: MAX_CLAIM_BYTES, inflatedBytes: MAX_CLAIM_BYTES };

/** Names of states in a query, as the API writes them and short. */
const STATES: ReadonlyMap<string, ClaimState> = new Map(
  [
    ClaimState.HELD,
    ClaimState.CONFIRMED,
    ClaimState.FULFILLED,
    ClaimState.RELEASED,
    ClaimState.EXPIRED,
    ClaimState.BROKEN,
  ].flatMap((state): [string, ClaimState][] => [
    [`CLAIM_STATE_${ClaimState[state]}`, state],
    [ClaimState[state].toLowerCase(), state],
  ]),
);

export function claimRoutes(app: App, deps: ClaimDeps): void {
  const { store, ledgers, telemetry, settings, now, changes, maxResponseBytes } = deps;
  const reader = new ClaimReader(store, ledgers, telemetry, settings);
  const service = new ClaimService({ ledgers, reader, telemetry, settings, now });
  const waits = new WaitLimiter();

  const send = (c: Context, clusterId: string, claim: FoundClaim, status: 200 | 201 = 200): Response =>
    respond(c, ClaimSchema, claimMessage(clusterId, claim, now()), status);

  app.put(CLAIM_ROUTE, async (c) => {
    refuseUnknownParameters(c, ['cluster', 'dry_run']);
    const clusterId = clusterOf(c);
    const id = idOf(c);
    const dryRun = booleanParameter(c, 'dry_run');
    responseFormat(c);
    const request = parseClaimRequest(
      await readMessage(c, ClaimRequestSchema, { limits: CLAIM_LIMITS, mayBeEmpty: true }),
    );
    const owner = ownerOf(c.get('principal'));
    try {
      const accepted = await service.accept({
        clusterId,
        id,
        owner,
        request,
        dryRun,
        signal: c.req.raw.signal,
      });
      if (accepted === 'abandoned') return clientClosedRequest();
      return send(c, clusterId, accepted.claim, accepted.created && !dryRun ? 201 : 200);
    } catch (error) {
      if (error instanceof ResourceMapError) telemetry.count('ClaimsRefused', 1, { code: error.code });
      throw error;
    }
  });

  app.get(CLAIM_ROUTE, async (c) => {
    refuseUnknownParameters(c, ['cluster']);
    const clusterId = clusterOf(c);
    if (!maySeeCluster(c.get('principal'), clusterId)) {
      throw new ResourceMapError('forbidden', 'The token is for the agent of another cluster.', {
        field: 'cluster',
        value: clusterId,
      });
    }
    const id = idOf(c);
    responseFormat(c);
    const claim = await waits.pollUntil(
      c.get('principal'),
      () => service.find(clusterId, id),
      (found) => endOfClaim(found) !== undefined,
      { changes, waitMs: preferredWaitSeconds(c) * 1_000, signal: c.req.raw.signal },
    );
    return send(c, clusterId, claim);
  });

  app.post(`${CLAIM_ROUTE}/confirm`, async (c) => {
    refuseUnknownParameters(c, ['cluster']);
    const clusterId = clusterOf(c);
    const id = idOf(c, '/confirm');
    responseFormat(c);
    const ttlMs = confirmedTtlMs((await renewalOf(c)).ttl);
    const owner = ownerOf(c.get('principal'));
    return send(
      c,
      clusterId,
      await service.change(clusterId, id, true, (situation) => confirmClaim(situation, id, owner, ttlMs)),
    );
  });

  app.post(`${CLAIM_ROUTE}/renew`, async (c) => {
    refuseUnknownParameters(c, ['cluster']);
    const clusterId = clusterOf(c);
    const id = idOf(c, '/renew');
    responseFormat(c);
    const { ttl } = await renewalOf(c);
    const ttlMsOf = (state: ClaimState): number =>
      state === ClaimState.CONFIRMED ? confirmedTtlMs(ttl) : heldTtlMs(ttl);
    const owner = ownerOf(c.get('principal'));
    return send(
      c,
      clusterId,
      await service.change(clusterId, id, true, (situation) => renewClaim(situation, id, owner, ttlMsOf)),
    );
  });

  app.delete(CLAIM_ROUTE, async (c) => {
    refuseUnknownParameters(c, ['cluster', 'reason', 'never_started']);
    const clusterId = clusterOf(c);
    const id = idOf(c);
    const neverStarted = booleanParameter(c, 'never_started');
    const reason = c.req.query('reason') ?? '';
    if (Buffer.byteLength(reason) > MAX_NOTE_BYTES) {
      throw new ResourceMapError(
        'invalid_query',
        `The reason has ${Buffer.byteLength(reason)} bytes; at most ${MAX_NOTE_BYTES} are kept.`,
        { field: 'reason', limit: MAX_NOTE_BYTES },
      );
    }
    responseFormat(c);
    const principal = c.get('principal');
    const mayReleaseAny = principal.kind === 'caller' && principal.rights.role === 'admin';
    const release = { owner: ownerOf(principal), mayReleaseAny, neverStarted, reason };
    return send(
      c,
      clusterId,
      await service.change(clusterId, id, false, (situation, fence) =>
        releaseClaim(situation, id, release, fence),
      ),
    );
  });

  app.get('/v1/claims', async (c) => {
    refuseUnknownParameters(c, ['cluster', 'owner', 'job', 'state']);
    const { format } = responseFormat(c);
    const isKnown = knownRepresentations(c);
    const filter = claimFilter(c);
    const accepts = (claim: Claim): boolean =>
      maySeeCluster(c.get('principal'), claim.clusterId) && filter(claim);
    const clusters = (c.req.queries('cluster') ?? []).map(validClusterId);
    const read = async () => {
      const nowMs = now();
      const stored = (
        clusters.length === 0
          ? await ledgers.readAll()
          : await Promise.all(clusters.map((id) => ledgers.read(id)))
      )
        .filter(({ ledger }) => ledger.holds.length > 0)
        .sort((a, b) => compareUtf8(a.clusterId, b.clusterId));
      const claims: Claim[] = [];
      for (const one of stored) {
        const { situation } = await reader.evaluable(one, await store.heads.read(one.clusterId), nowMs);
        const evaluated = new Map(
          evaluateSituation(situation).claims.map((claim) => [claim.hold.fence, claim]),
        );
        for (const hold of one.ledger.holds) {
          const claim = evaluated.get(hold.fence);
          const found: FoundClaim =
            claim === undefined ? { kind: 'tombstone', hold } : { kind: 'evaluated', claim };
          claims.push(claimMessage(one.clusterId, found, nowMs));
        }
      }
      const shown = claims.filter(accepts);
      return { claims: shown, etag: `"${digestOf(shown)}.${format === 'json' ? 'json' : 'pb'}"` };
    };
    const { claims, etag } = await waits.pollUntil(c.get('principal'), read, (seen) => !isKnown(seen.etag), {
      changes,
      waitMs: preferredWaitSeconds(c) * 1_000,
      signal: c.req.raw.signal,
    });
    if (isKnown(etag)) return c.body(null, 304, { ...REVALIDATE, etag });
    const response = sendMessage(c, ClaimListSchema, create(ClaimListSchema, { claims }), {
      maxBytes: maxResponseBytes,
      remedy: 'narrow it with cluster, owner, job or state',
    });
    response.headers.set('etag', etag);
    return response;
  });
}

/** Over what the claims are, without what merely passes with time. */
function digestOf(claims: readonly Claim[]): string {
  const said = claims.map(({ expiresIn, endedAt, $typeName, ...claim }) => claim);
  const json = JSON.stringify(said, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return createHash('sha256').update(json).digest('hex').slice(0, 32);
}

function claimFilter(c: Context<AppEnv>): (claim: Claim) => boolean {
  const owners = (c.req.queries('owner') ?? []).map((owner) =>
    owner === 'self' ? ownerOf(c.get('principal')) : owner,
  );
  const jobs = c.req.queries('job') ?? [];
  const states = (c.req.queries('state') ?? []).map((name) => {
    const state = STATES.get(name);
    if (state !== undefined) return state;
    throw new ResourceMapError(
      'invalid_query',
      `The query parameter state is ${quote(name)}; it can be ${[...STATES.keys()].filter((key) => key === key.toLowerCase()).join(', ')}.`,
    );
  });
  const accepts = <T>(values: readonly T[], value: T): boolean =>
    values.length === 0 || values.includes(value);
  return ({ owner, jobId, state }) =>
    accepts(owners, owner) && accepts(jobs, jobId) && accepts(states, state);
}

async function renewalOf(c: Context<AppEnv>) {
  // Without a body the usual time is meant.
  if (c.req.header('content-type') === undefined && c.req.header('content-length') === undefined)
    return create(ClaimRenewalSchema);
  if (c.req.header('content-length') === '0') return create(ClaimRenewalSchema);
  return readMessage(c, ClaimRenewalSchema, { limits: CLAIM_LIMITS, mayBeEmpty: true });
}

function idOf(c: Context, suffix = ''): ClaimId {
  const encoded = c.req.path.slice(CLAIMS_PATH.length, c.req.path.length - suffix.length);
  return parseClaimId(encoded, 'The claim id in the URL');
}

/** @throws ResourceMapError `invalid_query`, `invalid_cluster_id` */
function clusterOf(c: Context): string {
  const [clusterId, another] = c.req.queries('cluster') ?? [];
  if (clusterId === undefined || another !== undefined) {
    throw new ResourceMapError(
      'invalid_query',
      `The URL has ${another === undefined ? 'no' : 'more than one'} query parameter cluster; a claim is in one cluster, so write ?cluster= with its id.`,
      { field: 'cluster' },
    );
  }
  return validClusterId(clusterId);
}

/** @throws ResourceMapError `invalid_cluster_id` */
function validClusterId(clusterId: string): string {
  const fault = clusterIdFault(clusterId);
  if (fault === undefined) return clusterId;
  throw new ResourceMapError('invalid_cluster_id', `The cluster id ${fault}.`, {
    field: 'cluster',
    value: clusterId,
  });
}
