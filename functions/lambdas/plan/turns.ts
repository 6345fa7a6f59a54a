/**
 * Long computations beside everything else that a process does: in the local service that is
 * all of it. A function that answers one request at a time loses nothing by them.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Stepwise } from '../../core/stepwise.ts';

/** How long others wait for their turn. A request needs several, since it waits for the store, too. */
const TURN_MS = 10;

let lastTurn: Promise<void> = Promise.resolve();

/** Computations take turns among themselves as well: many of them keep others waiting no longer than one. */
function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => yieldToEventLoop());
  return lastTurn;
}

/**
 * Does the work in turns of some ten milliseconds.
 *
 * @param signal of the request; once it is aborted nobody wants the response
 */
export async function inTurns<T>(work: Stepwise<T>, signal: AbortSignal): Promise<T | 'abandoned'> {
  for (;;) {
    await nextTurn();
    if (signal.aborted) return 'abandoned';
    const startedMs = performance.now();
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (performance.now() - startedMs < TURN_MS);
  }
}

/** What a request is answered whose client has gone: nobody reads it. */
export function clientClosedRequest(): Response {
  return new Response(null, { status: 499 });
}
