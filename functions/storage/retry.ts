/** Waiting between tries: full jitter, so that writers who met once do not meet again. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Capped exponential backoff. */
export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Waits a random time between 0 and `min(cap, base · 2^attempt)`.
 * Source: "Exponential Backoff And Jitter", AWS Architecture Blog, full jitter.
 */
export async function backOff({ baseMs, capMs }: Backoff, attempt: number): Promise<void> {
  await sleep(Math.random() * Math.min(capMs, baseMs * 2 ** attempt));
}

/** Runs `work` over all items with at most `width` of them under way; stops at the first error. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // A generator, since that is over for every lane as soon as one of them leaves its loop.
  const queue = each(items);
  const lanes = Array.from({ length: Math.min(width, items.length) }, async () => {
    for (const item of queue) await work(item);
  });
  await Promise.all(lanes);
}

function* each<T>(items: readonly T[]): Generator<T> {
  yield* items;
}
