/** How old a snapshot may be to count: what a caller decides on must not be older than they accept. */
import type { Duration } from '@bufbuild/protobuf/wkt';
import { nanosOfMs } from './timestamp.ts';
import { compareUtf8 } from './utf8-order.ts';

type Nanos = bigint;

const NANOS_PER_SECOND = 1_000_000_000n;

/**
 * Nanoseconds of a `max_age`; nothing if there is none.
 *
 * @param refuse throws what the request is refused with, given what is wrong
 */
export function maxAgeOf(
  duration: Pick<Duration, 'seconds' | 'nanos'> | undefined,
  refuse: (fault: string) => never,
): Nanos | undefined {
  if (duration === undefined) return undefined;
  const nanos = duration.seconds * NANOS_PER_SECOND + BigInt(duration.nanos);
  return nanos > 0n ? nanos : refuse('must be above 0, such as 90s');
}

/** What of a head its age depends on. */
interface Dated {
  readonly clusterId: string;
  readonly collectedAtNanos: Nanos;
}

/** Clusters that are fresh enough, and the ids of those that are not. */
export interface Freshness<H extends Dated> {
  /** False for a stale cluster, whose id is then among {@link staleClusters}. */
  readonly isFresh: (head: H) => boolean;
  /** In order of ids. */
  readonly staleClusters: () => string[];
}

/** @param maxAge absent: every cluster is fresh */
export function freshness<H extends Dated>(maxAge: Nanos | undefined, nowMs: number): Freshness<H> {
  const stale = new Set<string>();
  return {
    isFresh: ({ clusterId, collectedAtNanos }) => {
      if (maxAge === undefined || nanosOfMs(nowMs) - collectedAtNanos <= maxAge) return true;
      stale.add(clusterId);
      return false;
    },
    staleClusters: () => [...stale].sort(compareUtf8),
  };
}
