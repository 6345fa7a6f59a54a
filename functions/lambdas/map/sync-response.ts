/** Answers a sync: plans it over the heads, and reads the bodies that the plan sends. */
import { type FilterFacts, isWholeMap, type MapFilter } from '../../core/map/filter.ts';
import { planSync, type SyncHead, type SyncResult } from '../../core/map/sync.ts';
import type { FilterFactsReader } from '../../reading/filter-facts.ts';
import { type ContentFormat, entryOf, type MapReader, versionOf } from '../../reading/map-reader.ts';
import type { Head } from '../../storage/head.ts';
import { continuationOf } from './sync-continuation.ts';

export interface SyncQuery {
  readonly callerClock: ReadonlyMap<string, bigint>;
  readonly filter: MapFilter;
  readonly maxBytes: number;
  /** See {@link SyncInput.after}. */
  readonly after?: string | undefined;
}

/**
 * Time, counter and braces around a snapshot. With it the budget holds in both formats.
 */
const ENTRY_BYTES = 100;

/** Answers from the heads as they are now. */
export async function syncResponse(
  map: MapReader,
  facts: FilterFactsReader,
  query: SyncQuery,
  form: ContentFormat,
): Promise<SyncResult> {
  let heads = await map.includedHeads();
  for (;;) {
    const plan = planSync<PlannedHead>({
      ...query,
      format: form.format,
      heads: await plannedHeads(heads, facts, query.filter),
      snapshotBytes: ({ head }) => map.bodyBytes(head, form.format) + ENTRY_BYTES,
    });
    const sent = plan.changed.map(({ head }) => head);
    const { readable, contents } = await map.readContents(sent, form);
    if (readable === sent) {
      const { next, ...rest } = plan;
      return {
        ...rest,
        changed: sent.map((head) => entryOf(head, contents)),
        ...(next === undefined ? {} : { continuation: continuationOf(next) }),
      };
    }
    // A cluster that cannot be read is not in the map, and one that moved on is elsewhere in
    // the clock: the etag and all else must be those of the map that is in fact sent.
    heads = replaced(heads, sent, readable);
  }
}

/** Whether the response has nothing to tell, so that a caller who can wait had better wait. */
export function reportsNothing(response: SyncResult): boolean {
  return response.changed.length === 0 && response.refreshed.length === 0 && response.omitted.length === 0;
}

interface PlannedHead extends SyncHead {
  readonly head: Head;
}

/** Those of the whole map, by the array of its heads, which is the same until something changes. */
const wholeMap = new WeakMap<readonly Head[], readonly PlannedHead[]>();

async function plannedHeads(
  heads: readonly Head[],
  facts: FilterFactsReader,
  filter: MapFilter,
): Promise<readonly PlannedHead[]> {
  const known = isWholeMap(filter) ? wholeMap.get(heads) : undefined;
  if (known !== undefined) return known;
  const factsOf = await facts.read(heads, filter);
  const planned = heads.map((head) => plannedHead(head, factsOf(head)));
  if (isWholeMap(filter)) wholeMap.set(heads, planned);
  return planned;
}

function plannedHead(head: Head, facts: FilterFacts): PlannedHead {
  return {
    head,
    ...versionOf(head),
    ...facts,
    contentSinceCounter: head.contentSince.counter,
    contentSinceMs: head.contentSince.atMs,
  };
}

/** `heads` with those of `before` as they are in `after`, or gone. */
function replaced(heads: readonly Head[], before: readonly Head[], after: readonly Head[]): readonly Head[] {
  const asked = new Set(before.map((head) => head.clusterId));
  return [...heads.filter((head) => !asked.has(head.clusterId)), ...after];
}
