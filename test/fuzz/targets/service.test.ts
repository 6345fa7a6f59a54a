import { afterAll, describe, expect, it } from 'vitest';
import { readCases, seeds } from '../corpus.ts';
import { serviceTarget } from './service.ts';

const target = serviceTarget();
afterAll(() => target.close());

describe('Over HTTP, all holds for', () => {
  it('every real snapshot in both formats', async () => {
    const real = seeds('.');
    expect(real.length).toBeGreaterThan(30);
    for (const input of real) await target(input);
  });

  it('bytes of every length up to a hundred that are no snapshot', async () => {
    for (let length = 0; length < 100; length++) {
      await target({ format: length % 2 === 0 ? 'protobuf' : 'json', bytes: Buffer.alloc(length, length) });
    }
  });

  it('whatever broke it, or what is behind it, once', async () => {
    for (const input of readCases('test/fuzz/crashers').values()) await target(input);
  });
});
