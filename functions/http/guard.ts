/**
 * Asks, before any route runs and any byte of a body is read, who calls and whether the
 * table of permissions lets them.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Authenticator } from '../auth/authenticator.ts';
import { bearerToken } from '../auth/bearer.ts';
import { PERMISSIONS, type Permission } from '../auth/permissions.ts';
import { ANYONE, type Caller } from '../auth/principal.ts';
import { ResourceMapError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import type { AppEnv } from './app-env.ts';
import { clusterIdOf } from './cluster-path.ts';
import { routeName } from './route-name.ts';

/** Whether a service asks for tokens. `open` is for the local one alone. */
export type Access =
  | { readonly kind: 'open' }
  | { readonly kind: 'tokens'; readonly authenticator: Authenticator };

/** Sets the request's principal, or refuses the request. */
export function guard(access: Access): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    c.set('principal', ANYONE);
    if (access.kind === 'tokens') {
      // The very route that will answer: no second reading of the path that could differ from the first.
      const route = matchedRoutes(c).find(({ method }) => method !== 'ALL');
      if (route !== undefined) await admit(c, routeName(route), access.authenticator);
    }
    await next();
  };
}

async function admit(c: Context<AppEnv>, route: string, authenticator: Authenticator): Promise<void> {
  const permission = PERMISSIONS.get(route);
  if (permission === 'open') return;
  const caller = await authenticator.authenticate(bearerToken(c.req.header('authorization')));
  const refusal = refusalOf(c, route, caller, permission ?? {});
  // Before the refusal, whose log line names the caller.
  c.set('principal', caller);
  if (refusal !== undefined) throw refusal;
}

function refusalOf(
  c: Context,
  route: string,
  { rights }: Caller,
  permission: Exclude<Permission, 'open'>,
): ResourceMapError | undefined {
  const reach = permission[rights.role];
  if (reach === undefined) {
    const allowedRoles = Object.keys(permission);
    return new ResourceMapError(
      'forbidden',
      `${route} is not for the role ${rights.role}; it is for ${allowedRoles.join(' and ') || 'nobody'}.`,
      { field: 'role', value: rights.role, allowedRoles },
    );
  }
  if (rights.role !== 'agent' || reach !== 'own') return undefined;
  const clusterId = clusterIdOf(c, route.endsWith('/snapshot') ? '/snapshot' : '');
  if (clusterId === rights.clusterId) return undefined;
  // Whether there is such a cluster at all is not said.
  return new ResourceMapError(
    'forbidden',
    `The token is for the agent of cluster ${quote(rights.clusterId)}, and for no other cluster.`,
    { field: 'cluster', value: rights.clusterId },
  );
}
