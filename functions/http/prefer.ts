/** The Prefer header (RFC 7240): how long the client lets us hold a response. */
import type { Context } from 'hono';
import { MAX_WAIT_SECONDS } from './limits.ts';

/** Before the function's own end: a look at the heads, reading bodies, sending. */
const RESERVE_MS = 5_000;

/** What of a Lambda's context tells how much time there is. */
interface LambdaBindings {
  readonly lambdaContext?: { getRemainingTimeInMillis(): number };
}

/**
 * Seconds that the client asks us to wait, cut to `longestSeconds` and, in a Lambda, to
 * its remaining time; 0 where it does not ask. What is not a number of seconds is ignored, as
 * RFC 7240 wants of every preference that is not understood.
 */
export function preferredWaitSeconds(c: Context, longestSeconds: number = MAX_WAIT_SECONDS): number {
  const asked = (c.req.header('prefer') ?? '')
    .split(',')
    .map((preference) => /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;|$)/i.exec(preference)?.[1])
    .find((seconds) => seconds !== undefined);
  if (asked === undefined) return 0;
  const { lambdaContext } = (c.env ?? {}) as LambdaBindings;
  const leftMs = lambdaContext?.getRemainingTimeInMillis() ?? Number.POSITIVE_INFINITY;
  const left = Math.max(0, Math.floor((leftMs - RESERVE_MS) / 1_000));
  return Math.min(Number(asked), longestSeconds, left);
}
