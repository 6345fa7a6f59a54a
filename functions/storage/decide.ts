/**
 * What a push means, given the head that is there: pure, so that every case can be
 * read, and tried, without a table.
 */
import { CounterConflictError } from '../core/errors.ts';
import { nextCounterAdvice } from '../core/snapshot/next-counter.ts';
import type { Head, Tombstone } from './head.ts';

/** What identifies a push: the three things that make two pushes the same. */
export interface PushFacts {
  readonly clusterId: string;
  readonly counter: bigint;
  readonly collectedAtNanos: bigint;
  readonly contentId: string;
}

/**
 * - `publish`: new content, or a cluster that is new or was retired.
 * - `refresh`: the content that is there, at a new counter and time, or back in the map.
 * - `repeat`: this very push stands there already; at most the received time moves.
 */
export type Decision = 'publish' | 'refresh' | 'repeat';

/** What was last accepted of a cluster: its head, or the mark that it left when it was retired. */
export type Prior =
  | { readonly kind: 'head'; readonly head: Head }
  | { readonly kind: 'retired'; readonly mark: Tombstone }
  /** Nothing; what may have been accepted before the table was restored is at most `floor`, 0 where it never was. */
  | { readonly kind: 'none'; readonly floor: bigint };

/**
 * The highest counter that was ever accepted, or may have been before the table was restored;
 * undefined if there is none.
 */
export function highWaterOf(prior: Prior): bigint | undefined {
  switch (prior.kind) {
    case 'head':
      return prior.head.highWater;
    case 'retired':
      return prior.mark.highWater;
    case 'none':
      return prior.floor > 0n ? prior.floor : undefined;
  }
}

/** @throws CounterConflictError when the counter is below the mark, or at the mark with another push. */
export function decidePush(prior: Prior, push: PushFacts): Decision {
  refuseRegression(prior, push);
  if (prior.kind === 'none') return 'publish';
  const last = prior.kind === 'head' ? { ...prior.head, contentId: prior.head.body.contentId } : prior.mark;
  const sameContent = last.contentId === push.contentId;
  if (push.counter === last.highWater) {
    if (!sameContent || push.collectedAtNanos !== last.collectedAtNanos) {
      throw new CounterConflictError(
        'counter_reused',
        `Counter ${push.counter} of cluster ${JSON.stringify(push.clusterId)} was accepted before with ` +
          `another ${sameContent ? 'collected_at' : 'content'}; ${nextCounterAdvice(last.highWater)}.`,
        last.highWater,
      );
    }
    if (prior.kind === 'head' && prior.head.omission === undefined) return 'repeat';
  }
  // A retired cluster's body is long gone.
  return sameContent && prior.kind === 'head' ? 'refresh' : 'publish';
}

/**
 * The part of the decision that needs no digest, to refuse before any work is done.
 *
 * @throws CounterConflictError
 */
export function refuseRegression(
  prior: Prior,
  push: { readonly clusterId: string; readonly counter: bigint },
): void {
  if (prior.kind === 'none') {
    refuseBelowFloor(prior.floor, push);
    return;
  }
  const highWater = highWaterOf(prior);
  if (highWater === undefined || push.counter >= highWater) return;
  throw new CounterConflictError(
    'counter_regressed',
    `Counter ${push.counter} of cluster ${JSON.stringify(push.clusterId)} is below ${highWater}, ` +
      `which was accepted before; ${nextCounterAdvice(highWater)}.`,
    highWater,
  );
}

/** The floor itself may have been accepted too, with whatever content. */
function refuseBelowFloor(
  floor: bigint,
  push: { readonly clusterId: string; readonly counter: bigint },
): void {
  if (push.counter > floor) return;
  throw new CounterConflictError(
    'counter_regressed',
    `Counter ${push.counter} of cluster ${JSON.stringify(push.clusterId)} may have been accepted before this service's ` +
      `data was restored; ${nextCounterAdvice(floor)}.`,
    floor,
  );
}
