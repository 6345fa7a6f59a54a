import { describe, expect, it } from 'vitest';
import { ChangeSignal, pollUntil, type WaitOptions } from '../../functions/http/wait.ts';
import { REQUEST_DEADLINE_MS, remainingMs, withDeadline } from '../../functions/runtime/deadline.ts';

function waitOptions(over: Partial<WaitOptions> = {}): WaitOptions {
  return { changes: new ChangeSignal(), waitMs: 60_000, signal: new AbortController().signal, ...over };
}

describe('looking until there is something', () => {
  it('looks once where the first look finds something', async () => {
    let looks = 0;
    expect(
      await pollUntil(
        async () => ++looks,
        () => true,
        waitOptions(),
      ),
    ).toBe(1);
  });

  it('looks again at once when a change is told', async () => {
    const changes = new ChangeSignal();
    let looks = 0;
    const startedMs = performance.now();
    const result = pollUntil(
      async () => ++looks,
      (seen) => seen === 2,
      waitOptions({ changes }),
    );
    await Promise.resolve();
    setTimeout(() => changes.notify(), 5);
    expect(await result).toBe(2);
    expect(performance.now() - startedMs).toBeLessThan(900);
  });

  it('does not sleep through a change that is told while it looks', async () => {
    const changes = new ChangeSignal();
    let looks = 0;
    const look = async (): Promise<number> => {
      if (++looks === 1) changes.notify();
      return looks;
    };
    const startedMs = performance.now();
    expect(await pollUntil(look, (seen) => seen === 2, waitOptions({ changes }))).toBe(2);
    expect(performance.now() - startedMs).toBeLessThan(900);
  });

  it('looks once a second where nobody tells of changes', async () => {
    let looks = 0;
    const startedMs = performance.now();
    await pollUntil(
      async () => ++looks,
      (seen) => seen === 2,
      waitOptions(),
    );
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
  });

  it('gives its last look when the time is up, the caller is gone, or the process stops', async () => {
    const gone = new AbortController();
    const changes = new ChangeSignal();
    let looks = 0;
    const lookInVain = async (over: Partial<WaitOptions>): Promise<boolean> =>
      (await pollUntil(
        async () => ++looks,
        () => false,
        waitOptions(over),
      )) === looks;

    expect(await lookInVain({ waitMs: 0 })).toBe(true);
    expect(looks).toBe(1);
    expect(await lookInVain({ waitMs: 10 })).toBe(true);
    setTimeout(() => gone.abort(), 5);
    expect(await lookInVain({ signal: gone.signal })).toBe(true);
    setTimeout(() => changes.end(), 5);
    expect(await lookInVain({ changes })).toBe(true);
    expect(await lookInVain({ changes })).toBe(true);
  });

  it('gives a request that waits the longer deadline, and one that does not the usual one', async () => {
    const leftAfter = (waitMs: number): Promise<number> =>
      withDeadline(REQUEST_DEADLINE_MS, () =>
        pollUntil(
          async () => remainingMs(),
          () => true,
          waitOptions({ waitMs }),
        ),
      );
    expect(await leftAfter(0)).toBeLessThanOrEqual(REQUEST_DEADLINE_MS);
    expect(await leftAfter(1)).toBeGreaterThan(REQUEST_DEADLINE_MS);
  });
});
