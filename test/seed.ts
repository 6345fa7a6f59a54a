import fc from 'fast-check';
import { afterAll, vi } from 'vitest';

/** The same property tests in every run; FC_SEED gives others. A failing one prints its seed. */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 14) });

// Files share a process: what one leaves replaced would be seen by the next, in an order that differs from run to run.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});
