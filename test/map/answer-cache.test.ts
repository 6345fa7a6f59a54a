import { describe, expect, it } from 'vitest';
import type { FinishedAnswer } from '../../functions/http/send-pieces.ts';
import { AnswerCache } from '../../functions/map/answer-cache.ts';

const answer = (length: number): FinishedAnswer => ({
  kind: 'finished',
  length,
  chunks: [new Uint8Array(length)],
});

describe('the cache of finished answers', () => {
  it('tells encodings apart', () => {
    const cache = new AnswerCache(1_000);
    cache.put('e', true, answer(10));
    expect(cache.get('e', true)).toHaveLength(10);
    expect(cache.get('e', false)).toBeUndefined();
  });

  it('drops the oldest for the newest, and holds no more than its bytes', () => {
    const cache = new AnswerCache(100);
    cache.put('a', true, answer(40));
    cache.put('b', true, answer(40));
    cache.put('c', true, answer(60));
    expect(['a', 'b', 'c'].map((etag) => cache.get(etag, true)?.length)).toStrictEqual([undefined, 40, 60]);
    expect(cache.heldBytes).toBe(100);
  });

  it('takes nothing in that is larger than itself, and nothing twice', () => {
    const cache = new AnswerCache(100);
    cache.put('a', true, answer(50));
    cache.put('a', true, answer(50));
    cache.put('b', true, answer(101));
    expect(cache.get('b', true)).toBeUndefined();
    expect(cache.heldBytes).toBe(50);
  });
});
