/** How many answers are held for one caller at a time. */

import type { Principal } from '../auth/principal.ts';
import { ResourceMapError } from '../core/errors.ts';
import { CallerPlaces } from './caller-limiter.ts';
import { MAX_WAITS_PER_CALLER, RETRY_WAIT_S } from './limits.ts';
import { lookUntil, type Patience } from './wait.ts';

export class WaitPlaces {
  readonly #places = new CallerPlaces(
    MAX_WAITS_PER_CALLER,
    (held) =>
      new ResourceMapError(
        'too_many_waits',
        `${held} answers are held for this caller, which is the most for one. End some of these requests, or ask without "Prefer: wait".`,
        { retryAfterSeconds: RETRY_WAIT_S },
      ),
  );

  /**
   * {@link lookUntil}, for a caller.
   *
   * @throws ResourceMapError `too_many_waits`, before the first look
   */
  async lookUntil<T>(
    principal: Principal,
    look: () => Promise<T>,
    finds: (seen: T) => boolean,
    patience: Patience,
  ): Promise<T> {
    if (patience.waitMs === 0) return lookUntil(look, finds, patience);
    const giveBack = this.#places.take(principal);
    try {
      return await lookUntil(look, finds, patience);
    } finally {
      giveBack();
    }
  }
}
