/**
 * How much memory the requests under way may hold together. A process that serves many
 * of them refuses one more rather than die with all. A slow sender makes way: what
 * a stalled body holds would otherwise keep everybody out until its time is up.
 */
import { ResourceMapError } from '../core/errors.ts';
import { RETRY_OVERLOAD_S, SLOW_BODY_MS } from './limits.ts';

/** The bytes of one process that requests share. */
export class MemoryBudget {
  #free: number;
  readonly #now: () => number;
  /** Requests whose body is still coming in, the longest first. */
  readonly #reading = new Set<Share>();

  /**
   * @param bytes that all requests may hold together
   * @param now milliseconds of a clock that does not go back
   */
  constructor(bytes: number, now: () => number = () => performance.now()) {
    this.#free = bytes;
    this.#now = now;
  }

  /** Bytes that nobody holds. */
  get free(): number {
    return this.#free;
  }

  /** The share of one request, empty at first. */
  open(): MemoryShare {
    const share: Share = { held: 0, sinceMs: 0, cut: undefined, wasCut: false };
    return {
      get held() {
        return share.held;
      },
      take: (bytes) => {
        if (share.wasCut) throw tooSlow();
        if (bytes > this.#free) this.#cutSlow(bytes, share);
        if (bytes > this.#free) {
          throw new ResourceMapError(
            'overloaded',
            'The requests under way hold all the memory that there is for bodies. Try again in a moment.',
            { retryAfterSeconds: RETRY_OVERLOAD_S },
          );
        }
        this.#free -= bytes;
        share.held += bytes;
      },
      release: (bytes) => {
        if (share.wasCut) return;
        this.#free += bytes;
        share.held -= bytes;
      },
      read: async (stop, read) => {
        share.cut = stop;
        share.sinceMs = this.#now();
        this.#reading.add(share);
        try {
          const result = await read();
          if (share.wasCut) throw tooSlow();
          return result;
        } catch (error) {
          throw share.wasCut ? tooSlow() : error;
        } finally {
          this.#reading.delete(share);
        }
      },
      close: () => {
        this.#free += share.held;
        share.held = 0;
      },
    };
  }

  /** Ends bodies that are on their way for too long, until there is room. */
  #cutSlow(wanted: number, asking: Share): void {
    const slowSinceMs = this.#now() - SLOW_BODY_MS;
    for (const share of this.#reading) {
      if (wanted <= this.#free || share.sinceMs > slowSinceMs) return;
      if (share === asking) continue;
      this.#reading.delete(share);
      share.wasCut = true;
      this.#free += share.held;
      share.held = 0;
      share.cut?.();
    }
  }
}

interface Share {
  held: number;
  /** When its body began to come in. */
  sinceMs: number;
  /** Ends the reading of its body. */
  cut: (() => void) | undefined;
  wasCut: boolean;
}

function tooSlow(): ResourceMapError {
  return new ResourceMapError(
    'request_timeout',
    `The body was on its way for more than ${SLOW_BODY_MS / 1_000} s when its memory was wanted for others. ` +
      'Compress it with gzip, and send it all at once.',
    { retryAfterSeconds: RETRY_OVERLOAD_S },
  );
}

/** What one request holds of the budget. */
export interface MemoryShare {
  /** Bytes that the request holds. */
  readonly held: number;
  /** @throws ResourceMapError `overloaded`, with nothing taken; `request_timeout` where the body was cut off */
  take(bytes: number): void;
  release(bytes: number): void;
  /**
   * Reads the body. While that goes on for longer than SLOW_BODY_MS, and others lack memory, the
   * share may be emptied and the reading ended.
   *
   * @param stop ends `read`, with or without an error
   * @throws what `read` throws; ResourceMapError `request_timeout` where the body was cut off
   */
  read<T>(stop: () => void, read: () => Promise<T>): Promise<T>;
  /** Gives all of it back. */
  close(): void;
}
