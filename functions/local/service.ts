/**
 * The whole service in one process: the same apps that run as functions, mounted
 * together, on an engine of its own or on one that is given.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BUILT_IN_CATALOGUE, type InstanceCatalogue } from '../core/bundle/model/catalogue.ts';
import { DEFAULT_MEMBERSHIP, type Membership } from '../core/membership.ts';
import { createApp } from '../http/app.ts';
import type { App } from '../http/app-env.ts';
import { ChangeSignal } from '../http/wait.ts';
import { sweep } from '../lambdas/expire/sweep.ts';
import { announcer } from '../lambdas/notify/announce.ts';
import { claimAnnouncer } from '../lambdas/notify/announce-claims.ts';
import { eventBridgeClient } from '../lambdas/notify/client.ts';
import { EventPublisher } from '../lambdas/notify/publisher.ts';
import { BundleKeeper } from '../lambdas/plan/bundle-keeper.ts';
import { sweepClaims } from '../lambdas/sweep/sweep-claims.ts';
import { ClaimReader } from '../reading/claim-reader.ts';
import type { PageLinks } from '../runtime/settings.ts';
import { jsonLinesTelemetry, type Telemetry } from '../runtime/telemetry.ts';
import { BundleStore, bundlesTableDefinition } from '../storage/bundles.ts';
import { dynamoClient, storeOn } from '../storage/client.ts';
import { createTable, createTables } from '../storage/create-tables.ts';
import { claimsTableDefinition, LedgerStore } from '../storage/ledgers.ts';
import { PoolStore, poolsTableDefinition } from '../storage/pools.ts';
import { RegistrationStore, registrationsTableDefinition } from '../storage/registrations.ts';
import { DEFAULT_SHARDS, type Tables } from '../storage/tables.ts';
import type { LocalAccess } from './access.ts';
import { localApp } from './app.ts';
import { openAccess } from './auth.ts';
import { ROUND_EVERY_MS, startBundleTimer } from './bundle-timer.ts';
import { putEventsRoutes } from './bus-routes.ts';
import { startDynalite } from './dynalite.ts';
import { LocalBus } from './event-bus.ts';
import { changesOfEndpoint, changesOfOwnEngine, type HeadChanges } from './head-changes.ts';
import { listen } from './http-server.ts';
import { isLoopback, loopbackGuard } from './loopback-guard.ts';
import { SWEEP_EVERY_MS, startSweepTimer } from './sweep-timer.ts';

/** Where the data is: a folder, memory, or a DynamoDB that somebody else runs. */
export type Engine =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'memory' }
  | { readonly kind: 'endpoint'; readonly endpoint: string };

export interface ServiceOptions {
  readonly engine: Engine;
  /** 0 picks a free one. */
  readonly port: number;
  readonly host: string;
  /** Absent: errors alone are logged, on standard error. */
  readonly telemetry?: Telemetry;
  /** Made where they do not exist. */
  readonly tables?: Tables;
  readonly membership?: Membership;
  /** Milliseconds by which an agent's clock may be ahead of the service's. */
  readonly maxFutureSkewMs?: number;
  /** Whether refreshes bring events, too. */
  readonly announceRefreshes?: boolean;
  /** Milliseconds between two sweeps. */
  readonly sweepEveryMs?: number;
  /** Milliseconds between two rounds over the stored bundles. */
  readonly roundEveryMs?: number;
  /** What instance types offer; what is built in, where not given. */
  readonly catalogue?: InstanceCatalogue;
  /** Where people sign in, and where the history is. */
  readonly page?: PageLinks;
  /** Whether callers need a token. Absent: they do not. */
  readonly access?: LocalAccess;
}

/** A running service. */
export interface LocalService {
  readonly url: string;
  /** The token of an admin, made since there was none: it is given once, here. */
  readonly firstAdminToken?: string;
  /** Takes no further request, answers those under way, and closes the engine. */
  close(): Promise<void>;
}

const LOCAL_TABLES: Tables = { heads: 'ClusterHeads', contents: 'SnapshotBodies', shards: DEFAULT_SHARDS };

const TRUST_TABLE = 'Trust';

const POOLS_TABLE = 'Pools';

const CLAIMS_TABLE = 'Claims';

const BUNDLES_TABLE = 'Bundles';

/** As the rule book has it where no setting says otherwise. */
const MAX_CLOCK_AHEAD_MS = 5 * 60_000;

const LOOPBACK = '127.0.0.1';

