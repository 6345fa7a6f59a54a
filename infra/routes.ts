/**
 * Which function answers which request. A cluster's id may hold slashes, and API Gateway
 * has decoded them, so its routes end in a greedy variable and go by method.
 */
import type { FunctionName } from './functions.ts';

export interface Route {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly function: FunctionName;
  /** Whose rate it counts towards. */
  readonly rate: 'pushes' | 'reads';
}

export const ROUTES: readonly Route[] = [
  { method: 'PUT', path: '/v1/clusters/{id+}', function: 'push', rate: 'pushes' },
  { method: 'DELETE', path: '/v1/clusters/{id+}', function: 'push', rate: 'reads' },
  { method: 'POST', path: '/v1/snapshots/validate', function: 'push', rate: 'pushes' },
  { method: 'GET', path: '/v1/clusters', function: 'map', rate: 'reads' },
  { method: 'GET', path: '/v1/clusters/{id+}', function: 'map', rate: 'reads' },
  { method: 'GET', path: '/v1/map', function: 'map', rate: 'reads' },
  { method: 'GET', path: '/v1/map/clock', function: 'map', rate: 'reads' },
  { method: 'POST', path: '/v1/map/sync', function: 'map', rate: 'reads' },
  { method: 'GET', path: '/metrics', function: 'map', rate: 'reads' },
  { method: 'GET', path: '/metrics/capacity', function: 'plan', rate: 'reads' },
  { method: 'GET', path: '/v1/wait/map', function: 'wait', rate: 'reads' },
  { method: 'POST', path: '/v1/wait/map/sync', function: 'wait', rate: 'reads' },
  { method: 'GET', path: '/v1/capacity', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/capacity/fit', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/bundles/validate', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/bundles/plan', function: 'plan', rate: 'reads' },
  { method: 'GET', path: '/v1/bundles', function: 'plan', rate: 'reads' },
  { method: 'GET', path: '/v1/bundles/{id}', function: 'plan', rate: 'reads' },
  { method: 'PUT', path: '/v1/bundles/{id}', function: 'plan', rate: 'reads' },
  { method: 'DELETE', path: '/v1/bundles/{id}', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/bundles/{id}/stop-time', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/bundles/{id}/copies/{copy}/move', function: 'plan', rate: 'reads' },
  { method: 'GET', path: '/v1/claims', function: 'plan', rate: 'reads' },
  { method: 'GET', path: '/v1/claims/{id}', function: 'plan', rate: 'reads' },
  { method: 'PUT', path: '/v1/claims/{id}', function: 'plan', rate: 'reads' },
  { method: 'DELETE', path: '/v1/claims/{id}', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/claims/{id}/confirm', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/claims/{id}/renew', function: 'plan', rate: 'reads' },
  ...rpcRoutes(),
  { method: 'GET', path: '/v1/pools', function: 'plan', rate: 'reads' },
  { method: 'GET', path: '/v1/pools/{name}', function: 'plan', rate: 'reads' },
  { method: 'PUT', path: '/v1/pools/{name}', function: 'plan', rate: 'reads' },
  { method: 'DELETE', path: '/v1/pools/{name}', function: 'plan', rate: 'reads' },
  { method: 'POST', path: '/v1/registrations', function: 'access', rate: 'reads' },
  { method: 'GET', path: '/v1/registrations', function: 'access', rate: 'reads' },
  { method: 'DELETE', path: '/v1/registrations/{id}', function: 'access', rate: 'reads' },
  { method: 'POST', path: '/v1/tokens', function: 'access', rate: 'reads' },
  { method: 'GET', path: '/v1/tokens', function: 'access', rate: 'reads' },
  { method: 'DELETE', path: '/v1/tokens/{id}', function: 'access', rate: 'reads' },
  { method: 'GET', path: '/', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/healthz', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/livez', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/version', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/ui', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/ui/config.json', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/ui/{file}', function: 'about', rate: 'reads' },
  { method: 'GET', path: '/openapi.json', function: 'about', rate: 'reads' },
];

/**
 * Answers what no route takes, HEAD and unknown paths, so that a refusal is one of our
 * problem details and not API Gateway's.
 */
export const DEFAULT_FUNCTION: FunctionName = 'map';

/** Which function has the route of each RPC, and whether GET is allowed. */
function rpcRoutes(): readonly Route[] {
  const safe: Readonly<Record<string, FunctionName>> = {
    GetMap: 'map',
    GetClock: 'map',
    ListClusters: 'map',
    GetCluster: 'map',
    GetSnapshot: 'map',
    GetCapacity: 'plan',
    ListPools: 'plan',
    GetPool: 'plan',
  };
  const posted: Readonly<Record<string, FunctionName>> = {
    ...safe,
    PushSnapshot: 'push',
    ValidateSnapshot: 'push',
    OmitCluster: 'push',
    SyncMap: 'map',
    Fit: 'plan',
    ValidateBundle: 'plan',
    PlanBundles: 'plan',
    PutPool: 'plan',
    DeletePool: 'plan',
  };
  const routes = (
    method: Route['method'],
    owners: Readonly<Record<string, FunctionName>>,
  ): readonly Route[] =>
    Object.entries(owners).map(([name, owner]) => ({
      method,
      path: `/resourcemap.v1.ResourceMapService/${name}`,
      function: owner,
      rate: name === 'PushSnapshot' || name === 'ValidateSnapshot' ? 'pushes' : 'reads',
    }));
  return [...routes('GET', safe), ...routes('POST', posted)];
}
