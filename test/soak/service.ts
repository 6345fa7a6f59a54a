/** One process of the service, for the soak: its argument says where, and it prints `ready` once it listens. */
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import type { Tables } from '../../functions/storage/tables.ts';

export interface ServiceArgument {
  readonly endpoint: string;
  readonly tables: Tables;
  readonly port: number;
}

const CACHE_BYTES = 64 * 1024 * 1024;

const { endpoint, tables, port } = JSON.parse(process.argv[2] ?? '{}') as ServiceArgument;
const telemetry = {
  warn: () => undefined,
  // A request that its client gave up, or DynamoDB Local under load, is no fault; the clients judge.
  error: (message: string, { cause }: { cause?: unknown }) => {
    if (!/StoreUnavailable|aborted/i.test(String(cause))) console.error(`${message}: ${String(cause)}`);
  },
  count: () => undefined,
  gauge: () => undefined,
};
const app = createApp(telemetry, { kind: 'open' });
const store = storeOn(dynamoClient(endpoint), tables);
pushRoutes(app, { telemetry, now: Date.now, store });
mapRoutes(app, { telemetry, now: Date.now, store, cacheBytes: CACHE_BYTES });
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects: false });
if (!server.listening) await once(server, 'listening');
console.log('ready');
