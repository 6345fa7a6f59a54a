/** Capacity and fit on a real store behind a real HTTP server, with pushes to fill it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { type Client, createClient } from '../../functions/client/client.ts';
import { createApp } from '../../functions/http/app.ts';
import { type CapacityDeps, capacityRoutes } from '../../functions/plan/routes-capacity.ts';
import { pushRoutes } from '../../functions/push/routes.ts';
import type { Store } from '../../functions/store/commit.ts';
import type { LogFields } from '../../functions/telemetry.ts';

export interface TestService {
  readonly url: string;
  readonly client: Client;
  /** Messages of the error log, each with the cluster that it is about. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

/** Serves the store; the client does not retry, so that nothing is hidden. */
export async function serveStore(store: Store, options: Partial<CapacityDeps> = {}): Promise<TestService> {
  const errors: string[] = [];
  const telemetry = {
    warn: () => undefined,
    error: (message: string, fields: LogFields) => void errors.push(`${message}: ${fields.clusterId}`),
    count: () => undefined,
    gauge: () => undefined,
  };
  const app = createApp(telemetry, { kind: 'open' });
  pushRoutes(app, { store, telemetry, now: Date.now });
  capacityRoutes(app, { store, telemetry, now: Date.now, ...options });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false });
  if (!server.listening) await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    client: createClient({ baseUrl: url, retry: { attempts: 1, baseMs: 0, capMs: 0 } }),
    errors,
    close: async () => {
      server.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
