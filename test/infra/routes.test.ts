import { describe, expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/map/routes.ts';
import { capacityRoutes } from '../../functions/plan/routes-capacity.ts';
import { pushRoutes } from '../../functions/push/routes.ts';
import { dynamoClient, storeOn } from '../../functions/store/client.ts';
import { jsonLinesTelemetry } from '../../functions/telemetry.ts';
import type { FunctionName } from '../../infra/functions.ts';
import { routeKey } from '../../infra/http-front.ts';
import { DEFAULT_FUNCTION, ROUTES } from '../../infra/routes.ts';
import { routeOf } from './deployed/http-front.ts';

const telemetry = jsonLinesTelemetry(() => undefined);
const store = storeOn(dynamoClient('http://127.0.0.1:1'), { heads: 'heads', bodies: 'bodies', shards: 1 });
const deps = { store, telemetry, now: Date.now, cacheBytes: 0 };

/** The requests that each function's app has a handler for, an id with a slash put in for its variable. */
function requestsOf(name: FunctionName): readonly { readonly method: string; readonly path: string }[] {
  const app = createApp(telemetry);
  if (name === 'push') pushRoutes(app, deps);
  if (name === 'map') mapRoutes(app, deps);
  if (name === 'plan') capacityRoutes(app, deps);
  return app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({
      method,
      path: path.replace(/:\w+\{[^}]*\}/g, 'arn:aws:eks:eu:1:cluster/a'),
    }));
}

/** Which function API Gateway calls. */
function calledFor(method: string, path: string): FunctionName {
  const key = routeOf(method, path, ROUTES.map(routeKey));
  return ROUTES.find((route) => routeKey(route) === key)?.function ?? DEFAULT_FUNCTION;
}

describe.each(['push', 'map', 'plan'] as const)('the routes of %s', (name) => {
  const requests = requestsOf(name);

  test('are there', () => {
    expect(requests.length).toBeGreaterThan(1);
  });

  test.each(requests)('lead $method $path to it', ({ method, path }) => {
    expect(calledFor(method, path)).toBe(name);
  });
});

describe('the routes of API Gateway', () => {
  test.each(ROUTES)('$method $path has a handler behind it', ({ method, path, function: name }) => {
    const prefix = path.replace(/\{.*$/, '');
    expect(
      requestsOf(name).some(
        (request) =>
          request.method === method &&
          (path.includes('{') ? request.path.startsWith(prefix) : request.path === path),
      ),
    ).toBe(true);
  });
});
