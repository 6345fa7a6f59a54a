import { describe, expect, it } from 'vitest';
import { CounterConflictError } from '../../functions/core/errors.ts';
import { NO_LOSS } from '../../functions/core/snapshot/rules/index.ts';
import { commitSnapshot, readPrior } from '../../functions/storage/commit.ts';
import { HeadConflictError } from '../../functions/storage/errors.ts';
import { NOW_MS } from '../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { commit, contentOf, headOf, pushOf } from './pushes.ts';

/** The last counter that has a successor. */
const LAST_COUNTER = 18_446_744_073_709_551_614n;

async function refusal(promise: Promise<unknown>): Promise<CounterConflictError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CounterConflictError) return error;
  throw new Error('The push was not refused as a conflict of counters.', { cause: error });
}

describe.each(engines)('a commit on $name', (engine) => {
  it('publishes the first snapshot of a cluster', async () => {
    const store = await freshStore(engine);
    const { decision, head } = await commit(store, pushOf({ counter: 7n, content: 'X' }));
    expect(decision).toBe('publish');
    expect(await headOf(store)).toEqual(head);
    expect(head).toMatchObject({
      highWater: 7n,
      collectedAtNanos: 7n,
      receivedAtMs: NOW_MS,
      contentSince: { counter: 7n, atMs: NOW_MS },
    });
    expect(await contentOf(store, head)).toBe('X');
  });

  it('publishes new content at a higher counter', async () => {
    const store = await freshStore(engine);
    await commit(store, pushOf({ counter: 7n, content: 'X' }), NOW_MS);
    const { decision, head } = await commit(store, pushOf({ counter: 9n, content: 'Y' }), NOW_MS + 5);
    expect([decision, head.highWater, head.contentSince]).toEqual([
      'publish',
      9n,
      { counter: 9n, atMs: NOW_MS + 5 },
    ]);
    expect(await contentOf(store, await headOf(store))).toBe('Y');
  });

  it('refreshes content that stands: counter and time move, the content keeps its age and body', async () => {
    const store = await freshStore(engine);
    const first = await commit(store, pushOf({ counter: 7n, content: 'X' }), NOW_MS);
    const { decision } = await commit(
      store,
      pushOf({ counter: 8n, content: 'X', collectedAtNanos: 99n }),
      NOW_MS + 5,
    );
    expect(decision).toBe('refresh');
    expect(await headOf(store)).toEqual({
      ...first.head,
      highWater: 8n,
      collectedAtNanos: 99n,
      receivedAtMs: NOW_MS + 5,
    });
  });

  it('answers the same push again without writing', async () => {
    const store = await freshStore(engine);
    const first = await commit(store, pushOf({ counter: 7n, content: 'X' }), NOW_MS);
    const again = await commit(store, pushOf({ counter: 7n, content: 'X' }), NOW_MS + 5);
    expect(again).toEqual({ decision: 'repeat', head: first.head });
    expect(await headOf(store)).toEqual(first.head);
  });

  it('refuses a counter below the mark, and says the mark', async () => {
    const store = await freshStore(engine);
    await commit(store, pushOf({ counter: 7n, content: 'X' }));
    const error = await refusal(commit(store, pushOf({ counter: 6n, content: 'X' })));
    expect([error.code, error.detail, error.details]).toEqual([
      'counter_regressed',
      'Counter 6 of cluster "c1" is below 7, which was accepted before; use 8 or above.',
      { highWaterMark: 7n },
    ]);
    expect((await headOf(store)).highWater).toBe(7n);
  });

  it.each([
    ['content', pushOf({ counter: 7n, content: 'Y' })],
    ['collected_at', pushOf({ counter: 7n, content: 'X', collectedAtNanos: 8n })],
  ])('refuses the counter at the mark with another %s', async (what, push) => {
    const store = await freshStore(engine);
    const first = await commit(store, pushOf({ counter: 7n, content: 'X' }));
    const error = await refusal(commit(store, push));
    expect([error.code, error.detail, error.details]).toEqual([
      'counter_reused',
      `Counter 7 of cluster "c1" was accepted before with another ${what}; use 8 or above.`,
      { highWaterMark: 7n },
    ]);
    expect(await headOf(store)).toEqual(first.head);
  });

  it('takes the last counter that has a successor, exactly', async () => {
    const store = await freshStore(engine);
    await commit(store, pushOf({ counter: LAST_COUNTER - 1n, content: 'X' }));
    const { head } = await commit(store, pushOf({ counter: LAST_COUNTER, content: 'X' }));
    expect(head.highWater).toBe(LAST_COUNTER);
    expect((await headOf(store)).highWater).toBe(LAST_COUNTER);
    expect((await commit(store, pushOf({ counter: LAST_COUNTER, content: 'X' }))).decision).toBe('repeat');
    expect((await refusal(commit(store, pushOf({ counter: LAST_COUNTER - 1n, content: 'X' })))).code).toBe(
      'counter_regressed',
    );
  });

  it.each([-62_135_596_800_000_000_000n, -1n, 0n, 253_402_300_799_999_999_999n])(
    'keeps collected_at to the nanosecond: %s',
    async (collectedAtNanos) => {
      const store = await freshStore(engine);
      await commit(store, pushOf({ counter: 1n, content: 'X', collectedAtNanos }));
      expect((await headOf(store)).collectedAtNanos).toBe(collectedAtNanos);
    },
  );

  describe('that read (9, X) and meets (10, Y)', () => {
    /** A store at (10, Y), and what a slower writer saw before. */
    async function overtaken(): Promise<{ store: TestStore; stale: Awaited<ReturnType<typeof readPrior>> }> {
      const store = await freshStore(engine);
      await commit(store, pushOf({ counter: 9n, content: 'X' }));
      const stale = await readPrior(store.heads, 'c1');
      await commit(store, pushOf({ counter: 10n, content: 'Y' }));
      return { store, stale };
    }

    it('publishes X at 11 as new content, since 11 and not since 9', async () => {
      const { store, stale } = await overtaken();
      const { decision } = await commitSnapshot(store, pushOf({ counter: 11n, content: 'X' }), stale, NOW_MS);
      expect(decision).toBe('publish');
      const head = await headOf(store);
      expect([head.highWater, head.contentSince.counter]).toEqual([11n, 11n]);
      expect(await contentOf(store, head)).toBe('X');
    });

    it('refreshes Y at 11, which it would have published', async () => {
      const { store, stale } = await overtaken();
      const { decision } = await commitSnapshot(store, pushOf({ counter: 11n, content: 'Y' }), stale, NOW_MS);
      const head = await headOf(store);
      expect([decision, head.highWater, head.contentSince.counter]).toEqual(['refresh', 11n, 10n]);
    });

    it('is refused at 10 with X, and answered at 10 with Y', async () => {
      const { store, stale } = await overtaken();
      const reused = commitSnapshot(store, pushOf({ counter: 10n, content: 'X' }), stale, NOW_MS);
      expect((await refusal(reused)).code).toBe('counter_reused');
      const repeat = await commitSnapshot(store, pushOf({ counter: 10n, content: 'Y' }), stale, NOW_MS);
      expect(repeat.decision).toBe('repeat');
    });

    it('asks the rules again about the newer head', async () => {
      const { store, stale } = await overtaken();
      const asked: unknown[] = [];
      const push = {
        ...pushOf({ counter: 11n, content: 'X' }),
        succeed: (prior: Awaited<ReturnType<typeof readPrior>>) => {
          asked.push(prior.kind === 'head' && prior.head.highWater);
          return { warnings: asked.length, loss: NO_LOSS };
        },
      };
      const { head } = await commitSnapshot(store, push, stale, NOW_MS);
      expect([asked, head.warnings]).toEqual([[9n, 10n], 2]);
    });
  });

  it('that read (9, X) and meets X at 11, after Y at 10, does not give X the age of 9', async () => {
    const store = await freshStore(engine);
    await commit(store, pushOf({ counter: 9n, content: 'X' }));
    const stale = await readPrior(store.heads, 'c1');
    await commit(store, pushOf({ counter: 10n, content: 'Y' }));
    await commit(store, pushOf({ counter: 11n, content: 'X' }));
    const { decision } = await commitSnapshot(store, pushOf({ counter: 12n, content: 'X' }), stale, NOW_MS);
    expect([decision, (await headOf(store)).contentSince.counter]).toEqual(['refresh', 11n]);
  });

  it('that found no cluster meets one that came meanwhile', async () => {
    const store = await freshStore(engine);
    await commit(store, pushOf({ counter: 5n, content: 'Y' }));
    const lower = commitSnapshot(
      store,
      pushOf({ counter: 4n, content: 'X' }),
      { kind: 'none', floor: 0n },
      NOW_MS,
    );
    expect((await refusal(lower)).code).toBe('counter_regressed');
    const higher = await commitSnapshot(
      store,
      pushOf({ counter: 6n, content: 'Y' }),
      { kind: 'none', floor: 0n },
      NOW_MS,
    );
    expect([higher.decision, higher.head.contentSince.counter]).toEqual(['refresh', 5n]);
  });

  it('never lowers the counter, even for a writer that believes the head it read is still there', async () => {
    const store = await freshStore(engine);
    const { head } = await commit(store, pushOf({ counter: 9n, content: 'X' }));
    const lower = { ...head, highWater: 8n, body: { ...head.body, contentId: 'ff'.repeat(32) } };
    await expect(store.heads.replace(head, lower)).rejects.toThrow(HeadConflictError);
    await expect(store.heads.replace(undefined, lower)).rejects.toThrow(HeadConflictError);
    expect((await headOf(store)).highWater).toBe(9n);
  });

  it('replaces only a head with the body that was read, and at its counter only by the same push', async () => {
    const store = await freshStore(engine);
    const { head } = await commit(store, pushOf({ counter: 9n, content: 'X' }));
    const otherBody = { ...head, body: { ...head.body, contentId: 'ff'.repeat(32) } };
    const later = { ...head, collectedAtNanos: head.collectedAtNanos + 1n };
    await expect(store.heads.replace(otherBody, { ...head, highWater: 10n })).rejects.toThrow(
      HeadConflictError,
    );
    await expect(store.heads.replace(head, otherBody)).rejects.toThrow(HeadConflictError);
    await expect(store.heads.replace(head, later)).rejects.toThrow(HeadConflictError);
    expect(await headOf(store)).toEqual(head);
    await store.heads.replace(head, { ...head, receivedAtMs: NOW_MS + 1 });
    expect((await headOf(store)).receivedAtMs).toBe(NOW_MS + 1);
  });
});
