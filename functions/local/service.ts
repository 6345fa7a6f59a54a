/**
 * The whole service in one process: the same apps that run as functions, mounted
 * together, on an engine of its own or on one that is given.
 */
import type { AddressInfo } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { createApp } from '../http/app.ts';
import { mapRoutes } from '../map/routes.ts';
import { ChangeSignal } from '../map/wait.ts';
import { pushRoutes } from '../push/routes.ts';
import { DEFAULT_CACHE_BYTES } from '../settings.ts';
import { dynamoClient, storeOn } from '../store/client.ts';
import { createTables } from '../store/create-tables.ts';
import { DEFAULT_SHARDS, type Tables } from '../store/tables.ts';
import { jsonLinesTelemetry, type Telemetry } from '../telemetry.ts';
import { startDynalite } from './dynalite.ts';
import { listen } from './http-server.ts';
import { indexRoutes } from './index-routes.ts';

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
  const engine = await startEngine(options.engine);
  const client = dynamoClient(engine.endpoint);
  try {
    await createTables(client, LOCAL_TABLES);
    const store = storeOn(client, LOCAL_TABLES);
    const app = createApp(telemetry);
    const changes = new ChangeSignal();
    app.use(wakeAfterWrites(changes));
    indexRoutes(app);
    pushRoutes(app, { store, telemetry, now: Date.now });
    mapRoutes(app, { store, telemetry, now: Date.now, cacheBytes: DEFAULT_CACHE_BYTES, changes });
    const server = await listen(app, options.host, options.port);
    const { port } = server.address() as AddressInfo;
    const host = options.host.includes(':') ? `[${options.host}]` : options.host;
    return {
      url: `http://${host}:${port}`,
      close: async () => {
        changes.end();
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
