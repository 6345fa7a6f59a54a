import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOGUE } from '../../functions/core/bundle/model/catalogue.ts';
import { ResourceMapService } from '../../functions/gen/resourcemap/v1/rpc_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { METHODS } from '../../functions/http/connect/methods.ts';
import { ChangeSignal } from '../../functions/http/wait.ts';
import { aboutRoutes } from '../../functions/lambdas/about/routes.ts';
import { accessRoutes } from '../../functions/lambdas/access/routes.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { BundleKeeper } from '../../functions/lambdas/plan/bundle-keeper.ts';
import { bundleRoutes } from '../../functions/lambdas/plan/routes-bundle.ts';
import { capacityRoutes } from '../../functions/lambdas/plan/routes-capacity.ts';
import { claimRoutes } from '../../functions/lambdas/plan/routes-claims.ts';
import { poolRoutes } from '../../functions/lambdas/plan/routes-pools.ts';
import { storedBundleRoutes } from '../../functions/lambdas/plan/routes-stored-bundles.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { BundleStore } from '../../functions/storage/bundles.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { LedgerStore } from '../../functions/storage/ledgers.ts';
import { PoolStore } from '../../functions/storage/pools.ts';
import { RegistrationStore } from '../../functions/storage/registrations.ts';
import type { FunctionName } from '../../infra/functions.ts';
import { routeKey } from '../../infra/http-front.ts';
import { DEFAULT_FUNCTION, ROUTES } from '../../infra/routes.ts';
import { routeOf } from './deployed/http-front.ts';

const telemetry = jsonLinesTelemetry(() => undefined);
const store = storeOn(dynamoClient('http://127.0.0.1:1'), { heads: 'heads', contents: 'bodies', shards: 1 });
const deps = {
  store,
  trust: new RegistrationStore(dynamoClient('http://127.0.0.1:1'), 'trust'),
  pools: new PoolStore(dynamoClient('http://127.0.0.1:1'), 'pools'),
  catalogue: BUILT_IN_CATALOGUE,
  telemetry,
  now: Date.now,
  cacheBytes: 0,
  loopbackIssuers: false,
  changed: () => undefined,
};

/** The requests that each function's app has a handler for, an id with a slash put in for its variable. */
function requestsOf(name: FunctionName): readonly { readonly method: string; readonly path: string }[] {
  const app = createApp(telemetry, { kind: 'open' });
  if (name === 'push') pushRoutes(app, deps);
  if (name === 'map') mapRoutes(app, { ...deps, serves: 'plain' });
  if (name === 'wait') mapRoutes(app, { ...deps, serves: 'waits' });
  if (name === 'plan') {
    capacityRoutes(app, deps);
    bundleRoutes(app, deps);
    poolRoutes(app, deps);
    const bundles = new BundleStore(dynamoClient('http://127.0.0.1:1'), 'bundles');
    const ledgers = new LedgerStore(dynamoClient('http://127.0.0.1:1'), { name: 'claims', shards: 1 });
    const settings = { maxClockAheadMs: 0, retireAfterMs: 0 };
    const keeper = new BundleKeeper({ ...deps, bundles, ledgers, settings });
    storedBundleRoutes(app, { ...deps, bundles, keeper, changes: new ChangeSignal() });
    claimRoutes(app, {
      ...deps,
      ledgers,
      settings,
      changes: new ChangeSignal(),
    });
  }
  if (name === 'access') accessRoutes(app, deps);
  if (name === 'about') aboutRoutes(app, { auth: 'tokens' });
  return app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({
      method,
      path: path
        // A parameter that excludes what are routes of their own is one segment all the same.
        .replace(/:\w+\{\(\?![^}]*\}/g, '{id}')
        .replace(/:\w+\{[^}]*\}/g, 'arn:aws:eks:eu:1:cluster/a')
        .replace(/:\w+(?=$|\/)/g, '{id}'),
    }));
}

/** Which function API Gateway calls. */
function calledFor(method: string, path: string): FunctionName {
  const key = routeOf(method, path, ROUTES.map(routeKey));
  return ROUTES.find((route) => routeKey(route) === key)?.function ?? DEFAULT_FUNCTION;
}

describe.each(['push', 'map', 'wait', 'plan', 'access', 'about'] as const)('the routes of %s', (name) => {
  const requests = requestsOf(name);

  test('are there', () => {
    expect(requests.length).toBeGreaterThan(1);
  });

  test.each(requests)('lead $method $path to it', ({ method, path }) => {
    expect(calledFor(method, path)).toBe(name);
  });
});

const RPC = '/resourcemap.v1.ResourceMapService/';
/** Requests of the methods whose route has a name in its path. */
const MESSAGES: Readonly<Record<string, object>> = {
  GetCluster: { clusterId: 'c' },
  GetSnapshot: { clusterId: 'c' },
  OmitCluster: { clusterId: 'c' },
  PushSnapshot: { snapshot: { cluster: { clusterId: 'c' } } },
  GetPool: { poolName: 'p' },
  PutPool: { pool: { poolName: 'p' } },
  DeletePool: { poolName: 'p' },
};

describe('the RPCs', () => {
  test.each(Object.entries(METHODS))('%s leads to the function of its route', (name, { safe, request }) => {
    const { method, path } = request(Buffer.from(JSON.stringify(MESSAGES[name] ?? {})), 'json');
    const verbs = ROUTES.filter((route) => route.path === RPC + name).map((route) => route.method);
    expect(verbs).toEqual(safe ? ['GET', 'POST'] : ['POST']);
    for (const verb of verbs) expect(calledFor(verb, RPC + name)).toBe(calledFor(method, path));
  });

  test('are those of the service, with its idempotency', () => {
    const { NO_SIDE_EFFECTS } = MethodOptions_IdempotencyLevel;
    expect(Object.entries(METHODS).map(([name, { safe }]) => [name, safe])).toEqual(
      ResourceMapService.methods.map(({ name, idempotency }) => [name, idempotency === NO_SIDE_EFFECTS]),
    );
    const routed = ROUTES.filter(({ path }) => path.startsWith(RPC)).map(({ path }) =>
      path.slice(RPC.length),
    );
    expect(new Set(routed)).toEqual(new Set(Object.keys(METHODS)));
  });
});

describe('the routes of API Gateway', () => {
  test.each(ROUTES.filter(({ path }) => !path.startsWith(RPC)))(
    '$method $path has a handler behind it',
    ({ method, path, function: name }) => {
      const prefix = path.replace(/\{.*$/, '');
      expect(
        requestsOf(name).some(
          (request) =>
            request.method === method &&
            (path.includes('{') ? request.path.startsWith(prefix) : request.path === path),
        ),
      ).toBe(true);
    },
  );
});
