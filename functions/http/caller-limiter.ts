/** How many of something one caller may hold at a time, so that one who forgets them leaves room for the others. */

import type { Principal } from '../auth/principal.ts';
import type { ResourceMapError } from '../core/errors.ts';

export class CallerLimiter {
  /** By the caller's id; those who need no token are one caller. */
  readonly #held = new Map<string, number>();

  /**
   * @param perCaller places that each caller has
   * @param refusal of a caller who holds them all, by their number
   */
  constructor(
    private readonly perCaller: number,
    private readonly refusal: (held: number) => ResourceMapError,
  ) {}

  /**
   * Takes a place.
   *
   * @returns what gives it back; a second call of it does nothing
   * @throws the refusal
   */
  take(principal: Principal): () => void {
    const caller = principal.kind === 'anyone' ? '' : principal.id;
    const held = this.#held.get(caller) ?? 0;
    if (held >= this.perCaller) throw this.refusal(held);
    this.#held.set(caller, held + 1);
    return once(() => {
      const left = (this.#held.get(caller) ?? 0) - 1;
      if (left > 0) this.#held.set(caller, left);
      else this.#held.delete(caller);
    });
  }
}

/** Does what it is given the first time, and then nothing. */
export function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}
