/**
 * Holding a response until there is something to tell.
 *
 * Heads are looked at once a second for as long as somebody waits, and at once where this
 * process knows of a change. Those who wait share the reads.
 */
import { extendDeadline, HELD_REQUEST_DEADLINE_MS } from '../runtime/deadline.ts';

/** Between two looks at heads that another process may have changed. */
const LOOK_INTERVAL_MS = 1_000;

/** Tells those who wait that something changed. */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>();
  #changes = 0;
  #ended = false;

  /** How many changes there were. */
  get changes(): number {
    return this.#changes;
  }

  /** Responses that are held now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** True once nobody is to wait any more, since the process is about to stop. */
  get ended(): boolean {
    return this.#ended;
  }

  notify(): void {
    this.#changes++;
    for (const end of [...this.#waiting]) end();
  }

  /** Ends all waiting, now and later. */
  end(): void {
    this.#ended = true;
    this.notify();
  }

  /**
   * Resolves once there were more changes than those already seen, after so many milliseconds,
   * or when the signal aborts.
   */
  async after(seenChanges: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#changes !== seenChanges || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
      this.#waiting.add(end);
    });
  }
}

export interface WaitOptions {
  readonly changes: ChangeSignal;
  /** How long to wait at most; 0 looks once. */
  readonly waitMs: number;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

/**
 * Looks until a look finds something, the time is up, or the caller is gone.
 * @returns what the last look saw
 */
export async function pollUntil<T>(
  look: () => Promise<T>,
  finds: (seen: T) => boolean,
  { changes, waitMs, signal }: WaitOptions,
): Promise<T> {
  if (waitMs > 0) extendDeadline(HELD_REQUEST_DEADLINE_MS);
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    // Taken before the look, so that a change during it is not slept through.
    const seenChanges = changes.changes;
    const seen = await look();
    const leftMs = deadlineMs - performance.now();
    if (finds(seen) || leftMs <= 0 || changes.ended || signal.aborted) return seen;
    await changes.after(seenChanges, Math.min(LOOK_INTERVAL_MS, leftMs), signal);
  }
}
