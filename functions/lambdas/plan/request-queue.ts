/** How many long computations are under way at once, and what those that wait for a place may hold. */
import { ResourceMapError } from '../../core/errors.ts';
import { RETRY_WAIT_S } from '../../http/limits.ts';

/** A request that wants a place. */
export interface Asking {
  /** What it holds in memory. */
  readonly bytes: number;
  /** Aborted once its client has gone. */
  readonly signal: AbortSignal;
}

interface Waiting {
  begin(): void;
}

export class RequestQueue {
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;

  /** @param maxWaitingBytes that all who wait may hold together, so that they leave memory to everybody else */
  constructor(
    private free: number,
    private readonly maxWaitingBytes: number,
  ) {}

  /**
   * Does the task once there is a place, first come, first served.
   *
   * @returns what the task does, or `abandoned` where the client went before its turn
   * @throws ResourceMapError `overloaded` where those who wait hold too much already
   */
  async hold<T>(asking: Asking, task: () => Promise<T>): Promise<T | 'abandoned'> {
    if (this.free > 0) this.free--;
    else if (!(await this.#turn(asking))) return 'abandoned';
    try {
      return await task();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.free++;
      else next.begin();
    }
  }

  /** @returns whether the turn has come; not, where the client went before */
  #turn({ bytes, signal }: Asking): Promise<boolean> {
    if (this.#waitingBytes + bytes > this.maxWaitingBytes) {
      throw new ResourceMapError('overloaded', 'The request queue is full. Try again in a moment.', {
        retryAfterSeconds: RETRY_WAIT_S,
      });
    }
    return new Promise((resolve) => {
      const leave = (hasTurn: boolean): void => {
        this.#waiting.delete(waiting);
        this.#waitingBytes -= bytes;
        signal.removeEventListener('abort', gone);
        resolve(hasTurn);
      };
      const gone = (): void => leave(false);
      const waiting: Waiting = { begin: () => leave(true) };
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
      signal.addEventListener('abort', gone, { once: true });
      if (signal.aborted) gone();
    });
  }
}
