/**
 * The header by which an agent shows that it began to look at its cluster after a time of ours: the response
 * to each accepted push has one, and a push sends back, unchanged, the one that was the last before its cut was begun.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { ResourceMapError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';

export const OBSERVED_HEADER = 'Resource-Map-Observed';

/** By which another process of ours may be ahead. */
const MAX_AHEAD_MS = 60_000;

/** Sets the header on the response to a push that was accepted. */
export function sendObserved(now: () => number): MiddlewareHandler {
  return async (c, next) => {
    // Taken before the work, so that it is never later than what the agent knows of it.
    const token = `t${Math.floor(now()).toString(36)}`;
    await next();
    if (c.res.ok) c.res.headers.set(OBSERVED_HEADER, token);
  };
}

/**
 * The time that a push sends back, in milliseconds since the epoch; absent if it sends none.
 *
 * @throws ResourceMapError `malformed_request` for what no response of ours had
 */
export function observedAtMs(c: Context, nowMs: number): number | undefined {
  const token = c.req.header(OBSERVED_HEADER);
  if (token === undefined) return undefined;
  const digits = /^t([0-9a-z]{1,10})$/.exec(token)?.[1];
  const ms = digits === undefined ? Number.NaN : Number.parseInt(digits, 36);
  if (ms <= nowMs + MAX_AHEAD_MS) return ms;
  throw new ResourceMapError(
    'malformed_request',
    `The header ${OBSERVED_HEADER} is ${quote(token)}, which no response of this service had; send one back unchanged, or none.`,
  );
}
