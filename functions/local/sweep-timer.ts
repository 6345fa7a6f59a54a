/** Calls the sweeper, as a schedule does in AWS. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Membership } from '../core/membership.ts';
import { type SweepDeps, sweep } from '../lambdas/expire/sweep.ts';

export const SWEEP_EVERY_MS = 30_000;

/** A timer that runs. */
export interface SweepTimer {
  /** Ends with the sweep under way. */
  stop(): Promise<void>;
}

/**
 * Sweeps again and again, one sweep at a time. The first comes after a pause: while the service
 * was down nobody could push, and agents that are alive push before it.
 */
export function startSweepTimer(deps: SweepDeps, membership: Membership, everyMs: number): SweepTimer {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      // A shard that fails is in the log; the next sweep tries it again.
      await sweep(deps, membership, Date.now());
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
