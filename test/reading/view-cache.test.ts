import { expect, test } from 'vitest';
import { ViewCache } from '../../functions/reading/view-cache.ts';
import { dated } from '../core/capacity/builders.ts';

const view = (targets: number) =>
  dated({ types: Array.from({ length: targets }, (_, index) => ({ type: `t${index}` })) }).view;

test('a view is found by the digest of its content', () => {
  const cache = new ViewCache();
  const kept = view(1);
  cache.set('a', kept);
  expect(cache.get('a')).toBe(kept);
  expect(cache.get('b')).toBeUndefined();
  expect(cache.get('__proto__')).toBeUndefined();
});

test('what was not asked for the longest goes first', () => {
  const cache = new ViewCache(6);
  cache.set('a', view(1));
  cache.set('b', view(1));
  cache.set('c', view(1));
  cache.get('a');
  cache.set('d', view(1));
  expect(['a', 'b', 'c', 'd'].map((digest) => cache.get(digest) !== undefined)).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

test('a view that is larger than the whole cache is kept alone, until the next', () => {
  const cache = new ViewCache(3);
  cache.set('a', view(1));
  cache.set('big', view(9));
  expect(cache.get('a')).toBeUndefined();
  expect(cache.get('big')).toBeDefined();
  cache.set('b', view(1));
  expect(cache.get('big')).toBeUndefined();
  expect(cache.get('b')).toBeDefined();
});