/** Starts the service; it answers once this resolves. */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const telemetry = options.telemetry ?? jsonLinesTelemetry(undefined, false, 'error');
  const tables = options.tables ?? LOCAL_TABLES;
  const engine = await startEngine(options.engine);
  const client = dynamoClient(engine.endpoint);
  try {
    await createTables(client, tables);
    const changes = await changesOf(options.engine, client, tables.heads, telemetry);
    const store = storeOn(client, tables);
    await createTable(client, registrationsTableDefinition(TRUST_TABLE));
    const trust = new RegistrationStore(client, TRUST_TABLE);
    await createTable(client, poolsTableDefinition(POOLS_TABLE));
    const pools = new PoolStore(client, POOLS_TABLE);
    await createTable(client, claimsTableDefinition(CLAIMS_TABLE));
    const claimChanges = await changesOf(options.engine, client, CLAIMS_TABLE, telemetry);
    const ledgers = new LedgerStore(client, { name: CLAIMS_TABLE, shards: tables.shards });
    await createTable(client, bundlesTableDefinition(BUNDLES_TABLE));
    const bundles = new BundleStore(client, BUNDLES_TABLE);
    const access = await openAccess(options.access, trust, telemetry);
    const { firstAdminToken } = access;
    const bus = new LocalBus();
    const waiters = new ChangeSignal();
    const { maxFutureSkewMs, catalogue = BUILT_IN_CATALOGUE, membership = DEFAULT_MEMBERSHIP } = options;
    const claimSettings = {
      maxClockAheadMs: maxFutureSkewMs ?? MAX_CLOCK_AHEAD_MS,
      retireAfterMs: membership.retireAfterMs,
    };
    const keeper = new BundleKeeper({
      store,
      ledgers,
      pools,
      bundles,
      catalogue,
      telemetry,
      settings: claimSettings,
      now: Date.now,
    });
    const app = localApp({
      store,
      trust,
      pools,
      ledgers,
      bundles,
      keeper,
      claimSettings,
      catalogue,
      access,
      loopback: isLoopback(options.host),
      bus,
      waiters,
      telemetry,
      maxFutureSkewMs,
      omitAfterMs: membership.omitAfterMs,
      page: options.page,
    });
    const server = await listen(app, options.host, options.port);
    const busServer = await listen(busApp(bus, telemetry), LOOPBACK, 0);
    const events = eventBridgeClient(httpUrl(LOOPBACK, busServer.port));
    const publisher = new EventPublisher(events, 'default');
    const announceRefreshes = options.announceRefreshes ?? false;
    changes.start(
      announcer({ publisher, telemetry, announceRefreshes, contents: store.contents, now: Date.now }),
      telemetry,
    );
    claimChanges.start(claimAnnouncer({ publisher, telemetry, now: Date.now }), telemetry);
    const { heads } = store;
    const { shards } = tables;
    const reader = new ClaimReader(store, ledgers, telemetry, claimSettings);
    const sweeper = startSweepTimer(async () => {
      await sweep({ heads, shards, telemetry }, membership, Date.now());
      await sweepClaims({ ledgers, reader, heads, shards, telemetry }, Date.now);
    }, options.sweepEveryMs ?? SWEEP_EVERY_MS);
    const rounds = startBundleTimer(keeper, telemetry, waiters, options.roundEveryMs ?? ROUND_EVERY_MS);
    return {
      url: httpUrl(options.host, server.port),
      ...(firstAdminToken === undefined ? {} : { firstAdminToken }),
      close: async () => {
        waiters.end();
        await sweeper.stop();
        await rounds.stop();
        // Listeners go first: their answers have no end of their own to wait for.
        bus.close();
        await Promise.all([changes.stop(), claimChanges.stop()]);
        events.destroy();
        await server.close();
        await busServer.close();
        client.destroy();
        await engine.close();
      },
    };
  } catch (error) {
    client.destroy();
    await engine.close();
    throw error;
  }
}

/**
 * The bus takes events on a port of its own that only this machine reaches: the client of
 * EventBridge has no token of ours, and nobody else may put events on it.
 */
function busApp(bus: LocalBus, telemetry: Telemetry): App {
  const app = createApp(telemetry, { kind: 'open' });
  app.use(loopbackGuard());
  putEventsRoutes(app, bus);
  return app;
}

async function startEngine(engine: Engine): Promise<{ endpoint: string; close(): Promise<void> }> {
  switch (engine.kind) {
    case 'endpoint':
      return { endpoint: engine.endpoint, close: async () => undefined };
    case 'memory':
      return startDynalite();
    case 'folder':
      return startDynalite(engine.folder);
  }
}

function changesOf(
  engine: Engine,
  client: DynamoDBClient,
  table: string,
  telemetry: Telemetry,
): Promise<HeadChanges> {
  return engine.kind === 'endpoint'
    ? changesOfEndpoint(client, engine.endpoint, table, telemetry)
    : Promise.resolve(changesOfOwnEngine(client, table));
}

function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
