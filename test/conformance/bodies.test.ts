import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  type BatchGetItemCommandOutput,
  DeleteItemCommand,
  type DynamoDBClient,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { CONTENT_RENEW_S } from '../../functions/core/membership.ts';
import { contentIdOf, deflateContent, type EncodedContent } from '../../functions/core/snapshot/content.ts';
import { commitSnapshot, omitCluster, readPrior } from '../../functions/storage/commit.ts';
import { CONTENT_TTL_S, ContentStore, PART_BYTES } from '../../functions/storage/contents.ts';
import { StoreUnavailableError } from '../../functions/storage/errors.ts';
import { NOW_MS } from '../core/snapshot/builders.ts';
import { localClient } from '../engines/dynamodb-local.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { commit, contentOf, headOf, pushOf } from './pushes.ts';

const NOW_S = NOW_MS / 1_000;

async function bodyOf(bytes: number): Promise<EncodedContent> {
  const raw = randomBytes(bytes);
  return deflateContent(contentIdOf('c1', raw), raw);
}

/** Every part in the table: its key, its length and when it expires. */
async function storedParts({ client, tables }: TestStore) {
  const { Items = [] } = await client.send(new ScanCommand({ TableName: tables.contents }));
  return Items.map((item) => ({
    key: { bodyId: item.bodyId ?? { NULL: true }, part: item.part ?? { NULL: true } },
    part: Number(item.part?.N),
    bytes: item.data?.B?.length ?? 0,
    expiresAtS: Number(item.expiresAt?.N),
  })).sort((a, b) => a.part - b.part);
}

/** What DynamoDB's time to live does, when it gets round to it. */
async function expireAll(store: TestStore, from = 0): Promise<void> {
  for (const { key } of (await storedParts(store)).slice(from)) {
    await store.client.send(new DeleteItemCommand({ TableName: store.tables.contents, Key: key }));
  }
}

/** Has a real client answer its batch reads as a throttled table does: `keep` of the items, the other keys unprocessed. */
function throttleBatchReads(
  client: DynamoDBClient,
  keep: (request: number, items: number) => number,
): number[] {
  const answered: number[] = [];
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next(args);
      if (context.commandName !== 'BatchGetItemCommand') return result;
      const output = result.output as BatchGetItemCommandOutput;
      for (const [table, items] of Object.entries(output.Responses ?? {})) {
        const kept = Math.min(items.length, keep(answered.length, items.length));
        const left = items.splice(kept).map(({ bodyId, part }) => ({ bodyId, part }));
        if (left.length > 0) output.UnprocessedKeys = { [table]: { Keys: left as never } };
        answered.push(kept);
      }
      return result;
    },
    { step: 'initialize' },
  );
  return answered;
}

