/** What is open to everybody: whether the service is up, and what it has. */
import type { App } from '../http/app.ts';

export function indexRoutes(app: App): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/', (c) => {
    const resources = [
      ...new Set(app.routes.filter((r) => r.method !== 'ALL').map((r) => `${r.method} ${readable(r.path)}`)),
    ];
    return c.json({ service: 'resource-map', resources });
  });
}

/** A route as a caller writes it: without the pattern of its parameter. */
function readable(path: string): string {
  return path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
}
