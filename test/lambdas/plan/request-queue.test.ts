import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RequestQueue } from '../../../functions/lambdas/plan/request-queue.ts';

const never = new AbortController().signal;

describe('places', () => {
  it('are as many as were given, in the order in which they were asked for', async () => {
    const places = new RequestQueue(2, 10);
    const log: string[] = [];
    const task = (name: string, ms: number) =>
      places.hold({ bytes: 1, signal: never }, async () => {
        log.push(`${name} begins`);
        await sleep(ms);
        log.push(`${name} ends`);
        if (name === 'a') throw new Error('a failed');
      });
    const all = await Promise.allSettled([task('a', 20), task('b', 80), task('c', 20), task('d', 1)]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(log.slice(0, 6)).toEqual(['a begins', 'b begins', 'a ends', 'c begins', 'c ends', 'd begins']);
  });

  it('are not waited for by more than may hold memory meanwhile, and who goes makes room', async () => {
    const places = new RequestQueue(1, 10);
    let end = (): void => undefined;
    const first = places.hold(
      { bytes: 100, signal: never },
      () => new Promise<void>((resolve) => (end = resolve)),
    );
    const leaving = new AbortController();
    const second = places.hold({ bytes: 6, signal: leaving.signal }, async () => 'second');
    const ask = (bytes: number) => places.hold({ bytes, signal: never }, async () => `of ${bytes}`);
    await expect(ask(5)).rejects.toThrow('[overloaded] The request queue is full. Try again in a moment.');
    leaving.abort();
    expect(await second).toBe('abandoned');
    const third = ask(10);
    end();
    await first;
    expect(await third).toBe('of 10');
    expect(await ask(1_000)).toBe('of 1000');
  });

  it('are not given to who has gone before asking', async () => {
    const places = new RequestQueue(0, 10);
    expect(await places.hold({ bytes: 1, signal: AbortSignal.abort() }, async () => 'done')).toBe(
      'abandoned',
    );
    await expect(places.hold({ bytes: 11, signal: never }, async () => 'done')).rejects.toThrow(
      '[overloaded]',
    );
  });
});
