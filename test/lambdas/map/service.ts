/** The real routes on a real store behind a real HTTP server. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { type Client, createClient } from '../../../functions/client/client.ts';
import { createApp } from '../../../functions/http/app.ts';
import type { App } from '../../../functions/http/app-env.ts';
import { ChangeSignal } from '../../../functions/http/wait.ts';
import type { MapDeps } from '../../../functions/lambdas/map/deps.ts';
import { mapRoutes } from '../../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../../functions/lambdas/push/routes.ts';
import type { LogFields } from '../../../functions/runtime/telemetry.ts';
import type { Store } from '../../../functions/storage/commit.ts';

export interface TestService {
  readonly url: string;
  readonly client: Client;
  /** Messages of the error log, each with the cluster that it is about. */
  readonly errors: readonly string[];
  readonly changes: ChangeSignal;
  close(): Promise<void>;
}

/** What the routes of the service are given. */
export type ServedDeps = Pick<MapDeps, 'store' | 'telemetry' | 'now'>;

/** Serves the store; the client does not retry, so that nothing is hidden. */
export async function serveStore(
  store: Store,
  options: Partial<MapDeps> = {},
  extend: (app: App, deps: ServedDeps) => void = () => undefined,
): Promise<TestService> {
  const errors: string[] = [];
  const telemetry = {
    warn: () => undefined,
    error: (message: string, fields: LogFields) => void errors.push(`${message}: ${fields.clusterId}`),
    count: () => undefined,
    gauge: () => undefined,
  };
  const changes = new ChangeSignal();
  const app = createApp(telemetry, { kind: 'open' });
  const deps: ServedDeps = { store, telemetry, now: options.now ?? Date.now };
  extend(app, deps);
  pushRoutes(app, deps);
  mapRoutes(app, { ...deps, cacheBytes: 1_000_000, changes, ...options });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false });
  if (!server.listening) await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    client: createClient({ baseUrl: url, retry: { attempts: 1, baseMs: 0, capMs: 0 } }),
    errors,
    changes,
    close: async () => {
      changes.end();
      server.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
