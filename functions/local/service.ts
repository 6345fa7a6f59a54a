/**
 * The whole service in one process: the same apps that run as functions, mounted
 * together, on an engine of its own or on one that is given.
 */
import type { AddressInfo } from 'node:net';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { MiddlewareHandler } from 'hono';
import { DEFAULT_MEMBERSHIP, type Membership } from '../expire/membership.ts';
import { createApp } from '../http/app.ts';
import { mapRoutes } from '../map/routes.ts';
import { ChangeSignal } from '../map/wait.ts';
import { announcer } from '../notify/announce.ts';
import { eventBridgeClient } from '../notify/client.ts';
import { EventPublisher } from '../notify/publisher.ts';
import { capacityRoutes } from '../plan/routes-capacity.ts';
import { pushRoutes } from '../push/routes.ts';
import { DEFAULT_CACHE_BYTES } from '../settings.ts';
import { dynamoClient, storeOn } from '../store/client.ts';
import { createTables } from '../store/create-tables.ts';
import { DEFAULT_SHARDS, type Tables } from '../store/tables.ts';
import { jsonLinesTelemetry, type Telemetry } from '../telemetry.ts';
import { BUS_PATH, busRoutes } from './bus-routes.ts';
import { startDynalite } from './dynalite.ts';
import { LocalBus } from './event-bus.ts';
import { changesOfEndpoint, changesOfOwnEngine, type HeadChanges } from './head-changes.ts';
import { listen } from './http-server.ts';
import { indexRoutes } from './index-routes.ts';
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
  readonly telemetry?: Telemetry;
  /** Made where they do not exist. */
  readonly tables?: Tables;
  readonly membership?: Membership;
  /** Whether refreshes bring events, too. */
  readonly announceRefreshes?: boolean;
  /** Milliseconds between two sweeps. */
  readonly sweepEveryMs?: number;
}

/** A running service. */
export interface LocalService {
  readonly url: string;
  /** Takes no further request, answers those under way, and closes the engine. */
  close(): Promise<void>;
}

const LOCAL_TABLES: Tables = { heads: 'ClusterHeads', bodies: 'SnapshotBodies', shards: DEFAULT_SHARDS };

/** Starts the service; it answers once this resolves. */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const telemetry = options.telemetry ?? jsonLinesTelemetry();
  const tables = options.tables ?? LOCAL_TABLES;
  const engine = await startEngine(options.engine);
  const client = dynamoClient(engine.endpoint);
  try {
    await createTables(client, tables);
    const changes = await headChanges(options.engine, client, tables.heads, telemetry);
    const store = storeOn(client, tables);
    const bus = new LocalBus();
    const app = createApp(telemetry);
    const waiters = new ChangeSignal();
    app.use(wakeAfterWrites(waiters));
    indexRoutes(app);
    pushRoutes(app, { store, telemetry, now: Date.now });
    mapRoutes(app, { store, telemetry, now: Date.now, cacheBytes: DEFAULT_CACHE_BYTES, changes: waiters });
    capacityRoutes(app, { store, telemetry, now: Date.now });
    busRoutes(app, bus);
    const server = await listen(app, options.host, options.port);
    const { port } = server.address() as AddressInfo;
    const events = eventBridgeClient(`${httpUrl(reachable(options.host), port)}${BUS_PATH}`);
    const publisher = new EventPublisher(events, 'default');
    const announceRefreshes = options.announceRefreshes ?? false;
    changes.start(announcer({ publisher, telemetry, announceRefreshes, now: Date.now }), telemetry);
    const sweeper = startSweepTimer(
      { heads: store.heads, shards: tables.shards, telemetry },
      options.membership ?? DEFAULT_MEMBERSHIP,
      options.sweepEveryMs ?? SWEEP_EVERY_MS,
    );
    return {
      url: httpUrl(options.host, port),
      close: async () => {
        waiters.end();
        await sweeper.stop();
        // A connection whose answer is under way now must not be kept for another request.
        server.keepAliveTimeout = 1;
        // Listeners go first: their answers have no end of their own to wait for.
        bus.close();
        await changes.stop();
        events.destroy();
        await new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeIdleConnections();
        });
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

/** Whoever waits for a change looks at once when this process has made one. */
function wakeAfterWrites(changes: ChangeSignal): MiddlewareHandler {
  return async (c, next) => {
    await next();
    if ((c.req.method === 'PUT' || c.req.method === 'DELETE') && c.res.ok) changes.notify();
  };
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

function headChanges(
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

/** An address to listen on for all that a machine has is none to connect to. */
function reachable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}
