import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ANYONE, type Principal } from '../../functions/auth/principal.ts';
import { MAX_WAITS_PER_CALLER } from '../../functions/http/limits.ts';
import { ChangeSignal } from '../../functions/http/wait.ts';
import { WaitLimiter } from '../../functions/http/wait-limiter.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';

describe('Answers that are held for one caller', () => {
  const scheduler = (id: string): Principal => ({ kind: 'caller', id, rights: { role: 'scheduler' } });
  const changes = new ChangeSignal();
  const waits = new WaitLimiter();
  const wait = (who: Principal, waitMs = 60_000): Promise<boolean> =>
    waits.pollUntil(
      who,
      async () => changes.changes > 0,
      (changed) => changed,
      { changes, waitMs, signal: new AbortController().signal },
    );

  it('are so many and no more, and free their places when they end', async () => {
    const first = scheduler('first');
    const held = Array.from({ length: MAX_WAITS_PER_CALLER }, () => wait(first));
    await expect(wait(first)).rejects.toMatchObject({
      code: 'too_many_waits',
      details: { retryAfterSeconds: 5 },
    });
    // Whoever does not ask to wait holds no place, and others have their own.
    expect(await wait(first, 0)).toBe(false);
    const others = [wait(scheduler('second')), wait(ANYONE)];
    changes.notify();
    expect(await Promise.all([...held, ...others])).not.toContain(false);
    expect(await wait(first)).toBe(true);
  });

  it('free their places when a look fails', async () => {
    const fails = (): Promise<never> => Promise.reject(new Error('no store'));
    for (let i = 0; i <= MAX_WAITS_PER_CALLER; i++) {
      await expect(
        waits.pollUntil(ANYONE, fails, () => true, {
          changes,
          waitMs: 10,
          signal: new AbortController().signal,
        }),
      ).rejects.toThrow('no store');
    }
  });
});

describe('Over HTTP', () => {
  let service: GuardedService;
  beforeAll(async () => {
    service = await startGuardedService();
  });
  afterAll(() => service.close());

  it('one more than that is 429 with Retry-After, until a connection is given up', async () => {
    const token = await service.issue('SCHEDULER');
    const connections = new AbortController();
    const ask = (seconds: number): ReturnType<GuardedService['call']> =>
      service.call('POST /v1/map/sync', { token, body: {}, headers: { prefer: `wait=${seconds}` } });
    const held = Array.from({ length: MAX_WAITS_PER_CALLER }, () =>
      fetch(`${service.url}/v1/map/sync`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=25' },
        body: '{}',
        signal: connections.signal,
      }),
    );
    const ended = Promise.allSettled(held);
    const refused = await vi.waitUntil(
      async () => {
        const response = await ask(1);
        return response.status === 429 ? response : undefined;
      },
      { timeout: 10_000 },
    );
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(refused.body).toMatchObject({
      status: 429,
      code: 'too_many_waits',
      detail: `${MAX_WAITS_PER_CALLER} responses are held for this caller, which is the most for one. End some of these requests, or ask without "Prefer: wait".`,
    });
    connections.abort();
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
    await vi.waitUntil(async () => (await ask(1)).status === 200, { timeout: 10_000 });
  });
});
