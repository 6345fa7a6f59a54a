import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; a signal ends it with the signal's own reason, where Node would throw an AbortError. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