describe.each(engines)('bodies on $name', (engine) => {
  it('are kept in parts that an item can hold, for a day', async () => {
    const store = await freshStore(engine);
    const body = await bodyOf(2 * PART_BYTES + 1_000);
    const ref = await store.contents.write(body, NOW_MS);
    expect(ref).toMatchObject({ parts: 3, storedBytes: body.deflated.length, expiresAtS: NOW_S + 86_400 });
    const parts = await storedParts(store);
    expect(parts.map((p) => p.bytes)).toEqual([
      PART_BYTES,
      PART_BYTES,
      body.deflated.length - 2 * PART_BYTES,
    ]);
    expect(new Set(parts.map((p) => p.expiresAtS))).toEqual(new Set([NOW_S + CONTENT_TTL_S]));
  });

  it('are read back whole, many at a time, and those that are not there are absent', async () => {
    const store = await freshStore(engine);
    const contents = await Promise.all(
      [0, 1, PART_BYTES, ...Array<number>(110).fill(500)].map((bytes) => bodyOf(bytes)),
    );
    const refs = await Promise.all(contents.map((body) => store.contents.write(body, NOW_MS)));
    const absent = { ...(await store.contents.write(await bodyOf(10), NOW_MS)), contentId: '00'.repeat(32) };
    const read = await store.contents.read([...refs, absent]);
    expect(read.size).toBe(new Set(contents.map((b) => b.contentId)).size);
    for (const { contentId, deflated } of contents) {
      expect(Buffer.from(read.get(contentId) ?? []).equals(deflated)).toBe(true);
    }
  });

  it('of which a part is gone are absent', async () => {
    const store = await freshStore(engine);
    const ref = await store.contents.write(await bodyOf(2 * PART_BYTES), NOW_MS);
    await expireAll(store, 1);
    expect((await store.contents.read([ref])).size).toBe(0);
  });

  it('are read whole though a throttled table leaves keys unprocessed', async () => {
    const store = await freshStore(engine);
    const contents = await Promise.all(Array.from({ length: 30 }, () => bodyOf(100)));
    const refs = await Promise.all(contents.map((body) => store.contents.write(body, NOW_MS)));
    const client = localClient(engine.endpoint);
    // Two answers with nothing at all, then a third of what was asked each time.
    const answered = throttleBatchReads(client, (request, items) => (request < 2 ? 0 : Math.ceil(items / 3)));
    const read = await new ContentStore(client, store.tables).read(refs);
    expect(read.size).toBe(30);
    expect(answered.slice(0, 4)).toEqual([0, 0, 10, 7]);
    client.destroy();
  });

  it('give up on a table that leaves everything unprocessed, and say that a retry makes sense', async () => {
    const store = await freshStore(engine);
    const ref = await store.contents.write(await bodyOf(100), NOW_MS);
    const client = localClient(engine.endpoint);
    const answered = throttleBatchReads(client, () => 0);
    await expect(new ContentStore(client, store.tables).read([ref])).rejects.toThrow(StoreUnavailableError);
    expect(answered).toEqual(Array(8).fill(0));
    client.destroy();
  });

  it('of one content under two versions of zlib do not overwrite each other', async () => {
    const store = await freshStore(engine);
    const stale = await readPrior(store.heads, 'c1');
    const push = pushOf({ counter: 1n, content: 'X'.repeat(400) });
    await commitSnapshot(store, push, stale, NOW_MS);
    // The retry of the same push, on an instance whose zlib finds other matches.
    const otherZlib = {
      ...push,
      encode: async () => {
        const body = await push.encode();
        const raw = inflateRawSync(body.deflated, { finishFlush: constants.Z_SYNC_FLUSH });
        const deflated = deflateRawSync(raw, { level: 0, finishFlush: constants.Z_SYNC_FLUSH });
        expect(deflated.length).not.toBe(body.deflated.length);
        return { ...body, deflated };
      },
    };
    expect((await commitSnapshot(store, otherZlib, stale, NOW_MS)).decision).toBe('repeat');
    expect(await contentOf(store, await headOf(store))).toBe('X'.repeat(400));
  });

  describe('under a head', () => {
    const X = (counter: bigint) => pushOf({ counter, content: 'X' });
    const renewalDue = NOW_MS + (CONTENT_TTL_S - CONTENT_RENEW_S) * 1_000;

    it('stay as they are while they have half their life left', async () => {
      const store = await freshStore(engine);
      await commit(store, X(1n), NOW_MS);
      await commit(store, X(2n), renewalDue);
      expect((await headOf(store)).body.expiresAtS).toBe(NOW_S + CONTENT_TTL_S);
      expect((await storedParts(store)).map((p) => p.expiresAtS)).toEqual([NOW_S + CONTENT_TTL_S]);
    });

    it('are written again once they have not, which changes no content', async () => {
      const store = await freshStore(engine);
      await commit(store, X(1n), NOW_MS);
      const { decision, head } = await commit(store, X(2n), renewalDue + 1_000);
      const expiresAtS = NOW_S + 1 + CONTENT_TTL_S - CONTENT_RENEW_S + CONTENT_TTL_S;
      expect([decision, head.contentSince.counter, head.body.expiresAtS]).toEqual([
        'refresh',
        1n,
        expiresAtS,
      ]);
      expect((await storedParts(store)).map((p) => p.expiresAtS)).toEqual([expiresAtS]);
    });

    it('are written again after they expired', async () => {
      const store = await freshStore(engine);
      await commit(store, X(1n), NOW_MS);
      await expireAll(store);
      const late = NOW_MS + 2 * CONTENT_TTL_S * 1_000;
      expect((await commit(store, X(2n), late)).decision).toBe('refresh');
      expect(await contentOf(store, await headOf(store))).toBe('X');
    });

    it('are written again by a push that read the head before the cluster was omitted', async () => {
      const store = await freshStore(engine);
      await commit(store, X(1n), NOW_MS);
      const stale = await readPrior(store.heads, 'c1');
      await omitCluster(store.heads, 'c1', 'body lost', NOW_MS);
      await expireAll(store);
      await commitSnapshot(store, X(2n), stale, NOW_MS + 1);
      expect(await contentOf(store, await headOf(store))).toBe('X');
    });

    it('are written again when an omitted cluster comes back, which fixes one that was lost', async () => {
      const store = await freshStore(engine);
      await commit(store, X(1n), NOW_MS);
      await expireAll(store);
      await omitCluster(store.heads, 'c1', 'body lost', NOW_MS);
      await commit(store, X(1n), NOW_MS + 1);
      expect(await contentOf(store, await headOf(store))).toBe('X');
    });
  });
});
