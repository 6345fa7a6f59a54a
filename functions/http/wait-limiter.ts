/** How many responses are held for one caller at a time. */

import type { Principal } from '../auth/principal.ts';
import { ResourceMapError } from '../core/errors.ts';
import { CallerLimiter } from './caller-limiter.ts';
import { MAX_WAITS_PER_CALLER, RETRY_WAIT_S } from './limits.ts';
import { pollUntil, type WaitOptions } from './wait.ts';

export class WaitLimiter {
  readonly #places = new CallerLimiter(
    MAX_WAITS_PER_CALLER,
    (held) =>
      new ResourceMapError(
        'too_many_waits',
        `${held} responses are held for this caller, which is the most for one. End some of these requests, or ask without "Prefer: wait".`,
        { retryAfterSeconds: RETRY_WAIT_S, limit: MAX_WAITS_PER_CALLER },
      ),
  );

  /**
   * {@link pollUntil}, for a caller.
   *
   * @throws ResourceMapError `too_many_waits`, before the first look
   */
  async pollUntil<T>(
    principal: Principal,
    look: () => Promise<T>,
    finds: (seen: T) => boolean,
    waitOptions: WaitOptions,
  ): Promise<T> {
    if (waitOptions.waitMs === 0) return pollUntil(look, finds, waitOptions);
    const release = this.#places.take(principal);
    try {
      return await pollUntil(look, finds, waitOptions);
    } finally {
      release();
    }
  }
}
