/** What is open to everybody: whether the service is up, and what it has. */
import type { App } from '../http/app.ts';
import { PERMISSIONS } from '../http/auth/permissions.ts';

/** What only the local service has is no part of the API. */
const RESOURCES = [...PERMISSIONS.keys()].filter((route) => !route.includes(' /local/'));

export function aboutRoutes(app: App): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/', (c) => c.json({ service: 'resource-map', resources: RESOURCES }));
}
