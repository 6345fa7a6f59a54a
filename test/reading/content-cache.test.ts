import { describe, expect, it } from 'vitest';
import { Fragment } from '../../functions/core/map/fragment.ts';
import { ContentCache } from '../../functions/reading/content-cache.ts';

function fragment(bytes = 1_000): Fragment {
  return Fragment.compress(Buffer.alloc(bytes, 'abcdefg'));
}

const held = fragment().heldBytes;

describe('the body cache', () => {
  it('takes nothing in beyond its bytes, and keeps what it has', () => {
    const cache = new ContentCache(2 * held);
    for (const id of ['a', 'b', 'c']) cache.put(id, fragment());
    expect(cache.heldBytes).toBe(2 * held);
    expect([cache.get('a'), cache.get('b'), cache.get('c')].map((body) => body !== undefined)).toStrictEqual([
      true,
      true,
      false,
    ]);
  });

  it('has room again once no head names a body any more', () => {
    const cache = new ContentCache(2 * held);
    cache.put('a', fragment());
    cache.putJson('a', fragment());
    cache.put('b', fragment());
    expect(cache.get('b')).toBeUndefined();
    cache.keepOnly(new Set(['b']));
    expect(cache.heldBytes).toBe(0);
    cache.put('b', fragment());
    expect(cache.get('b')).toBeDefined();
  });

  it('counts the JSON form and the inflated bytes of a body, and gives them back', () => {
    const cache = new ContentCache(10_000);
    const protobuf = fragment();
    const json = fragment(2_000);
    cache.put('a', protobuf);
    cache.putJson('a', json);
    cache.keepRaw('a', json);
    cache.keepRaw('a', json);
    expect(json.keepsRaw).toBe(true);
    expect(cache.heldBytes).toBe(protobuf.deflated.length + json.deflated.length + 2_000);
    cache.keepOnly(new Set());
    expect(cache.heldBytes).toBe(0);
    expect(cache.size).toBe(0);
  });

  it('keeps inflated bytes only where they fit, and of nothing that it does not have', () => {
    const cache = new ContentCache(held + 999);
    const body = fragment();
    const stranger = fragment(10);
    cache.put('a', body);
    cache.keepRaw('a', body);
    cache.keepRaw('a', stranger);
    cache.keepRaw('b', stranger);
    expect([body.keepsRaw, stranger.keepsRaw]).toStrictEqual([false, false]);
    expect(cache.heldBytes).toBe(held);
  });
});
