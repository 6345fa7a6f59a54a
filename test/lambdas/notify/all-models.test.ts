import { toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { contentIdOf, deflateContent } from '../../../functions/core/snapshot/content.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { withAllModels } from '../../../functions/lambdas/notify/all-models.ts';
import { eventOf } from '../../../functions/lambdas/notify/event.ts';
import { entryBytes, MAX_REQUEST_BYTES } from '../../../functions/lambdas/notify/publisher.ts';
import { type Span, spansOf } from '../../../functions/lambdas/notify/span.ts';
import type { ContentRef, Head } from '../../../functions/storage/head.ts';
import { nodeType, pool, snapshotOf } from '../../core/snapshot/builders.ts';
import { headOf } from './builders.ts';

const totals = (free: bigint) => ({ total: 8n, free, unavailable: 0n });

/** A head that has room for the first model alone, and its content. */
async function cut(counter: bigint, models: readonly string[], used: number) {
  const nodeTypes = models.map((acceleratorModel, i) =>
    nodeType({
      id: `t${i}`,
      acceleratorModel,
      totalCount: 1,
      inUse: used === 0 ? [] : [{ externalAcceleratorsInUse: used }],
    }),
  );
  const raw = toBinary(ClusterResourceMapSchema, snapshotOf({ capacityPools: [pool({ nodeTypes })] }));
  const { contentId, deflated, rawBytes, crc32 } = await deflateContent(contentIdOf('c', raw), raw);
  const ref: ContentRef = {
    ...headOf().body,
    contentId,
    rawBytes,
    crc32,
    storedBytes: deflated.length,
    parts: 1,
  };
  const [model = ''] = models;
  const head: Head = {
    ...headOf({ clusterId: 'c' }),
    highWater: counter,
    contentSince: { counter, atMs: 0 },
    body: ref,
    accelerators: [{ model, ...totals(BigInt(8 - used)) }],
    omittedModels: models.length - 1,
  };
  return { head, deflated };
}

async function change(models: readonly string[]) {
  const before = await cut(1n, models, 8);
  const after = await cut(2n, models, 0);
  const span: Span = {
    ...spansOf([{ clusterId: 'c', before: before.head, after: after.head, sequenceNumber: '1', atMs: 0 }])[0],
  } as Span;
  const asked: string[] = [];
  const contents = (gone: boolean) => ({
    read: async (refs: readonly ContentRef[]) => {
      asked.push(...refs.map(({ contentId }) => contentId));
      return new Map(
        gone ? [] : [before, after].map(({ head, deflated }) => [head.body.contentId, deflated] as const),
      );
    },
  });
  return { span, contents, asked };
}

function detailOf(span: Span | undefined) {
  const event = span && eventOf(span, false);
  if (event === undefined) throw new Error('no event');
  return { event, detail: JSON.parse(event.detail) };
}

describe('The models of a change whose heads left some out', () => {
  const models = ['H100', 'H200', 'L4'];

  it('are all of them, from the contents', async () => {
    const { span, contents } = await change(models);
    const [whole] = await withAllModels([span], contents(false));
    const { detail } = detailOf(whole);
    expect([detail.acceleratorsFreed, detail.omittedAcceleratorModels]).toEqual([models, 0]);
    expect(detail.accelerators.map((a: { model: string }) => a.model)).toEqual(models);
  });

  it('are those of the heads if the contents cannot be read', async () => {
    const { span, contents } = await change(models);
    const [same] = await withAllModels([span], contents(true));
    const { detail } = detailOf(same);
    expect([detail.acceleratorsFreed, detail.omittedAcceleratorModels]).toEqual([['H100'], 2]);
  });

  it('need no content if no head left any out, or nothing but time and counter changed', async () => {
    const { span, contents, asked } = await change(['H100']);
    expect(await withAllModels([span], contents(false))).toEqual([span]);
    const { span: many } = await change(models);
    const refreshed = { ...many, before: many.after } as Span;
    expect(await withAllModels([refreshed], contents(false))).toEqual([refreshed]);
    expect(asked).toEqual([]);
  });

  it('fit into an event, however many there are and however long their names', async () => {
    const { span, contents } = await change(
      Array.from({ length: 3_000 }, (_, i) => `${i}-${'é'.repeat(100)}`),
    );
    const [whole] = await withAllModels([span], contents(false));
    const { event, detail } = detailOf(whole);
    expect(entryBytes({ Source: 's', DetailType: event.detailType, Detail: event.detail })).toBeLessThan(
      MAX_REQUEST_BYTES,
    );
    expect(detail.acceleratorsFreed.length).toBeGreaterThan(100);
    expect(detail.accelerators.length + detail.omittedAcceleratorModels).toBe(3_000);
  });
});
