/**
 * How much memory the requests under way may hold together. A process that serves many
 * of them refuses one more rather than die with all.
 */
import { ResourceMapError } from '../errors.ts';
import { RETRY_OVERLOAD_S } from './limits.ts';

/** The bytes of one process that requests share. */
export class MemoryBudget {
  #free: number;

  /** @param bytes that all requests may hold together */
  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** The share of one request, empty at first. */
  open(): MemoryShare {
    let held = 0;
    return {
      take: (bytes) => {
        if (bytes > this.#free) {
          throw new ResourceMapError(
            'overloaded',
            'The requests under way hold all the memory that there is for bodies. Try again in a moment.',
            { retryAfterSeconds: RETRY_OVERLOAD_S },
          );
        }
        this.#free -= bytes;
        held += bytes;
      },
      giveBack: (bytes) => {
        this.#free += bytes;
        held -= bytes;
      },
      close: () => {
        this.#free += held;
        held = 0;
      },
    };
  }
}

/** What one request holds of the budget. */
export interface MemoryShare {
  /** @throws ResourceMapError `overloaded`, with nothing taken */
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** Gives all of it back. */
  close(): void;
}
