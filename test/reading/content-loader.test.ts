import { describe, expect, it } from 'vitest';
import { ContentLoader } from '../../functions/reading/content-loader.ts';
import type { ContentRef } from '../../functions/storage/head.ts';

function ref(contentId: string): ContentRef {
  return { contentId, parts: 1, rawBytes: 1, storedBytes: 1, crc32: 0, storedCrc32: 0, expiresAtS: 0 };
}

/** Loads whose ends the test decides on. */
function controlled() {
  const asked: string[][] = [];
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const loads = new ContentLoader((refs) => {
    const ids = refs.map((each) => each.contentId);
    asked.push(ids);
    return new Promise((resolve, reject) => {
      const contents = new Map(ids.filter((id) => id !== 'missing').map((id) => [id, Buffer.from(id)]));
      ends.push({ resolve: () => resolve(contents), reject });
    });
  });
  return { loads, asked, ends };
}

describe('loads of bodies', () => {
  it('ask for each body once, however many want it at a time', async () => {
    const { loads, asked, ends } = controlled();
    const first = loads.read([ref('a'), ref('b')]);
    const second = loads.read([ref('b'), ref('c'), ref('missing')]);
    for (const { resolve } of ends) resolve();
    expect([...(await first).keys()].sort()).toStrictEqual(['a', 'b']);
    expect((await second).get('b')?.toString()).toBe('b');
    expect((await second).has('missing')).toBe(false);
    expect(asked).toStrictEqual([
      ['a', 'b'],
      ['c', 'missing'],
    ]);
  });

  it('ask again once the last load has ended, in failure too', async () => {
    const { loads, asked, ends } = controlled();
    const failing = loads.read([ref('a')]);
    ends[0]?.reject(new Error('throttled'));
    await expect(failing).rejects.toThrow('throttled');
    const again = loads.read([ref('a')]);
    ends[1]?.resolve();
    expect((await again).has('a')).toBe(true);
    expect(asked).toHaveLength(2);
  });
});
