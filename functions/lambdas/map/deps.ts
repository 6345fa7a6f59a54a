/** What the routes of the map need. */
import type { ChangeSignal } from '../../http/wait.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';

export interface MapDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Memory for bodies and finished responses. */
  readonly cacheBytes: number;
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
  /** Notified where this process makes changes; others' are found by looking. */
  readonly changes?: ChangeSignal;
  /**
   * Which routes: by default all, and `Prefer: wait` is granted on each that can wait. Deployed, one
   * function has the `plain` ones, where it is ignored, and another the `waits`.
   */
  readonly serves?: 'all' | 'plain' | 'waits';
  readonly longestWaitSeconds?: number;
}
