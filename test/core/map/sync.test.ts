import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockEtag } from '../../../functions/core/map/clock.ts';
import { WHOLE_MAP } from '../../../functions/core/map/filter.ts';
import { plain } from '../../../functions/core/map/pieces.ts';
import { spliceSyncProtobuf } from '../../../functions/core/map/splice-protobuf.ts';
import { planSync, type SyncHead, type SyncInput } from '../../../functions/core/map/sync.ts';
import { gather } from './gather.ts';

const MINUTE_NANOS = 60_000_000_000n;

/** A cluster at counter 10 whose content appeared at 5, unless said otherwise. */
function head(clusterId: string, over: Partial<SyncHead> = {}): SyncHead {
  return {
    clusterId,
    counter: 10n,
    collectedAtNanos: 1_750_000_000_123_456_789n,
    contentSinceCounter: 5n,
    contentSinceMs: 1_000,
    provider: 'aws',
    region: 'eu-west-1',
    site: '',
    acceleratorModels: ['H100'],
    acceleratorModelsCut: false,
    ...over,
  };
}

function plan(
  heads: readonly SyncHead[],
  clock: Record<string, bigint>,
  over: Partial<SyncInput<SyncHead>> = {},
) {
  const { changed, refreshed, ...rest } = planSync({
    heads,
    callerClock: new Map(Object.entries(clock)),
    filter: WHOLE_MAP,
    format: 'protobuf',
    maxBytes: 4_000_000,
    snapshotBytes: () => 100,
    ...over,
  });
  return {
    changed: changed.map((each) => each.clusterId),
    refreshed: refreshed.map((each) => each.clusterId),
    ...rest,
  };
}

describe('what sync tells of a cluster', () => {
  it.each([
    ['that the caller lacks', {}, 'changed'],
    ['whose content is newer than the counter that the caller has', { a: 4n }, 'changed'],
    ['whose content the caller has, from when it first appeared', { a: 5n }, 'refreshed'],
    ['whose content the caller has, from a later push', { a: 9n }, 'refreshed'],
    ['that the caller has', { a: 10n }, 'nothing'],
    ['of which the caller has a counter that the service has not reached', { a: 11n }, 'changed'],
  ] as const)('%s', (_what, clock, expected) => {
    expect(plan([head('a')], clock)).toStrictEqual({
      changed: expected === 'changed' ? ['a'] : [],
      refreshed: expected === 'refreshed' ? ['a'] : [],
      omitted: [],
      complete: true,
      etag: clockEtag([{ clusterId: 'a', counter: 10n }], WHOLE_MAP, 'protobuf'),
    });
  });

  it('that is no longer in the map: its id, in the order of ids', () => {
    expect(plan([head('b')], { b: 10n, c: 3n, a: 1n }).omitted).toStrictEqual(['a', 'c']);
  });

  it('that no longer matches the filter: that it is omitted', () => {
    const filter = { ...WHOLE_MAP, acceleratorModel: ['L4'] };
    const { etag, ...rest } = plan(
      [head('a'), head('b', { acceleratorModels: ['L4'] })],
      { a: 10n },
      { filter },
    );
    expect(rest).toStrictEqual({ changed: ['b'], refreshed: [], omitted: ['a'], complete: true });
    expect(etag).toBe(clockEtag([{ clusterId: 'b', counter: 10n }], filter, 'protobuf'));
  });

  it('named __proto__ or constructor by the caller: that it is omitted', () => {
    const callerClock = new Map([
      ['__proto__', 1n],
      ['constructor', 1n],
    ]);
    expect(plan([], {}, { callerClock }).omitted).toStrictEqual(['__proto__', 'constructor']);
  });
});

