/** What is open to everybody: whether the service is up, what it has, and how that is described. */
import { etag, RETAINED_304_HEADERS } from 'hono/etag';
import { PERMISSIONS } from '../../auth/permissions.ts';
import type { App } from '../../http/app-env.ts';
import { isApiRoute } from '../../http/route-name.ts';
import { VERSION } from '../../runtime/version.ts';
import { type PageSettings, pageRoutes } from './page-routes.ts';

const RESOURCES = [...PERMISSIONS.keys()].filter(isApiRoute);

/** @param more routes of this service that are not of the API */
export function aboutRoutes(app: App, page: PageSettings, more: readonly string[] = []): void {
  // An orchestrator polls /livez, and a load balancer of old /healthz: neither asks the store.
  for (const path of ['/healthz', '/livez']) app.get(path, (c) => c.json({ status: 'ok' }));
  app.get('/version', (c) => c.json({ version: VERSION }));
  pageRoutes(app, page, VERSION);
  app.get('/', (c) => c.json({ service: 'resource-map', resources: [...RESOURCES, ...more] }));
  app.get(
    '/openapi.json',
    etag({ retainedHeaders: [...RETAINED_304_HEADERS, 'x-request-id'] }),
    async (c) => {
      // Loaded when it is asked for: a cold start for the sake of /healthz does not pay for it.
      const { default: document } = await import('./openapi.json', { with: { type: 'json' } });
      return c.json(document, 200, { 'cache-control': 'no-cache' });
    },
  );
}
