import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClusterChangeKind as Kind } from '../../../functions/gen/resourcemap/v1/events_pb.ts';
import { headMoveOf } from '../../../functions/lambdas/notify/head-move.ts';
import { changesOf, type Span, spansOf } from '../../../functions/lambdas/notify/span.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { headOf, omitted, pushed, recordOf, recordsOf, T0 } from './builders.ts';

function spanOf(...states: readonly (Head | undefined)[]): Span | undefined {
  return spansOf(movesOf(recordsOf(states)))[0];
}

function movesOf(records: ReturnType<typeof recordsOf>) {
  return records.map(headMoveOf).filter((move) => move !== undefined);
}

const names = (span: Span | undefined): readonly string[] => (span?.changes ?? []).map((kind) => Kind[kind]);

describe('A write of a head', () => {
  const head = headOf();
  it.each<[string, Head | undefined, Head | undefined, readonly Kind[]]>([
    ['publishes where there was no head', undefined, head, [Kind.PUBLISHED]],
    ['publishes where the content is another', head, pushed(head, 2n, 'b'), [Kind.PUBLISHED]],
    [
      'publishes where content that was there before came back',
      head,
      { ...pushed(head, 3n), contentSince: { counter: 3n, atMs: T0 } },
      [Kind.PUBLISHED],
    ],
    ['refreshes where the content is the same', head, pushed(head, 2n), [Kind.REFRESHED]],
    ['omits', head, omitted(head), [Kind.OMITTED]],
    ['returns with the content that was there', omitted(head), pushed(head, 2n), [Kind.RETURNED]],
    ['returns with other content', omitted(head), pushed(head, 2n, 'b'), [Kind.RETURNED, Kind.PUBLISHED]],
    ['omits where a head in the map was deleted by hand', head, undefined, [Kind.OMITTED]],
    ['omits where a head appeared that is out of the map', undefined, omitted(head), [Kind.OMITTED]],
    ['is nobody’s business where a head is retired', omitted(head), undefined, []],
    ['is nobody’s business where an omitted head is edited', omitted(head), omitted(head, 'other'), []],
  ])('%s', (_, before, after, changes) => {
    const move = {
      clusterId: 'c1',
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      sequenceNumber: '1',
      atMs: T0,
    };
    expect(changesOf(move)).toEqual(changes);
  });
});

describe('A span', () => {
  it('reaches from the state before the first write to the state after the last', () => {
    const first = headOf();
    const span = spanOf(first, pushed(first, 2n, 'b'), pushed(first, 3n, 'c'));
    expect(span).toMatchObject({
      after: { highWater: 3n },
      firstSequenceNumber: expect.stringMatching(/0001$/),
    });
    expect(span).not.toHaveProperty('before');
    expect(span?.lastSequenceNumber).toMatch(/0003$/);
    expect(names(span)).toEqual(['PUBLISHED']);
  });

  it('keeps an omission that ended within it, with its reason', () => {
    const first = headOf();
    const span = spanOf(first, omitted(first, 'maintenance'), pushed(first, 2n));
    expect(names(span)).toEqual(['PUBLISHED', 'OMITTED', 'RETURNED']);
    expect(span?.reason).toBe('maintenance');
  });

  it('carries the reason of the last omission', () => {
    const first = headOf();
    const span = spanOf(
      first,
      omitted(first, 'silent'),
      pushed(first, 2n),
      omitted(pushed(first, 2n), 'deleted'),
    );
    expect(span?.reason).toBe('deleted');
  });

  it('has the last head that there was, also if the cluster is retired at its end', () => {
    const first = headOf();
    const last = pushed(first, 3n, 'c');
    const span = spanOf(first, last, omitted(last), undefined);
    expect(span?.after).toBeUndefined();
    expect(span?.latest).toMatchObject({ highWater: 3n, omission: { reason: 'silent' } });
  });

  it('tells of a cluster that came back after it was retired as one that was published', () => {
    const head = headOf();
    const moves = movesOf(recordsOf([head, omitted(head), undefined, pushed(head, 2n, 'b')])).slice(2);
    expect(names(spansOf(moves)[0])).toEqual(['PUBLISHED']);
  });

  it('says "removed" for a head that was deleted by hand', () => {
    expect(spanOf(headOf(), undefined)?.reason).toBe('removed');
  });

  it('has nothing to tell of retirement', () => {
    const head = omitted(headOf());
    const moves = movesOf([
      recordOf({ after: head, partition: 'retired#3' }),
      recordOf({ before: head, partition: '3', sequenceNumber: 2 }),
    ]);
    expect(moves).toHaveLength(1);
    expect(names(spansOf(moves)[0])).toEqual([]);
  });

  it('is one for each cluster, in the order of their first records', () => {
    const one = headOf({ clusterId: '__proto__' });
    const two = headOf({ clusterId: 'constructor' });
    const moves = movesOf([
      recordOf({ after: one, sequenceNumber: 1 }),
      recordOf({ after: two, sequenceNumber: 2 }),
      recordOf({ before: one, after: pushed(one, 2n, 'b'), sequenceNumber: 3 }),
    ]);
    expect(spansOf(moves).map((span) => [span.clusterId, span.after?.highWater])).toEqual([
      ['__proto__', 2n],
      ['constructor', 1n],
    ]);
  });

  it('loses nothing and invents nothing, however the stream is cut into batches and repeated', () => {
    const step = fc.constantFrom('publish', 'refresh', 'omit', 'return', 'retire');
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 12 }),
        fc.array(fc.nat(12), { maxLength: 6 }),
        (steps, cuts) => {
          const states: (Head | undefined)[] = [headOf()];
          for (const name of steps) {
            const next = after(states.at(-1), name, BigInt(states.length + 1));
            if (next !== 'impossible') states.push(next);
          }
          const moves = movesOf(recordsOf(states));
          // Each batch begins at or before the end of the last, as a stream does that is asked again.
          let from = 0;
          const reported = new Set<number>();
          for (const cut of [...cuts, moves.length]) {
            const to = Math.min(moves.length, from + cut);
            const [span] = spansOf(moves.slice(from, to));
            if (span !== undefined) {
              expect(span.before).toEqual(moves[from]?.before);
              expect(span.after).toEqual(moves[to - 1]?.after);
              const kinds = new Set(moves.slice(from, to).flatMap(changesOf));
              expect(new Set(span.changes)).toEqual(kinds);
              for (let i = from; i < to; i++) reported.add(i);
            }
            from = Math.max(0, to - (cut % 3));
          }
          expect(reported.size).toBe(moves.length);
        },
      ),
    );
  });
});

/** What a step makes of a head, or that it cannot be made of it. */
function after(head: Head | undefined, step: string, counter: bigint): Head | undefined | 'impossible' {
  if (head === undefined)
    return step === 'publish' ? pushed(headOf(), counter, String(counter)) : 'impossible';
  const included = head.omission === undefined;
  switch (step) {
    case 'publish':
      return pushed(head, counter, String(counter));
    case 'refresh':
      return included ? pushed(head, counter) : 'impossible';
    case 'omit':
      return included ? omitted(head) : 'impossible';
    case 'return':
      return included ? 'impossible' : pushed(head, counter);
    default:
      return included ? 'impossible' : undefined;
  }
}
