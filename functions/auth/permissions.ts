/**
 * Who may do what: every route of every app, and what each role may do there. A route
 * that is not named here is answered to nobody.
 */
import type { Role } from '../core/registration.ts';

/**
 * How far a role reaches on a route. `own`: the cluster that the URL names must be the
 * agent's. `filtered`: the URL names none, and the route itself keeps the agent to its own.
 */
export type Reach = 'all' | 'own' | 'filtered';

/** `open`: no token is asked for. */
export type Permission = 'open' | Readonly<Partial<Record<Role, Reach>>>;

const AGENT: Permission = { agent: 'own' };
/** A scheduler, people who look, and admins, who could let themselves in anyway. */
const READ: Permission = { scheduler: 'all', viewer: 'all', admin: 'all' };
const ADMIN: Permission = { admin: 'all' };
const OWNERS: Permission = { scheduler: 'all', admin: 'all' };
const STATUS: Permission = { agent: 'own', scheduler: 'all', viewer: 'all', admin: 'all' };

const METRICS: Permission = { scheduler: 'all', viewer: 'all', monitor: 'all', admin: 'all' };

const RPC: Permission = { agent: 'filtered', scheduler: 'all', viewer: 'all', admin: 'all' };

/** By {@link routeName}. */
export const PERMISSIONS: ReadonlyMap<string, Permission> = new Map<string, Permission>([
  ['PUT /v1/clusters/{id}/snapshot', AGENT],
  // The rules alone: nothing of any cluster is read.
  ['POST /v1/snapshots/validate', { agent: 'all' }],
  ['DELETE /v1/clusters/{id}', { agent: 'own', admin: 'all' }],

  ['GET /v1/clusters', { agent: 'filtered', scheduler: 'all', viewer: 'all', admin: 'all' }],
  ['GET /v1/clusters/{id}', STATUS],
  ['GET /v1/clusters/{id}/snapshot', STATUS],

  ['GET /v1/map', READ],
  ['GET /v1/map/clock', READ],
  ['POST /v1/map/sync', READ],
  ['GET /v1/wait/map', READ],
  ['POST /v1/wait/map/sync', READ],
  ['GET /v1/capacity', READ],
  ['POST /v1/capacity/fit', READ],
  ['POST /v1/bundles/validate', READ],
  ['POST /v1/bundles/plan', READ],
  ['GET /v1/bundles', READ],
  ['GET /v1/bundles/{id}', READ],
  // Schedulers change their own, which the route checks.
  ['PUT /v1/bundles/{id}', OWNERS],
  ['DELETE /v1/bundles/{id}', OWNERS],
  ['POST /v1/bundles/{id}/stop-time', OWNERS],
  ['POST /v1/bundles/{id}/copies/{copy}/move', OWNERS],
  ['GET /local/events', READ],
  ['GET /metrics', METRICS],
  ['GET /metrics/capacity', METRICS],

  // Who may call a method is what its route says, to which the call is dispatched.
  ['GET /resourcemap.v1.ResourceMapService/{method}', RPC],
  ['POST /resourcemap.v1.ResourceMapService/{method}', RPC],

  ['GET /v1/pools', READ],
  ['GET /v1/pools/{name}', READ],
  ['GET /v1/claims', { agent: 'filtered', scheduler: 'all', viewer: 'all', admin: 'all' }],
  // A deployer beside an agent looks before it starts.
  ['GET /v1/claims/{id}', { agent: 'filtered', scheduler: 'all', viewer: 'all', admin: 'all' }],
  ['PUT /v1/claims/{id}', { scheduler: 'all' }],
  ['POST /v1/claims/{id}/confirm', { scheduler: 'all' }],
  ['POST /v1/claims/{id}/renew', { scheduler: 'all' }],
  // Schedulers release their own, which the route checks.
  ['DELETE /v1/claims/{id}', { scheduler: 'all', admin: 'all' }],

  // Where every bundle may land is an operator's to say.
  ['PUT /v1/pools/{name}', ADMIN],
  ['DELETE /v1/pools/{name}', ADMIN],

  ['POST /v1/registrations', ADMIN],
  ['GET /v1/registrations', ADMIN],
  ['DELETE /v1/registrations/{id}', ADMIN],
  ['POST /v1/tokens', ADMIN],
  ['GET /v1/tokens', ADMIN],
  ['DELETE /v1/tokens/{id}', ADMIN],

  ['GET /healthz', 'open'],
  ['GET /livez', 'open'],
  ['GET /readyz', 'open'],
  ['GET /version', 'open'],
  // The page itself says nothing of any cluster; what it asks for is asked with its reader's token.
  ['GET /ui', 'open'],
  ['GET /ui/config.json', 'open'],
  ['GET /ui/{file}', 'open'],
  ['GET /openapi.json', 'open'],
  ['GET /', 'open'],
]);