describe('the budget of a sync', () => {
  const four = ['a', 'b', 'c', 'd'].map((id, age) => head(id, { contentSinceMs: 1_000 - age }));

  it('is filled with as many snapshots as fit, and the response says that there are more', () => {
    expect(plan(four, {}, { maxBytes: 399 })).toMatchObject({ changed: ['d', 'c', 'b'], complete: false });
    expect(plan(four, {}, { maxBytes: 400 })).toMatchObject({
      changed: ['d', 'c', 'b', 'a'],
      complete: true,
    });
  });

  it.each(['refreshed', 'omitted'] as const)('is charged for what is %s', (what) => {
    const ids = Array.from({ length: 50 }, (_, index) => `x${index}`.padEnd(20, 'x'));
    const clock = Object.fromEntries(ids.map((id) => [id, 9n]));
    const heads = [...(what === 'refreshed' ? ids.map((id) => head(id)) : []), ...four];
    // 20 bytes of id and 32 of the rest of each, and 100 of each of the four.
    const whole = plan(heads, clock, { maxBytes: 50 * 52 + 400 });
    expect([whole[what].length, whole.changed.length, whole.complete]).toEqual([50, 4, true]);
    const less = plan(heads, clock, { maxBytes: 50 * 52 + 399 });
    expect([less[what].length, less.changed.length, less.complete]).toEqual([50, 3, false]);
  });

  it('always has room for one snapshot, even where refreshed clusters have used it up', () => {
    const refreshed = Array.from({ length: 50 }, (_, index) => head(`r${index}`));
    const clock = Object.fromEntries(refreshed.map((each) => [each.clusterId, 9n]));
    const response = plan([...refreshed, ...four], clock, { maxBytes: 0 });
    expect(response.changed).toStrictEqual(['d']);
    expect(response.refreshed).toHaveLength(50);
    expect(response.complete).toBe(false);
  });

  it('goes to the longest-standing change, then to what the caller lacks, then to the rest by age', () => {
    const heads = [
      head('held-young', { contentSinceMs: 40 }),
      head('held-oldest', { contentSinceMs: 10 }),
      head('held-old', { contentSinceMs: 20 }),
      head('lacking-young', { contentSinceMs: 50 }),
      head('lacking-old', { contentSinceMs: 30 }),
    ];
    const clock = { 'held-young': 1n, 'held-oldest': 1n, 'held-old': 1n };
    expect(plan(heads, clock).changed).toStrictEqual([
      'held-oldest',
      'lacking-old',
      'lacking-young',
      'held-old',
      'held-young',
    ]);
  });

  it('does not let clusters that change or come and go at every poll starve the others', () => {
    // Each response carries one snapshot. Ten clusters stand changed, five change again before each
    // poll, and five leave the map and return between polls, so that the caller lacks them.
    let now = 100;
    const standing = Array.from({ length: 10 }, (_, index) =>
      head(`standing-${index}`, { contentSinceMs: index }),
    );
    const held = new Map(standing.map((each) => [each.clusterId, 1n]));
    for (let round = 0; round < 10; round++) {
      now++;
      const counter = BigInt(now);
      const over = { counter, contentSinceCounter: counter, contentSinceMs: now };
      const busy = Array.from({ length: 5 }, (_, index) => head(`busy-${index}`, over));
      const flapping = Array.from({ length: 5 }, (_, index) => head(`flapping-${index}`, over));
      for (const each of flapping) held.delete(each.clusterId);
      const { changed } = planSync({
        heads: [...busy, ...flapping, ...standing],
        callerClock: held,
        filter: WHOLE_MAP,
        format: 'protobuf',
        maxBytes: 1,
        snapshotBytes: () => 1_000,
      });
      for (const each of changed) held.set(each.clusterId, each.counter);
    }
    expect(standing.map((each) => held.get(each.clusterId))).toStrictEqual(
      standing.map((each) => each.counter),
    );
  });
});

describe('the size of a sync of 1,000 clusters in Protobuf, before gzip', () => {
  const heads = Array.from({ length: 1_000 }, (_, index) =>
    head(`prod-eu-west-1-cluster-${String(index).padStart(4, '0')}`, {
      counter: 1_000_000n,
      collectedAtNanos: 1_750_000_000_123_456_789n + BigInt(index) * MINUTE_NANOS,
    }),
  );
  const size = (callerClock: ReadonlyMap<string, bigint>): number => {
    const response = planSync({
      heads,
      callerClock,
      filter: WHOLE_MAP,
      format: 'protobuf',
      maxBytes: 4_000_000,
      snapshotBytes: () => 0,
    });
    expect(response.changed).toStrictEqual([]);
    return gather(plain(spliceSyncProtobuf({ ...response, changed: [] }))).length;
  };
  const clock = (counter: bigint) => new Map(heads.map((each) => [each.clusterId, counter]));

  it('is 54 bytes where nothing changed: that it is complete, and the etag', () => {
    expect(size(clock(1_000_000n))).toBe(54);
  });

  it('is 48 bytes a cluster where all were refreshed, their ids being 27 bytes', () => {
    expect(size(clock(999_999n)) - 54).toBe(1_000 * 48);
  });
});

