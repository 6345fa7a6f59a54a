import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedRead } from '../../functions/reading/shared-read.ts';

describe('a shared read', () => {
  it('gives each caller what was true after they asked, whatever comes between', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.boolean(), { maxLength: 20 }),
        async (scheduler, steps) => {
          let written = 0;
          const read = scheduler.scheduleFunction(async (at: number) => at);
          // The value is taken when the read begins: the earliest that a consistent read may see.
          const shared = new SharedRead(() => read(written));
          const checks: Promise<void>[] = [];
          for (const isWrite of steps) {
            if (isWrite) written++;
            else {
              const asked = written;
              checks.push(shared.get().then((seen) => expect(seen).toBeGreaterThanOrEqual(asked)));
            }
            if (scheduler.count() > 0 && isWrite) await scheduler.waitOne();
          }
          await scheduler.waitIdle();
          await Promise.all(checks);
        },
      ),
    );
  });

  it('has one read under way, however many ask', async () => {
    let underWay = 0;
    let reads = 0;
    const shared = new SharedRead(async () => {
      expect(++underWay).toBe(1);
      reads++;
      await sleep(5);
      underWay--;
      return reads;
    });
    const first = shared.get();
    const rest = Array.from({ length: 100 }, () => shared.get());
    expect(await first).toBe(1);
    expect(new Set(await Promise.all(rest))).toStrictEqual(new Set([2]));
    expect(await shared.get()).toBe(3);
  });

  it('fails for those who shared the read, and for nobody after them', async () => {
    let reads = 0;
    const shared = new SharedRead(async () => {
      reads++;
      await sleep(1);
      if (reads === 1) throw new Error('throttled');
      return reads;
    });
    const first = shared.get();
    const second = shared.get();
    await expect(first).rejects.toThrow('throttled');
    expect(await second).toBe(2);
  });
});
