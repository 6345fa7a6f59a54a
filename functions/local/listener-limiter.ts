/** How many listen to events at a time: each holds a connection for as long as it likes. */

import type { Principal } from '../auth/principal.ts';
import { ResourceMapError } from '../core/errors.ts';
import { CallerLimiter, once } from '../http/caller-limiter.ts';
import { MAX_LISTENERS, MAX_LISTENERS_PER_CALLER, RETRY_WAIT_S } from '../http/limits.ts';

export class ListenerLimiter {
  #listening = 0;
  readonly #ofCallers = new CallerLimiter(
    MAX_LISTENERS_PER_CALLER,
    (held) =>
      new ResourceMapError(
        'too_many_listeners',
        `${held} listeners of this caller are connected, which is the most for one. End one of them.`,
        { retryAfterSeconds: RETRY_WAIT_S, limit: MAX_LISTENERS_PER_CALLER },
      ),
  );

  /**
   * Takes a place for a listener.
   *
   * @returns what gives it back; a second call of it does nothing
   * @throws ResourceMapError `too_many_listeners`, `overloaded`
   */
  take(principal: Principal): () => void {
    const release = this.#ofCallers.take(principal);
    if (this.#listening >= MAX_LISTENERS) {
      release();
      throw new ResourceMapError(
        'overloaded',
        `${this.#listening} listeners are connected, which is the most that are taken. Try again once one has gone.`,
        { retryAfterSeconds: RETRY_WAIT_S, limit: MAX_LISTENERS },
      );
    }
    this.#listening++;
    return once(() => {
      this.#listening--;
      release();
    });
  }
}
