import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS } from '../../functions/auth/permissions.ts';
import type { Role } from '../../functions/core/registration.ts';
import type { App } from '../../functions/http/app-env.ts';
import { routeName } from '../../functions/http/route-name.ts';
import { unconnectedApp } from '../local/unconnected-app.ts';
import { type GuardedService, startGuardedService } from './guarded-service.ts';

const OWN = 'cluster/a';
const OTHER = 'cluster/b';
const ROLES = ['agent', 'scheduler', 'viewer', 'monitor', 'admin'] as const satisfies readonly Role[];

/**
 * Written out, and not read from the table that it checks. By route, in the order of `ROLES`: `+` any cluster,
 * `o` the agent's own alone, `f` admitted, and the route itself keeps the agent to its own, `-` refused.
 */
const MATRIX: Readonly<Record<string, string>> = {
  //                                 agent scheduler viewer monitor admin
  'PUT /v1/clusters/{id}/snapshot': 'o - - - -',
  'POST /v1/snapshots/validate': '+ - - - -',
  'DELETE /v1/clusters/{id}': 'o - - - +',
  'GET /v1/clusters': 'f + + - +',
  'GET /v1/clusters/{id}': 'o + + - +',
  'GET /v1/clusters/{id}/snapshot': 'o + + - +',
  'GET /v1/map': '- + + - +',
  'GET /v1/map/clock': '- + + - +',
  'POST /v1/map/sync': '- + + - +',
  'GET /v1/wait/map': '- + + - +',
  'POST /v1/wait/map/sync': '- + + - +',
  'GET /v1/capacity': '- + + - +',
  'POST /v1/capacity/fit': '- + + - +',
  'POST /v1/bundles/validate': '- + + - +',
  'POST /v1/bundles/plan': '- + + - +',
  'GET /v1/bundles': '- + + - +',
  'GET /v1/bundles/{id}': '- + + - +',
  'PUT /v1/bundles/{id}': '- + - - +',
  'DELETE /v1/bundles/{id}': '- + - - +',
  'POST /v1/bundles/{id}/stop-time': '- + - - +',
  'POST /v1/bundles/{id}/copies/{copy}/move': '- + - - +',
  'GET /local/events': '- + + - +',
  'GET /v1/claims': 'f + + - +',
  'GET /v1/claims/{id}': 'f + + - +',
  'PUT /v1/claims/{id}': '- + - - -',
  'POST /v1/claims/{id}/confirm': '- + - - -',
  'POST /v1/claims/{id}/renew': '- + - - -',
  'DELETE /v1/claims/{id}': '- + - - +',
  'GET /metrics': '- + + + +',
  'GET /metrics/capacity': '- + + + +',
  // The route that a call is dispatched to is asked again.
  'GET /resourcemap.v1.ResourceMapService/{method}': 'f + + - +',
  'POST /resourcemap.v1.ResourceMapService/{method}': 'f + + - +',
  'GET /v1/pools': '- + + - +',
  'GET /v1/pools/{name}': '- + + - +',
  'PUT /v1/pools/{name}': '- - - - +',
  'DELETE /v1/pools/{name}': '- - - - +',
  'POST /v1/registrations': '- - - - +',
  'GET /v1/registrations': '- - - - +',
  'DELETE /v1/registrations/{id}': '- - - - +',
  'POST /v1/tokens': '- - - - +',
  'GET /v1/tokens': '- - - - +',
  'DELETE /v1/tokens/{id}': '- - - - +',
};
const OPEN = [
  'GET /healthz',
  'GET /livez',
  'GET /readyz',
  'GET /version',
  'GET /ui',
  'GET /ui/config.json',
  'GET /ui/{file}',
  'GET /openapi.json',
  'GET /',
];

let service: GuardedService;
let routes: readonly string[];
const tokens = new Map<Role, string>();

beforeAll(async () => {
  service = await startGuardedService();
  routes = routesOf(unconnectedApp());
  tokens.set('agent', await service.issue('AGENT', OWN));
  tokens.set('scheduler', await service.issue('SCHEDULER'));
  tokens.set('viewer', await service.issue('VIEWER'));
  tokens.set('monitor', await service.issue('MONITOR'));
  tokens.set('admin', await service.issue('ADMIN'));
});
afterAll(() => service.close());

function routesOf({ routes: all }: App): readonly string[] {
  return [...new Set(all.filter(({ method }) => method !== 'ALL').map(routeName))];
}

