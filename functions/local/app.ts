/** Every route there is in one app, as the local service has it; deployed, each function has some of them. */
import type { MiddlewareHandler } from 'hono';
import type { InstanceCatalogue } from '../core/bundle/model/catalogue.ts';
import type { OwnerLimit } from '../core/claims/admit.ts';
import type { ClaimSettings } from '../core/claims/evaluate.ts';
import { createApp } from '../http/app.ts';
import type { App } from '../http/app-env.ts';
import { connectRoutes } from '../http/connect/routes.ts';
import { rpcErrors } from '../http/connect/rpc-errors.ts';
import type { ChangeSignal } from '../http/wait.ts';
import { aboutRoutes } from '../lambdas/about/routes.ts';
import { accessRoutes } from '../lambdas/access/routes.ts';
import { mapRoutes } from '../lambdas/map/routes.ts';
import type { BundleKeeper } from '../lambdas/plan/bundle-keeper.ts';
import { bundleRoutes } from '../lambdas/plan/routes-bundle.ts';
import { capacityRoutes } from '../lambdas/plan/routes-capacity.ts';
import { claimRoutes } from '../lambdas/plan/routes-claims.ts';
import { poolRoutes } from '../lambdas/plan/routes-pools.ts';
import { storedBundleRoutes } from '../lambdas/plan/routes-stored-bundles.ts';
import { pushRoutes } from '../lambdas/push/routes.ts';
import { DEFAULT_CACHE_BYTES, type PageLinks } from '../runtime/settings.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { BundleStore } from '../storage/bundles.ts';
import type { Store } from '../storage/commit.ts';
import type { LedgerStore } from '../storage/ledgers.ts';
import type { PoolStore } from '../storage/pools.ts';
import type { RegistrationStore } from '../storage/registrations.ts';
import type { OpenedAccess } from './auth.ts';
import { eventRoutes } from './bus-routes.ts';
import type { LocalBus } from './event-bus.ts';
import { loopbackGuard } from './loopback-guard.ts';
import { readinessRoute } from './readiness.ts';

export interface LocalAppDeps {
  readonly store: Store;
  readonly trust: RegistrationStore;
  readonly pools: PoolStore;
  readonly ledgers: LedgerStore;
  readonly bundles: BundleStore;
  readonly keeper: BundleKeeper;
  readonly claimSettings: ClaimSettings & OwnerLimit;
  readonly catalogue: InstanceCatalogue;
  readonly access: Pick<OpenedAccess, 'access' | 'changed'>;
  /** Whether only this machine reaches the service. */
  readonly loopback: boolean;
  readonly bus: LocalBus;
  readonly waiters: ChangeSignal;
  readonly telemetry: Telemetry;
  /** Milliseconds by which an agent's clock may be ahead of the service's; the rule book's 5 minutes where not given. */
  readonly maxFutureSkewMs?: number | undefined;
  /** After how long without a push a cluster leaves the map. */
  readonly omitAfterMs?: number | undefined;
  readonly page?: PageLinks | undefined;
}

export function localApp({
  store,
  trust,
  pools,
  ledgers,
  bundles,
  keeper,
  claimSettings,
  catalogue,
  access,
  loopback,
  bus,
  waiters,
  telemetry,
  maxFutureSkewMs,
  omitAfterMs,
  page = {},
}: LocalAppDeps): App {
  const app = createApp(telemetry, access.access, undefined, rpcErrors());
  if (loopback && access.access.kind === 'open') app.use(loopbackGuard());
  const common = { telemetry, now: Date.now };
  app.use(wakeAfterWrites(waiters));
  aboutRoutes(app, { auth: access.access.kind, ...page }, ['GET /local/events']);
  readinessRoute(app, store);
  accessRoutes(app, { ...common, trust, loopbackIssuers: true, changed: access.changed });
  pushRoutes(app, { ...common, store, maxFutureSkewMs, omitAfterMs });
  mapRoutes(app, { ...common, store, cacheBytes: DEFAULT_CACHE_BYTES, changes: waiters });
  const claims = { ledgers, settings: claimSettings };
  capacityRoutes(app, { ...common, store, claims, changes: waiters });
  claimRoutes(app, { ...common, store, ...claims, changes: waiters });
  bundleRoutes(app, { ...common, store, pools, catalogue, claims });
  storedBundleRoutes(app, { ...common, bundles, keeper, changes: waiters });
  poolRoutes(app, { ...common, pools });
  connectRoutes(app);
  eventRoutes(app, bus);
  return app;
}

/** Paths of POSTs that change something. */
const WOKEN = /^\/v1\/(?:claims\/|bundles\/[^/]+\/)/;

/** Requests that wait for a change look at once when this process has made one. */
function wakeAfterWrites(changes: ChangeSignal): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { method, path } = c.req;
    const writes = method === 'PUT' || method === 'DELETE' || (method === 'POST' && WOKEN.test(path));
    if (writes && c.res.ok) changes.notify();
  };
}
