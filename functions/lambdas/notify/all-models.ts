/**
 * Every accelerator model of a change. A head leaves out those that it has no room for, and then a
 * rule on `acceleratorsFreed` would never match them; the content has them all.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { Fragment } from '../../core/map/fragment.ts';
import { type AcceleratorTotals, acceleratorTotals } from '../../core/snapshot/accelerators.ts';
import { ClusterResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { ContentStore } from '../../storage/contents.ts';
import type { ContentRef, Head } from '../../storage/head.ts';
import { isIncluded, type Span } from './span.ts';

/**
 * The same spans, in which heads that left models out have all of them. Contents are read for those
 * alone, and only if the content changed. A head whose content cannot be read stays as it is: what it
 * left out is then unknown.
 */
export async function withAllModels(
  spans: readonly Span[],
  contents: Pick<ContentStore, 'read'>,
): Promise<readonly Span[]> {
  const refs = new Map<string, ContentRef>();
  for (const { before, after } of spans) {
    if (before?.body.contentId === after?.body.contentId && isIncluded(before) === isIncluded(after))
      continue;
    for (const head of [before, after]) {
      if (isIncluded(head) && head.omittedModels > 0) refs.set(head.body.contentId, head.body);
    }
  }
  if (refs.size === 0) return spans;
  const totals = await readTotals([...refs.values()], contents);
  const whole = <H extends Head | undefined>(head: H): H => {
    const accelerators = head === undefined ? undefined : totals.get(head.body.contentId);
    return accelerators === undefined ? head : { ...head, accelerators, omittedModels: 0 };
  };
  return spans.map((span) => ({
    ...span,
    ...(span.before === undefined ? {} : { before: whole(span.before) }),
    ...(span.after === undefined ? {} : { after: whole(span.after) }),
    ...(span.latest === undefined ? {} : { latest: whole(span.latest) }),
  }));
}

async function readTotals(
  refs: readonly ContentRef[],
  contents: Pick<ContentStore, 'read'>,
): Promise<ReadonlyMap<string, readonly AcceleratorTotals[]>> {
  const totals = new Map<string, readonly AcceleratorTotals[]>();
  const read = await contents.read(refs);
  for (const { contentId, rawBytes, crc32 } of refs) {
    const deflated = read.get(contentId);
    if (deflated === undefined) continue;
    try {
      const content = Fragment.verify(deflated, rawBytes, crc32).raw();
      totals.set(contentId, acceleratorTotals(fromBinary(ClusterResourceMapSchema, content)));
    } catch {
      // Damaged. The map says so; an event without these models is better than none.
    }
  }
  return totals;
}
