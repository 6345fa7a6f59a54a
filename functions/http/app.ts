/**
 * The frame that every app has: request ids, undecoded paths, and problem details for
 * whatever goes wrong.
 */
import { Hono, type MiddlewareHandler } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { requestId } from 'hono/request-id';
import type { Principal } from '../auth/principal.ts';
import { UnverifiedTokenError } from '../auth/unverified-token.ts';
import { ResourceMapError } from '../core/errors.ts';
import { REQUEST_DEADLINE_MS, withDeadline } from '../runtime/deadline.ts';
import { duringRequest, type Telemetry } from '../runtime/telemetry.ts';
import { accessLog } from './access-log.ts';
import type { App, AppEnv } from './app-env.ts';
import { undecodedPath } from './cluster-path.ts';
import { type Access, guard } from './guard.ts';
import { MAX_BYTES_IN_FLIGHT } from './limits.ts';
import { MemoryBudget } from './memory-budget.ts';
import { problemResponse } from './problem.ts';

/**
 * An app without routes.
 *
 * @param access whether its routes ask for tokens
 * @param memory that its requests share
 * @param rpcErrors of an app with RPCs: what makes errors of their protocol of its problems, the guard's included
 */
export function createApp(
  telemetry: Telemetry,
  access: Access,
  memory = new MemoryBudget(MAX_BYTES_IN_FLIGHT),
  rpcErrors?: MiddlewareHandler<AppEnv>,
): App {
  const app = new Hono<AppEnv>({ getPath: undecodedPath });
  app.use(requestId());
  app.use((c, next) => duringRequest(c.get('requestId'), next));
  if (telemetry.access !== undefined) app.use(accessLog(telemetry.access));
  app.use((_c, next) => withDeadline(REQUEST_DEADLINE_MS, next));
  app.use(async (c, next) => {
    const share = memory.open();
    c.set('memory', share);
    try {
      await next();
    } finally {
      share.close();
    }
  });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, allow) =>
        problemResponse(
          c,
          new ResourceMapError(
            'method_not_allowed',
            `${c.req.method} is not allowed for ${c.req.path}; allowed: ${allow.join(', ')}.`,
            {
              allow,
            },
          ),
        ),
    }),
  );
  if (rpcErrors !== undefined) app.use(rpcErrors);
  app.use(guard(access));
  app.notFound((c) =>
    problemResponse(
      c,
      new ResourceMapError('not_found', `No route matches ${c.req.path}; GET / lists the routes.`, {
        field: 'path',
        value: c.req.path,
      }),
    ),
  );
  app.onError((thrown, c) => {
    const error = ResourceMapError.from(thrown);
    const fields = {
      method: c.req.method,
      path: c.req.path,
      code: error.code,
      ...callerOf(c.get('principal')),
      ...(error.cause instanceof UnverifiedTokenError ? { reason: error.cause.message } : {}),
    };
    if (error.code === 'internal' || error.code === 'store_unavailable') {
      telemetry.error('request failed', { ...fields, cause: error.cause });
    } else {
      telemetry.warn('request refused', fields);
    }
    telemetry.count('Refused', 1, { code: error.code });
    // Once more without the code: an alarm cannot add up a dimension's values.
    telemetry.count('RequestsRefused', 1);
    return problemResponse(c, error);
  });
  return app;
}

/** Nothing where the request failed before its token was accepted. */
function callerOf(principal: Principal | undefined): { readonly caller?: string } {
  return principal?.kind === 'caller' ? { caller: principal.id } : {};
}
