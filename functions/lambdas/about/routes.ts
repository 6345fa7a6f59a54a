/** What is open to everybody: whether the service is up, what it has, and how that is described. */
import { etag, RETAINED_304_HEADERS } from 'hono/etag';
import { PERMISSIONS } from '../../auth/permissions.ts';
import type { App } from '../../http/app.ts';

/** What only the local service has is no part of the API. */
const RESOURCES = [...PERMISSIONS.keys()].filter((route) => !route.includes(' /local/'));

export function aboutRoutes(app: App): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/', (c) => c.json({ service: 'resource-map', resources: RESOURCES }));
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