describe('a plan', () => {
  it('tells of every cluster exactly once, of nothing that the caller has, and of the whole map by etag', () => {
    const heads = fc.uniqueArray(
      fc.record({
        id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        counter: fc.bigInt({ min: 1n, max: 6n }),
        since: fc.bigInt({ min: 1n, max: 6n }),
      }),
      { selector: (each) => each.id },
    );
    const clock = fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      fc.bigInt({ min: 0n, max: 7n }),
    );
    fc.assert(
      fc.property(heads, clock, fc.nat(500), (facts, held, maxBytes) => {
        const all = facts.map(({ id, counter, since }) =>
          head(id, { counter, contentSinceCounter: 1n + (since % counter) }),
        );
        const whole = plan(all, held);
        const reported = [...whole.changed, ...whole.refreshed, ...whole.omitted];
        const differing = [
          ...all.filter((each) => held[each.clusterId] !== each.counter).map((each) => each.clusterId),
          ...Object.keys(held).filter((id) => !all.some((each) => each.clusterId === id)),
        ];
        expect(reported.toSorted()).toStrictEqual(differing.sort());
        expect(whole.complete).toBe(true);

        const part = plan(all, held, { maxBytes });
        expect(part.changed).toStrictEqual(whole.changed.slice(0, part.changed.length));
        expect(part.changed.length > 0 || whole.changed.length === 0).toBe(true);
        expect(part).toMatchObject({ refreshed: whole.refreshed, omitted: whole.omitted, etag: whole.etag });
        expect(part.complete).toBe(part.changed.length === whole.changed.length);
      }),
    );
  });
});

describe('a continuation', () => {
  const ids = ['a', 'b', 'c', 'd'];
  const heads = ids.map((id) => head(id));

  it('goes on after what was sent, in the order of ids and round again', () => {
    const one = { maxBytes: 100 };
    expect(plan(heads, {}, one)).toMatchObject({ changed: ['a'], complete: false, next: '' });
    expect(plan(heads, {}, { ...one, after: '' })).toMatchObject({ changed: ['a'], next: 'a' });
    expect(plan(heads, {}, { maxBytes: 200, after: 'b' })).toMatchObject({ changed: ['c', 'd'], next: 'd' });
    expect(plan(heads, {}, { maxBytes: 200, after: 'd' })).toMatchObject({ changed: ['a', 'b'], next: 'b' });
    // Of a cluster that is gone.
    expect(plan(heads, {}, { ...one, after: 'bb' })).toMatchObject({ changed: ['c'], next: 'c' });
  });

  it('is none of a response that is complete', () => {
    expect(plan(heads, {}, { after: 'b' })).toMatchObject({ changed: ['c', 'd', 'a', 'b'], complete: true });
    expect(plan(heads, {}, { after: 'b' })).not.toHaveProperty('next');
  });

  const churn = fc.record({
    clusters: fc.integer({ min: 1, max: 12 }),
    maxBytes: fc.integer({ min: 1, max: 1_500 }),
    // The size of each snapshot, and an order of ages between any two responses, chosen to starve.
    sizes: fc.array(fc.integer({ min: 1, max: 600 }), { minLength: 12, maxLength: 12 }),
    ages: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 40 }),
    knows: fc.boolean(),
  });

  /** Responses until each cluster was sent, all clusters changing between any two; nothing if some never is. */
  function responsesUntilAll(
    { clusters, maxBytes, sizes, ages, knows }: typeof churn extends fc.Arbitrary<infer T> ? T : never,
    continues: boolean,
  ): number | undefined {
    const names = Array.from({ length: clusters }, (_, i) => String.fromCharCode(97 + i));
    const caller: Record<string, bigint> = knows ? Object.fromEntries(names.map((name) => [name, 1n])) : {};
    const missing = new Set(names);
    let after: string | undefined;
    for (let round = 1; round <= 2 * clusters + 1; round++) {
      const counter = 10n * BigInt(round);
      const now = names.map((name, i) =>
        head(name, {
          counter,
          contentSinceCounter: counter,
          contentSinceMs: round * 10 + (ages[(round * 7 + i) % ages.length] ?? 0),
        }),
      );
      const { changed, complete, next } = planSync({
        heads: now,
        callerClock: new Map(Object.entries(caller)),
        filter: WHOLE_MAP,
        format: 'protobuf',
        maxBytes,
        snapshotBytes: ({ clusterId }) => sizes[clusterId.charCodeAt(0) - 97] ?? 1,
        ...(after === undefined ? {} : { after }),
      });
      for (const { clusterId } of changed) {
        caller[clusterId] = counter;
        missing.delete(clusterId);
      }
      if (missing.size === 0) return round;
      after = continues && !complete ? next : undefined;
    }
    return undefined;
  }

  it('lets no cluster wait for more responses than there are clusters, though all change between any two', () => {
    fc.assert(
      fc.property(churn, (world) => {
        expect(responsesUntilAll(world, true)).toBeLessThanOrEqual(world.clusters + 1);
      }),
    );
  });

  it('is what it takes: without one some are never sent', () => {
    const starved = fc
      .sample(churn, { numRuns: 200, seed: 1 })
      .filter((w) => responsesUntilAll(w, false) === undefined);
    expect(starved.length).toBeGreaterThan(0);
  });
});
