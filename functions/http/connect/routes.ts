/**
 * ResourceMapService: each RPC is a request to its route within the same app, so that permissions, limits,
 * problems and caches are those of the route, and `GetMap` is byte for byte `GET /v1/map`.
 */
import type { Context } from 'hono';
import type { App, AppEnv } from '../app-env.ts';
import { METHODS, type RouteRequest } from './methods.ts';
import type { Call } from './read-call.ts';
import { serveUnary } from './unary.ts';
import { messageResponse } from './write-response.ts';

export const RPC_ROUTE = '/resourcemap.v1.ResourceMapService/:method';

/** Headers of a call that its route reads, too. */
const PASSED = ['authorization', 'host', 'origin', 'prefer', 'sec-fetch-site'];
/** Headers of a route's response that describe its body or connection, and which the protocol sets itself. */
const OF_BODY = ['content-encoding', 'content-length', 'content-type', 'transfer-encoding'];

export function connectRoutes(app: App): void {
  const serve = (c: Context<AppEnv>): Response | Promise<Response> => {
    const name = c.req.param('method') ?? '';
    const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
    // Clients take a bare 404 for "unimplemented".
    if (method === undefined) return c.body(null, 404);
    return serveUnary(c, method.safe, (call) =>
      dispatch(app, c, call, method.request(call.message, call.format)),
    );
  };
  app.get(RPC_ROUTE, serve);
  app.post(RPC_ROUTE, serve);
}

async function dispatch(app: App, c: Context<AppEnv>, call: Call, request: RouteRequest): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of PASSED) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  headers.set('x-request-id', c.get('requestId'));
  const mediaType = call.format === 'json' ? 'application/json' : 'application/x-protobuf';
  headers.set('accept', mediaType);
  headers.set('accept-encoding', call.acceptsGzip ? 'gzip' : 'identity');
  if (request.body !== undefined) headers.set('content-type', mediaType);
  const known = c.req.header('if-none-match');
  // A client that called with POST would read a 304 as an empty map.
  if (call.protocol === 'connect-get' && known !== undefined) headers.set('if-none-match', known);
  const query = request.query === undefined || request.query.size === 0 ? '' : `?${request.query}`;
  const response = await app.request(
    new URL(request.path + query, c.req.url).href,
    {
      method: request.method,
      headers,
      signal: c.req.raw.signal,
      ...(request.body === undefined ? {} : { body: request.body as Uint8Array<ArrayBuffer> }),
    },
    c.env,
  );
  if (response.status === 304 || !response.ok) return response;
  const kept = new Headers(response.headers);
  for (const name of OF_BODY) kept.delete(name);
  const gzipped = response.headers.get('content-encoding') === 'gzip';
  const empty = call.format === 'json' ? new TextEncoder().encode('{}') : new Uint8Array();
  return messageResponse(call, response.status === 204 ? empty : response.body, gzipped, { headers: kept });
}
