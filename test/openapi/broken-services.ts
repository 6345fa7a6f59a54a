/** The service with parts of it out of order, for the responses that a healthy one does not give. */
import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { create } from '@bufbuild/protobuf';
import { Authenticator } from '../../functions/auth/authenticator.ts';
import { BUILT_IN_CATALOGUE } from '../../functions/core/bundle/model/catalogue.ts';
import { PoolSchema } from '../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import type { App } from '../../functions/http/app-env.ts';
import { ChangeSignal } from '../../functions/http/wait.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { BundleKeeper } from '../../functions/lambdas/plan/bundle-keeper.ts';
import { bundleRoutes } from '../../functions/lambdas/plan/routes-bundle.ts';
import { capacityRoutes } from '../../functions/lambdas/plan/routes-capacity.ts';
import { claimRoutes } from '../../functions/lambdas/plan/routes-claims.ts';
import { poolRoutes } from '../../functions/lambdas/plan/routes-pools.ts';
import { storedBundleRoutes } from '../../functions/lambdas/plan/routes-stored-bundles.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { localApp } from '../../functions/local/app.ts';
import { LocalBus } from '../../functions/local/event-bus.ts';
import { listen } from '../../functions/local/http-server.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { BundleStore, bundlesTableDefinition } from '../../functions/storage/bundles.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import type { Store } from '../../functions/storage/commit.ts';
import { createTable } from '../../functions/storage/create-tables.ts';
import { claimsTableDefinition, LedgerStore } from '../../functions/storage/ledgers.ts';
import { PoolStore, poolsTableDefinition } from '../../functions/storage/pools.ts';
import { RegistrationStore } from '../../functions/storage/registrations.ts';

export interface BrokenService {
  readonly url: string;
  close(): Promise<void>;
}

const CLAIM_SETTINGS = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };
const telemetry = jsonLinesTelemetry(() => undefined);

async function serve(app: Parameters<typeof listen>[0]): Promise<BrokenService> {
  const { port, close } = await listen(app, '127.0.0.1', 0);
  return { url: `http://127.0.0.1:${port}`, close };
}

/** @param trust what looks up a token: away, or with a fault that nobody has thought of */
export function withoutTrust(trust: 'away' | 'faulty'): Promise<BrokenService> {
  const client = dynamoClient('http://127.0.0.1:1');
  if (trust === 'faulty') {
    client.middlewareStack.add(
      () => () => {
        throw new RangeError('A fault of ours.');
      },
      { step: 'initialize', priority: 'high' },
    );
  }
  const store = new RegistrationStore(client, 'trust');
  const authenticator = new Authenticator({ trust: store, telemetry, now: Date.now, loopbackIssuers: false });
  const common = {
    store: storeOn(client, { heads: 'heads', contents: 'bodies', shards: 1 }),
    pools: new PoolStore(client, 'pools'),
    ledgers: new LedgerStore(client, { name: 'claims', shards: 1 }),
    bundles: new BundleStore(client, 'bundles'),
    catalogue: BUILT_IN_CATALOGUE,
    telemetry,
  };
  return serve(
    localApp({
      ...common,
      keeper: new BundleKeeper({ ...common, settings: CLAIM_SETTINGS, now: Date.now }),
      trust: store,
      access: { access: { kind: 'tokens', authenticator }, changed: () => undefined },
      loopback: true,
      claimSettings: CLAIM_SETTINGS,
      bus: new LocalBus(),
      waiters: new ChangeSignal(),
    }),
  );
}

/** Ledgers in a table of their own. */
export async function freshLedgers(client: DynamoDBClient): Promise<LedgerStore> {
  const name = `claims-${randomUUID()}`;
  await createTable(client, claimsTableDefinition(name));
  return new LedgerStore(client, { name, shards: 4 });
}

/** Accepts claims as a process that has read every snapshot, which another has not. */
export function claimsOf(store: Store, ledgers: LedgerStore): App {
  const app = createApp(telemetry, { kind: 'open' });
  const changes = new ChangeSignal();
  claimRoutes(app, { store, ledgers, telemetry, settings: CLAIM_SETTINGS, now: Date.now, changes });
  return app;
}

/** Behind a front that carries next to nothing. */
export async function behindANarrowFront(
  store: Store,
  ledgers: LedgerStore,
  client: DynamoDBClient,
): Promise<BrokenService> {
  const app = createApp(telemetry, { kind: 'open' });
  const deps = { store, telemetry, now: Date.now, maxResponseBytes: 10 };
  pushRoutes(app, deps);
  mapRoutes(app, { ...deps, cacheBytes: 0 });
  capacityRoutes(app, deps);
  claimRoutes(app, { ...deps, ledgers, settings: CLAIM_SETTINGS, changes: new ChangeSignal() });
  const table = `pools-${randomUUID()}`;
  await createTable(client, poolsTableDefinition(table));
  bundleRoutes(app, { ...deps, pools: new PoolStore(client, table), catalogue: BUILT_IN_CATALOGUE });
  const full = `pools-${randomUUID()}`;
  await createTable(client, poolsTableDefinition(full));
  const pools = new PoolStore(client, full, 10);
  await pools.put(create(PoolSchema, { poolName: 'longer than that' }), { kind: 'new' });
  poolRoutes(app, { pools, telemetry });
  const bundleTable = `bundles-${randomUUID()}`;
  await createTable(client, bundlesTableDefinition(bundleTable));
  const bundles = new BundleStore(client, bundleTable);
  const keeper = new BundleKeeper({
    ...deps,
    ledgers,
    pools: new PoolStore(client, table),
    bundles,
    catalogue: BUILT_IN_CATALOGUE,
    settings: CLAIM_SETTINGS,
  });
  storedBundleRoutes(app, { ...deps, bundles, keeper, changes: new ChangeSignal() });
  return serve(app);
}
