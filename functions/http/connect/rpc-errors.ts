/** Turns the problem of a failed RPC into an error of its protocol, what failed before the RPC's route included. */
import type { Context, MiddlewareHandler } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { type CallHead, callHead, isRpcPath } from './read-call.ts';
import { type ProblemBody, rpcErrorOf } from './rpc-error.ts';
import { errorResponse } from './write-response.ts';

/** Headers of a problem that an RPC's error keeps. */
const KEPT = ['allow', 'retry-after', 'www-authenticate', 'x-request-id'];

export function rpcErrors(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next();
    if (!isRpcPath(c.req.path)) return;
    if (c.res.headers.get('content-type') !== 'application/problem+json') return;
    const problem = (await c.res.json()) as ProblemBody;
    const kept = new Headers();
    for (const name of KEPT) {
      const value = c.res.headers.get(name);
      if (value !== null) kept.set(name, value);
    }
    const retryAfter = c.res.headers.get('retry-after');
    const error = rpcErrorOf(problem, retryAfter === null ? undefined : Number(retryAfter));
    // Else Hono would add the headers of the problem to those of the error.
    c.res = undefined;
    if (problem.code === 'not_found' || problem.code === 'method_not_allowed') {
      // As the protocols have it: clients read "unimplemented" from the status.
      c.res = new Response(null, { status: problem.code === 'not_found' ? 404 : 405, headers: kept });
      return;
    }
    c.res = errorResponse(headOrNone(c), error, { headers: kept });
  };
}

/** A head that cannot be read is what the error is about. */
function headOrNone(c: Context): CallHead | undefined {
  try {
    return callHead(c);
  } catch {
    return undefined;
  }
}
