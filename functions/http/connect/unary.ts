/** One unary RPC over HTTP: the call is read, handed to its method, and answered in its protocol. */
import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { BODY_LIMITS, type BodyLimits } from '../read-body.ts';
import { type Call, callHead, readCall } from './read-call.ts';
import { errorResponse } from './write-response.ts';

/**
 * Serves a call.
 *
 * @param safe whether the method has no side effects, so that GET is allowed
 * @param handle may also respond with problem details, which become an error of the protocol ({@link rpcErrors})
 * @returns 405 and 415 without a body, as the protocol has it, for another method and an unknown content type
 */
export async function serveUnary(
  c: Context<AppEnv>,
  safe: boolean,
  handle: (call: Call) => Promise<Response>,
  limits: BodyLimits = BODY_LIMITS,
): Promise<Response> {
  if (c.req.method === 'GET' && !safe) return c.body(null, 405, { allow: 'POST' });
  const head = callHead(c);
  if (head === undefined) {
    return c.body(null, 415, {
      'accept-post':
        'application/json, application/proto, application/grpc-web, application/grpc-web+proto, application/grpc-web+json',
    });
  }
  const call = await readCall(c, head, limits);
  if (head.timeoutMs === undefined) return handle(call);
  return withinMs(head.timeoutMs, handle(call), () =>
    errorResponse(head, {
      code: 'deadline_exceeded',
      message: 'The timeout of the call is over.',
      details: [],
    }),
  );
}

/** Node fires timers beyond this at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

async function withinMs(ms: number, response: Promise<Response>, late: () => Response): Promise<Response> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<Response>((resolve) => {
    timer = setTimeout(() => resolve(late()), Math.min(ms, MAX_TIMER_MS));
  });
  try {
    return await Promise.race([response, expired]);
  } finally {
    clearTimeout(timer);
  }
}
