import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CounterConflictError } from '../../functions/core/errors.ts';
import {
  type Decision,
  decidePush,
  highWaterOf,
  type Prior,
  type PushFacts,
  refuseRegression,
} from '../../functions/storage/decide.ts';
import { headOfManyModels } from './heads.ts';

const X = 'aa'.repeat(32);
const Y = 'bb'.repeat(32);

const push = (counter: bigint, contentId = X, collectedAtNanos = 1n): PushFacts => ({
  clusterId: 'c',
  counter,
  collectedAtNanos,
  contentId,
});

/** Content X at counter 10, collected at 1. */
function headAt10(over: 'included' | 'omitted' = 'included'): Prior {
  const head = headOfManyModels(1);
  return {
    kind: 'head',
    head: {
      ...head,
      clusterId: 'c',
      highWater: 10n,
      collectedAtNanos: 1n,
      body: { ...head.body, contentId: X },
      ...(over === 'omitted' ? { omission: { reason: 'maintenance', atMs: 0 } } : {}),
    },
  };
}
const INCLUDED = headAt10();
const OMITTED = headAt10('omitted');
const RETIRED: Prior = {
  kind: 'retired',
  mark: { clusterId: 'c', highWater: 10n, collectedAtNanos: 1n, contentId: X },
};
const UNKNOWN: Prior = { kind: 'none', floor: 0n };
const RESTORED: Prior = { kind: 'none', floor: 10n };

function refusal(act: () => unknown): CounterConflictError {
  try {
    act();
  } catch (error) {
    if (error instanceof CounterConflictError) return error;
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('a push is decided', () => {
  it.each<[of: string, prior: Prior, is: string, push: PushFacts, decision: Decision]>([
    ['an unknown cluster', UNKNOWN, 'the lowest counter', push(1n), 'publish'],
    ['a restored cluster', RESTORED, 'one above the floor', push(11n), 'publish'],
    ['an included cluster', INCLUDED, 'new content', push(11n, Y), 'publish'],
    ['an included cluster', INCLUDED, 'the same content, counted on', push(11n), 'refresh'],
    ['an included cluster', INCLUDED, 'the same content at a later time', push(11n, X, 2n), 'refresh'],
    ['an included cluster', INCLUDED, 'the very push', push(10n), 'repeat'],
    ['an omitted cluster', OMITTED, 'new content', push(11n, Y), 'publish'],
    ['an omitted cluster', OMITTED, 'the same content, counted on', push(11n), 'refresh'],
    // It brings the cluster back into the map, so it is not without effect.
    ['an omitted cluster', OMITTED, 'the very push', push(10n), 'refresh'],
    ['a retired cluster', RETIRED, 'new content', push(11n, Y), 'publish'],
    // Its content was deleted, so the same content has to be written again.
    ['a retired cluster', RETIRED, 'the same content, counted on', push(11n), 'publish'],
    ['a retired cluster', RETIRED, 'the very push', push(10n), 'publish'],
  ])('of %s, if it is %s', (_of, prior, _is, pushed, decision) => {
    const { kind } = prior;
    expect([kind, decidePush(prior, pushed)]).toEqual([kind, decision]);
  });

  it.each([
    ['included', INCLUDED],
    ['omitted', OMITTED],
    ['retired', RETIRED],
  ])('against the counter of an %s cluster if it is lower', (_kind, prior) => {
    expect(refusal(() => decidePush(prior, push(9n)))).toMatchObject({
      code: 'counter_regressed',
      message:
        '[counter_regressed] Counter 9 of cluster "c" is below 10, which was accepted before; use 11 or above.',
      highWater: 10n,
    });
  });

  it.each([
    ['content', push(10n, Y)],
    ['content', push(10n, Y, 2n)],
    ['collected_at', push(10n, X, 2n)],
  ])('against another %s at a counter that was used', (what, pushed) => {
    for (const prior of [INCLUDED, OMITTED, RETIRED]) {
      expect(refusal(() => decidePush(prior, pushed))).toMatchObject({
        code: 'counter_reused',
        message: `[counter_reused] Counter 10 of cluster "c" was accepted before with another ${what}; use 11 or above.`,
        highWater: 10n,
      });
    }
  });

  it.each([9n, 10n])(
    'against counter %i after a restore with floor 10, which includes the floor',
    (counter) => {
      const conflict = {
        code: 'counter_regressed',
        message:
          `[counter_regressed] Counter ${counter} of cluster "c" may have been accepted before this service's data was restored; ` +
          'use 11 or above.',
        highWater: 10n,
      };
      expect(refusal(() => decidePush(RESTORED, push(counter)))).toMatchObject(conflict);
      expect(refusal(() => refuseRegression(RESTORED, push(counter)))).toMatchObject(conflict);
    },
  );

  it('never below the high-water mark, and always above it', () => {
    const prior = fc.constantFrom(INCLUDED, OMITTED, RETIRED, UNKNOWN, RESTORED);
    fc.assert(
      fc.property(
        prior,
        fc.bigInt(1n, 20n),
        fc.constantFrom(X, Y),
        fc.bigInt(0n, 2n),
        (before, counter, id, at) => {
          const pushed = push(counter, id, at);
          const highest = highWaterOf(before) ?? 0n;
          if (counter > highest) {
            expect(['publish', 'refresh']).toContain(decidePush(before, pushed));
            return;
          }
          const isVeryPush = before.kind !== 'none' && counter === highest && id === X && at === 1n;
          if (isVeryPush) decidePush(before, pushed);
          else expect(() => decidePush(before, pushed)).toThrow(CounterConflictError);
        },
      ),
    );
  });
});

describe('the high-water mark', () => {
  it('is the counter of the head or of the tombstone, or the floor of a restored table, and absent without any', () => {
    expect([INCLUDED, OMITTED, RETIRED, UNKNOWN, RESTORED].map(highWaterOf)).toEqual([
      10n,
      10n,
      10n,
      undefined,
      10n,
    ]);
  });
});
