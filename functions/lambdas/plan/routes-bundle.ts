/** Whether bundles can ever be placed, and where they would land now. */
import type { InstanceCatalogue } from '../../core/bundle/model/catalogue.ts';
import { MAX_BUNDLE_REQUEST_BYTES } from '../../core/bundle/model/limits.ts';
import type { Bundle, Pool, PoolDescriptor } from '../../core/bundle/model/model.ts';
import { poolKind } from '../../core/bundle/model/tiers.ts';
import { describePool, mapCandidates } from '../../core/bundle/plan/map-nodes.ts';
import { planStepwise } from '../../core/bundle/plan/plan-request.ts';
import { validateBundle } from '../../core/bundle/validate/validate.ts';
import { readOnePool } from '../../core/bundle/wire/read-pool.ts';
import { readPlanRequest, readValidateRequest } from '../../core/bundle/wire/read-request.ts';
import { planMessage, validationMessage } from '../../core/bundle/wire/write-plan.ts';
import type { ClaimSettings } from '../../core/claims/evaluate.ts';
import { freshness } from '../../core/max-age.ts';
import {
  ValidateBundleRequestSchema,
  ValidationResultSchema,
} from '../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { PlanRequestSchema, PlanResponseSchema } from '../../gen/resourcemap/bundle/v1/plan_pb.ts';
import type { App } from '../../http/app-env.ts';
import { MAX_BODY_BYTES, MAX_BYTES_WAITING } from '../../http/limits.ts';
import { responseFormat } from '../../http/media-type.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { BodyLimits } from '../../http/read-body.ts';
import { readMessage } from '../../http/read-message.ts';
import { sendMessage } from '../../http/send-message.ts';
import { ClaimReader } from '../../reading/claim-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import type { LedgerStore } from '../../storage/ledgers.ts';
import type { PoolStore } from '../../storage/pools.ts';
import { ignoresClaims } from './capacity-query.ts';
import { type MapNodes, NodesReader } from './nodes-reader.ts';
import { RequestQueue } from './request-queue.ts';
import { clientClosedRequest, inTurns } from './turns.ts';

/** Plans under way: a hard one takes hundreds of megabytes, and an easy one is not to wait for it. */
const MAX_PLANS_AT_ONCE = 2;

export interface BundleDeps {
  readonly store: Store;
  readonly pools: PoolStore;
  /** What instance types offer beyond what the map says. */
  readonly catalogue: InstanceCatalogue;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
  /** Claims that come before what is planned; absent: there are none. */
  readonly claims?: BundleClaims;
}

/** What claims are read from and by. */
export interface BundleClaims {
  readonly ledgers: LedgerStore;
  readonly settings: ClaimSettings;
}

const BUNDLE_LIMITS: BodyLimits = {
  sentBytes: MAX_BODY_BYTES,
  inflatedBytes: MAX_BUNDLE_REQUEST_BYTES,
};

export function bundleRoutes(
  app: App,
  { store, pools, catalogue, telemetry, now, maxResponseBytes, claims }: BundleDeps,
): void {
  const nodes = new NodesReader(store, telemetry);
  const behind =
    claims === undefined
      ? undefined
      : { ...claims, now, reader: new ClaimReader(store, claims.ledgers, telemetry, claims.settings) };
  const places = new RequestQueue(MAX_PLANS_AT_ONCE, MAX_BYTES_WAITING);
  const configuredPools = async (): Promise<readonly Pool[]> =>
    (await pools.list()).map(({ pool }) => readOnePool(pool));

  app.post('/v1/bundles/validate', async (c) => {
    refuseUnknownParameters(c, []);
    const { format } = responseFormat(c);
    const request = await readMessage(c, ValidateBundleRequestSchema, {
      limits: BUNDLE_LIMITS,
      mayBeEmpty: true,
    });
    const { bundle, pools: given } = readValidateRequest(request);
    const [map, configured] = await Promise.all(
      given === undefined ? [nodes.read(format), configuredPools()] : [undefined, []],
    );
    const descriptors =
      given ?? configured.map((pool) => describeFor(bundle, pool, map?.clusters ?? [], catalogue));
    const response = validationMessage(validateBundle(bundle, descriptors), map?.etag ?? '');
    return sendMessage(c, ValidationResultSchema, response, {
      maxBytes: maxResponseBytes,
      remedy: 'validate a bundle of fewer jobs',
    });
  });

  app.post('/v1/bundles/plan', async (c) => {
    refuseUnknownParameters(c, ['claims']);
    const before = ignoresClaims(c) ? undefined : behind;
    const { format } = responseFormat(c);
    const request = await readMessage(c, PlanRequestSchema, { limits: BUNDLE_LIMITS, mayBeEmpty: true });
    const { bundles, services, pools: given, candidates, maxAge } = readPlanRequest(request);
    // The map is read once there is a place: what is planned is to be as new as can be.
    const { signal } = c.req.raw;
    const planned = await places.hold({ bytes: c.get('memory').held, signal }, async () => {
      const { isFresh, staleClusters } = freshness(maxAge, now());
      const [map, pools] = await Promise.all([
        candidates === undefined ? nodes.read(format, before, isFresh) : undefined,
        given ?? configuredPools(),
      ]);
      const request = {
        bundles,
        services,
        pools,
        candidates: candidates ?? mapCandidates(map?.clusters ?? [], catalogue),
      };
      const plan = await inTurns(planStepwise(request, { catalogue }), signal);
      return plan === 'abandoned' ? plan : planMessage(plan, map?.etag ?? '', staleClusters());
    });
    if (planned === 'abandoned') return clientClosedRequest();
    return sendMessage(c, PlanResponseSchema, planned, {
      maxBytes: maxResponseBytes,
      remedy: 'plan fewer bundles at a time',
    });
  });
}

/** Of a pool that the bundle does not name, validation says no more than its name. */
function describeFor(
  { pool: own, resiliencePolicy }: Bundle,
  pool: Pool,
  clusters: MapNodes['clusters'],
  catalogue: InstanceCatalogue,
): PoolDescriptor {
  const { poolName } = pool;
  if (poolName === own || poolName === resiliencePolicy?.pool) return describePool(pool, clusters, catalogue);
  return { poolName, kind: poolKind(pool), nodeProfiles: [], clouds: [] };
}
