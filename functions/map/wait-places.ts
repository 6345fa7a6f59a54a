/** How many answers are held for one caller at a time, so that one who forgets them leaves room for the others. */
import { ResourceMapError } from '../errors.ts';
import type { Principal } from '../http/auth/principal.ts';
import { MAX_WAITS_PER_CALLER, RETRY_WAIT_S } from '../http/limits.ts';
import { lookUntil, type Patience } from './wait.ts';

export class WaitPlaces {
  /** By the caller's id; those who need no token are one caller. */
  readonly #held = new Map<string, number>();

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
    const caller = principal.kind === 'anyone' ? '' : principal.id;
    const held = this.#held.get(caller) ?? 0;
    if (held >= MAX_WAITS_PER_CALLER) {
      throw new ResourceMapError(
        'too_many_waits',
        `${held} answers are held for this caller, which is the most for one. End some of these requests, or ask without "Prefer: wait".`,
        { retryAfterSeconds: RETRY_WAIT_S },
      );
    }
    this.#held.set(caller, held + 1);
    try {
      return await lookUntil(look, finds, patience);
    } finally {
      const left = (this.#held.get(caller) ?? 0) - 1;
      if (left > 0) this.#held.set(caller, left);
      else this.#held.delete(caller);
    }
  }
}
