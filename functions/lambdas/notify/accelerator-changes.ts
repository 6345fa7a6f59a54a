/** Accelerators by model before and after a change, from the heads alone. */
import type { AcceleratorTotals } from '../../core/snapshot/accelerators.ts';
import type { Head } from '../../storage/head.ts';
import { isIncluded } from './span.ts';

export interface Sums {
  readonly total: bigint;
  readonly free: bigint;
  readonly unavailable: bigint;
}

/** Absent means unknown, which is not zero. */
export interface ModelChange {
  readonly model: string;
  readonly before?: Sums;
  readonly after?: Sums;
}

const NONE: Sums = { total: 0n, free: 0n, unavailable: 0n };

/**
 * One entry a model that either state knows, the present ones first. What a cluster has while
 * it is out of the map is unknown, and so is a model of which the head had no room to tell.
 */
export function acceleratorChanges(
  before: Head | undefined,
  after: Head | undefined,
): readonly ModelChange[] {
  const models = new Set<string>();
  for (const head of [after, before]) {
    if (isIncluded(head)) for (const { model } of head.accelerators) models.add(model);
  }
  return [...models].map((model) => {
    const was = sumsOf(before, model);
    const is = sumsOf(after, model);
    return {
      model,
      ...(was === undefined ? {} : { before: was }),
      ...(is === undefined ? {} : { after: is }),
    };
  });
}

/**
 * Models of which more can be had than before. Those of a cluster that was not in the map
 * could not be had at all.
 */
export function freedModels(before: Head | undefined, changes: readonly ModelChange[]): readonly string[] {
  const wasUnknown = !isIncluded(before);
  return changes
    .filter(({ before: was, after: is }) => {
      const free = wasUnknown ? 0n : was?.free;
      return is !== undefined && free !== undefined && is.free > free;
    })
    .map(({ model }) => model);
}

function sumsOf(head: Head | undefined, model: string): Sums | undefined {
  if (!isIncluded(head)) return undefined;
  const found: AcceleratorTotals | undefined = head.accelerators.find((a) => a.model === model);
  if (found !== undefined) return { total: found.total, free: found.free, unavailable: found.unavailable };
  return head.omittedModels > 0 ? undefined : NONE;
}
