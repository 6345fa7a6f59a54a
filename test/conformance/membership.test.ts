import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { CounterConflictError } from '../../functions/core/errors.ts';
import { commitSnapshot, omitCluster, readPrior } from '../../functions/storage/commit.ts';
import { ClusterNotFoundError, HeadConflictError } from '../../functions/storage/errors.ts';
import { tombstoneToItem } from '../../functions/storage/head-item.ts';
import { retiredPartition, shardOf } from '../../functions/storage/tables.ts';
import { NOW_MS } from '../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { commit, contentOf, headOf, pushOf } from './pushes.ts';

const X7 = pushOf({ counter: 7n, content: 'X' });

describe.each(engines)('membership on $name', (engine) => {
  /** A store whose only cluster was pushed at 7 with X and then taken out. */
  async function omitted(): Promise<TestStore> {
    const store = await freshStore(engine);
    await commit(store, X7);
    await omitCluster(store.heads, 'c1', 'maintenance', NOW_MS + 1);
    return store;
  }

  it('an omitted cluster keeps its mark and says why and since when it is out', async () => {
    const head = await headOf(await omitted());
    expect([head.omission, head.highWater]).toEqual([{ reason: 'maintenance', atMs: NOW_MS + 1 }, 7n]);
  });

  it('omitting a cluster that is out changes nothing', async () => {
    const store = await omitted();
    const again = await omitCluster(store.heads, 'c1', 'another reason', NOW_MS + 9);
    expect(again.omission).toEqual({ reason: 'maintenance', atMs: NOW_MS + 1 });
    expect(await headOf(store)).toEqual(again);
  });

  it('omitting a cluster that never was is refused', async () => {
    const store = await freshStore(engine);
    await expect(omitCluster(store.heads, 'nobody', 'r', NOW_MS)).rejects.toThrow(ClusterNotFoundError);
  });

  it('a push below the mark does not bring it back', async () => {
    const store = await omitted();
    await expect(commit(store, pushOf({ counter: 6n, content: 'X' }))).rejects.toThrow(CounterConflictError);
    expect((await headOf(store)).omission).toBeDefined();
  });

  it('another push at the mark does not bring it back', async () => {
    const store = await omitted();
    await expect(commit(store, pushOf({ counter: 7n, content: 'Y' }))).rejects.toThrow(CounterConflictError);
    expect((await headOf(store)).omission).toBeDefined();
  });

  it('the same push at the mark brings it back, and was not just answered', async () => {
    const store = await omitted();
    const { decision } = await commit(store, X7, NOW_MS + 5);
    const head = await headOf(store);
    expect([decision, head.omission, head.highWater, head.receivedAtMs]).toEqual([
      'refresh',
      undefined,
      7n,
      NOW_MS + 5,
    ]);
    // The map shows the content again only from now on; that it is the content of 7 stands.
    expect(head.contentSince).toEqual({ counter: 7n, atMs: NOW_MS + 5 });
  });

  it('the same content above the mark brings it back with its age', async () => {
    const store = await omitted();
    const { decision, head } = await commit(store, pushOf({ counter: 9n, content: 'X' }));
    expect([decision, head.omission, head.contentSince.counter]).toEqual(['refresh', undefined, 7n]);
  });

  it('other content above the mark brings it back as new', async () => {
    const store = await omitted();
    const { decision, head } = await commit(store, pushOf({ counter: 9n, content: 'Y' }));
    expect([decision, head.omission, head.contentSince.counter]).toEqual(['publish', undefined, 9n]);
    expect(await contentOf(store, head)).toBe('Y');
  });

  it('a push that read the cluster before it was omitted decides again', async () => {
    const store = await freshStore(engine);
    await commit(store, X7);
    const stale = await readPrior(store.heads, 'c1');
    await omitCluster(store.heads, 'c1', 'r', NOW_MS + 1);
    const { decision } = await commitSnapshot(
      store,
      pushOf({ counter: 8n, content: 'X' }),
      stale,
      NOW_MS + 2,
    );
    const head = await headOf(store);
    expect([decision, head.omission, head.highWater]).toEqual(['refresh', undefined, 8n]);
  });

  it('an omission that read the head before a push came is refused: the cluster is alive', async () => {
    const store = await freshStore(engine);
    await commit(store, X7, NOW_MS);
    const stale = await headOf(store);
    await commit(store, pushOf({ counter: 8n, content: 'X' }), NOW_MS + 1);
    await expect(store.heads.omit(stale, 'silent', NOW_MS + 2)).rejects.toThrow(HeadConflictError);
    expect((await headOf(store)).omission).toBeUndefined();
  });

  it('an omission that read the head before the cluster went and came back is refused', async () => {
    const store = await freshStore(engine);
    await commit(store, X7, NOW_MS);
    const stale = await headOf(store);
    await omitCluster(store.heads, 'c1', 'r', NOW_MS + 1);
    await commit(store, X7, NOW_MS + 2);
    await expect(store.heads.omit(stale, 'silent', NOW_MS + 3)).rejects.toThrow(HeadConflictError);
  });

  it('an omission is refused by a push in the very millisecond of the one that it read', async () => {
    const store = await freshStore(engine);
    await commit(store, X7, NOW_MS);
    const stale = await headOf(store);
    await commit(store, pushOf({ counter: 8n, content: 'X' }), NOW_MS);
    await expect(store.heads.omit(stale, 'silent', NOW_MS)).rejects.toThrow(HeadConflictError);
  });

  it('of two omissions the first stands', async () => {
    const store = await freshStore(engine);
    await commit(store, X7, NOW_MS);
    const seen = await headOf(store);
    await store.heads.omit(seen, 'deleted', NOW_MS + 1);
    await expect(store.heads.omit(seen, 'silent', NOW_MS + 2)).rejects.toThrow(HeadConflictError);
    expect((await headOf(store)).omission).toEqual({ reason: 'deleted', atMs: NOW_MS + 1 });
  });

  describe('after a cluster was retired at 7 with X', () => {
    async function retired(): Promise<TestStore> {
      const store = await freshStore(engine);
      const mark = { clusterId: 'c1', highWater: 7n, collectedAtNanos: 7n, contentId: X7.contentId };
      const partition = retiredPartition(shardOf('c1', store.tables.shards));
      await store.client.send(
        new PutItemCommand({ TableName: store.tables.heads, Item: tombstoneToItem(mark, partition) }),
      );
      return store;
    }

    it('no read of all heads shows it', async () => {
      const store = await retired();
      expect(await store.heads.readAll()).toEqual({ heads: [], unreadable: [] });
    });

    it.each([
      ['counter_regressed', pushOf({ counter: 6n, content: 'X' })],
      ['counter_reused', pushOf({ counter: 7n, content: 'Y' })],
      ['counter_reused', pushOf({ counter: 7n, content: 'X', collectedAtNanos: 8n })],
    ])('its mark refuses as %s', async (code, push) => {
      const store = await retired();
      await expect(commit(store, push)).rejects.toMatchObject({ code, highWater: 7n });
      expect(await store.heads.read('c1')).toBeUndefined();
    });

    it.each([7n, 8n])('a push of X at %s publishes it, body and all', async (counter) => {
      const store = await retired();
      const { decision, head } = await commit(store, pushOf({ counter, content: 'X', collectedAtNanos: 7n }));
      expect([decision, head.contentSince.counter]).toEqual(['publish', counter]);
      expect(await contentOf(store, await headOf(store))).toBe('X');
    });
  });
});
