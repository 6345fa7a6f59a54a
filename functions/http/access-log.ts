/** A line for each request: who asked what, and what it cost. Neither bodies, nor queries, nor tokens. */
import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { LogFields } from '../runtime/telemetry.ts';
import type { AppEnv } from './app-env.ts';
import { routeName } from './route-name.ts';

export function accessLog(write: (fields: LogFields) => void): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const startMs = performance.now();
    await next();
    // By the route and not by the path, so that lines can be counted, and ids are in none of them.
    const route = matchedRoutes(c).find(({ method }) => method !== 'ALL');
    const principal = c.get('principal');
    const bytes = c.res.headers.get('content-length');
    write({
      method: c.req.method,
      route: route === undefined ? 'none' : routeName(route),
      status: c.res.status,
      ms: Math.round(performance.now() - startMs),
      // Of a stream nobody knows it before its end.
      ...(bytes === null ? {} : { bytes: Number(bytes) }),
      ...(principal?.kind === 'caller' ? { principal: principal.id, role: principal.rights.role } : {}),
    });
  };
}