/** Calls a route as a role and gives what the guard said of it. */
async function verdict(route: string, clusterId: string, token?: string): Promise<string> {
  // Bodies and ids that mean nothing: what comes after the guard may well refuse them.
  const isStream = route === 'GET /local/events';
  const gone = new AbortController();
  const [method = '', path = ''] = route.replace('{id}', encodeURIComponent(clusterId)).split(' ');
  const response = await fetch(service.url + path, {
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: gone.signal,
  });
  const body = isStream && response.ok ? '{}' : await response.text();
  gone.abort();
  if (response.status === 401 || response.status === 403) {
    const { code } = JSON.parse(body) as { code: string };
    return code === 'permission_denied' ? 'forbidden' : code;
  }
  return 'admitted';
}

describe('The table of permissions', () => {
  it('names every route of the app', () => {
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.filter((route) => !PERMISSIONS.has(route))).toEqual([]);
  });

  it('is the matrix of roles and routes', () => {
    const signs = { all: '+', own: 'o', filtered: 'f' };
    const table = [...PERMISSIONS].map(([route, permission]) => [
      route,
      permission === 'open'
        ? 'open'
        : ROLES.map((role) => (permission[role] === undefined ? '-' : signs[permission[role]])).join(' '),
    ]);
    expect(Object.fromEntries(table)).toEqual({
      ...MATRIX,
      ...Object.fromEntries(OPEN.map((route) => [route, 'open'])),
    });
  });

  it('is asked for every route: none is registered for all methods, as what stands before the guard is', () => {
    const all = unconnectedApp().routes.filter(({ method }) => method === 'ALL');
    expect(new Set(all.map(({ path }) => path))).toEqual(new Set(['/*']));
    // A handler takes the request alone, what comes before one the next step as well.
    expect(all.filter(({ handler }) => handler.length < 2)).toEqual([]);
  });

  it('names no route that the app does not have', () => {
    expect([...PERMISSIONS.keys()].filter((route) => !routes.includes(route))).toEqual([]);
  });

  it('has the guard compare the cluster where the URL names one, and the route itself where none does', () => {
    for (const [route, permission] of PERMISSIONS) {
      if (permission === 'open' || permission.agent === undefined) continue;
      const expected =
        // It reads the rules and nothing of any cluster.
        route === 'POST /v1/snapshots/validate'
          ? 'all'
          : route.includes('/v1/clusters/{id}')
            ? 'own'
            : 'filtered';
      expect([route, permission.agent]).toEqual([route, expected]);
    }
  });

  it('gives nobody but an agent less than all', () => {
    for (const permission of PERMISSIONS.values()) {
      if (permission === 'open') continue;
      for (const role of ['scheduler', 'viewer', 'monitor', 'admin'] as const) {
        expect([undefined, 'all']).toContain(permission[role]);
      }
    }
  });

  it('lets a viewer, and an admin, read all that a scheduler reads, and a viewer change nothing', () => {
    for (const [route, permission] of PERMISSIONS) {
      if (permission === 'open') continue;
      const { scheduler, viewer, admin } = permission;
      const reads =
        /^(GET|POST \/resourcemap\.v1\.|POST \/v1\/(wait\/)?(map\/sync|capacity\/fit|bundles\/(validate|plan))$)/.test(
          route,
        );
      expect([route, viewer]).toEqual([route, reads ? scheduler : undefined]);
      if (reads && scheduler !== undefined) expect([route, admin]).toEqual([route, 'all']);
    }
  });

  it('lets nobody without a token past, but to what is open', async () => {
    for (const route of routes) {
      const open = OPEN.includes(route);
      expect([route, await verdict(route, OWN)]).toEqual([route, open ? 'admitted' : 'unauthenticated']);
    }
  });

  it.each(ROLES)('lets the role %s do what the matrix says, and nothing else', async (role) => {
    for (const route of routes) {
      const sign = OPEN.includes(route) ? '+' : MATRIX[route]?.split(' ')[ROLES.indexOf(role)];
      const own = await verdict(route, OWN, tokens.get(role));
      expect([route, own]).toEqual([route, sign === '-' ? 'forbidden' : 'admitted']);
      const other = await verdict(route, OTHER, tokens.get(role));
      expect([route, other]).toEqual([route, sign === '+' || sign === 'f' ? 'admitted' : 'forbidden']);
    }
  });

  it('holds for HEAD as for GET', async () => {
    for (const token of [undefined, tokens.get('agent')]) {
      const response = await fetch(`${service.url}/v1/map`, {
        method: 'HEAD',
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBe(token === undefined ? 401 : 403);
    }
  });
});
