import { describe, expect, it } from 'vitest';
import type { BufferedBody } from '../../../functions/http/send-pieces.ts';
import { ResponseCache } from '../../../functions/lambdas/map/response-cache.ts';

const response = (length: number): BufferedBody => ({
  kind: 'finished',
  length,
  chunks: [new Uint8Array(length)],
});

/** Makes a response twice, which is when it is kept. */
function keep(cache: ResponseCache, etag: string, bytes: number): void {
  for (let time = 0; time < 2; time++) cache.made(etag, true, response(bytes));
}

describe('the cache of finished responses', () => {
  it('keeps a response once it was made twice', () => {
    const cache = new ResponseCache(1_000);
    cache.made('e', true, response(10));
    expect(cache.get('e', true)).toBeUndefined();
    expect(cache.heldBytes).toBe(0);
    cache.made('e', true, response(10));
    expect(cache.get('e', true)).toHaveLength(10);
  });

  it('forgets what was made once, where much else was made since', () => {
    const cache = new ResponseCache(1_000);
    cache.made('e', true, response(10));
    for (let other = 0; other < 64; other++) cache.made(`other ${other}`, true, response(10));
    cache.made('e', true, response(10));
    expect(cache.get('e', true)).toBeUndefined();
  });

  it('tells encodings apart', () => {
    const cache = new ResponseCache(1_000);
    keep(cache, 'e', 10);
    expect(cache.get('e', true)).toHaveLength(10);
    expect(cache.get('e', false)).toBeUndefined();
  });

  it('drops the oldest for the newest, and holds no more than its bytes', () => {
    const cache = new ResponseCache(100);
    keep(cache, 'a', 40);
    keep(cache, 'b', 40);
    keep(cache, 'c', 60);
    expect(['a', 'b', 'c'].map((etag) => cache.get(etag, true)?.length)).toStrictEqual([undefined, 40, 60]);
    expect(cache.heldBytes).toBe(100);
  });

  it('takes nothing in that is larger than itself, and nothing twice', () => {
    const cache = new ResponseCache(100);
    keep(cache, 'a', 50);
    keep(cache, 'a', 50);
    keep(cache, 'b', 101);
    expect(cache.get('b', true)).toBeUndefined();
    expect(cache.heldBytes).toBe(50);
  });
});
