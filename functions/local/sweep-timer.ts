/** Calls the sweepers, as schedules do in AWS. */
import { setTimeout as sleep } from 'node:timers/promises';

export const SWEEP_EVERY_MS = 30_000;

/** A timer that runs. */
export interface SweepTimer {
  /** Ends with the sweep under way. */
  stop(): Promise<void>;
}

/**
 * Sweeps again and again, one sweep at a time. The first comes after a pause: while the service
 * was down nobody could push, and agents that are alive push before it.
 *
 * @param sweep does not throw: a shard that fails is in the log, and the next sweep tries it again
 */
export function startSweepTimer(sweep: () => Promise<unknown>, everyMs: number): SweepTimer {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await sweep();
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
