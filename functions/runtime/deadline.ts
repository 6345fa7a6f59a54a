/** By when a request must have its response: work that cannot be in time is given up while the caller still listens. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Milliseconds for a request that does not ask to wait: a function ends after 29,000. */
export const REQUEST_DEADLINE_MS = 20_000;

/** Milliseconds for a request that was held: one more read, and its response, still fit in the function's time. */
export const HELD_REQUEST_DEADLINE_MS = 27_000;

interface Deadline {
  /** By `performance.now()`. */
  readonly startedAtMs: number;
  forMs: number;
}

const requests = new AsyncLocalStorage<Deadline>();

/** Runs what handles a request; what it awaits sees its deadline. */
export function withDeadline<T>(forMs: number, work: () => T): T {
  return requests.run({ startedAtMs: performance.now(), forMs }, work);
}

/** Gives the present request, which waits because its caller asked it to, the longer deadline. */
export function extendDeadline(forMs: number): void {
  const deadline = requests.getStore();
  if (deadline !== undefined) deadline.forMs = Math.max(deadline.forMs, forMs);
}

/** Milliseconds that are left to the present request; none below 0, infinite outside of requests. */
export function remainingMs(): number {
  const deadline = requests.getStore();
  if (deadline === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, deadline.startedAtMs + deadline.forMs - performance.now());
}
