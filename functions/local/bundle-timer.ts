/** Keeps stored bundles placed while the local service runs, as a schedule does in AWS. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangeSignal } from '../http/wait.ts';
import type { BundleKeeper } from '../lambdas/plan/bundle-keeper.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

/** A minute in AWS; locally people look on. */
export const ROUND_EVERY_MS = 10_000;

/** A timer that runs. */
export interface BundleTimer {
  /** Ends with the round under way, after the bundle that is being kept. */
  stop(): Promise<void>;
}

/** One round at a time; the first comes after a pause, as with the sweeper. */
export function startBundleTimer(
  keeper: BundleKeeper,
  telemetry: Telemetry,
  changes: ChangeSignal,
  everyMs: number,
): BundleTimer {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        const { bundles } = await keeper.round(stopping.signal);
        if (bundles > 0) changes.notify();
      } catch (cause) {
        // The next round tries again.
        telemetry.error('bundles not reconciled', { cause });
      }
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
