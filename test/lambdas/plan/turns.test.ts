/** Questions that take long, and what else is asked meanwhile, over HTTP. */
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stepwise } from '../../../functions/core/stepwise.ts';
import { inTurns } from '../../../functions/lambdas/plan/turns.ts';
import { type BundleService, startBundleService } from './bundle-service.ts';

/** Of ten thousand jobs no two are alike, and every backup must avoid everything: it takes all the steps there are. */
const HARD = JSON.stringify({
  bundles: Array.from({ length: 20 }, (_, b) => ({
    bundleId: `b${b}`,
    pool: 'p',
    resiliencePolicy: { sameNode: 'forbid', sameAz: 'forbid', sameCloud: 'forbid' },
    jobs: Array.from({ length: 500 }, (_, j) => ({
      jobName: `j${j}`,
      requirements: { requiredCapacity: 1 + (b * 500 + j) / 1_000, priorityBand: 'gold' },
    })),
  })),
  pools: [{ poolName: 'p', tiers: [{ cluster: {} }] }],
  candidates: Array.from({ length: 1_000 }, (_, i) => ({
    nodeId: `n${i}`,
    clusterId: 'c',
    provider: `p${i % 3}`,
    region: `r${i % 7}`,
    zone: `z${i % 50}`,
    inventory: { totalCapacity: 1_000 + i, utilizationCap: 1, reachable: true },
  })),
});

const EASY = {
  bundles: [{ bundleId: 'b', pool: 'p', jobs: [{ jobName: 'a', requirements: { priorityBand: 'gold' } }] }],
  pools: [{ poolName: 'p', tiers: [{ cluster: {} }] }],
  candidates: [
    { nodeId: 'n', clusterId: 'c', inventory: { totalCapacity: 1, utilizationCap: 1, reachable: true } },
  ],
};

/** What each response may take while hard plans are under way: many times what it takes, and a fraction of what they take. */
const BOUND_MS = 2_000;

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService(['openb-instant-t2']);
});
afterAll(() => service.close());

describe('while plans are under way that take all the steps there are', () => {
  const leaving = new AbortController();
  let ended = 0;
  const startHard = (signal: AbortSignal): Promise<void> =>
    fetch(`${service.url}/v1/bundles/plan`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: HARD,
      signal,
    }).then(
      () => void ended++,
      () => undefined,
    );

  it('everybody else is answered, and once their clients are gone, the plans that waited', async () => {
    const first = startHard(leaving.signal);
    await sleep(1_000);
    const waits: Record<string, number> = {};
    const measure = async (what: string, request: () => Promise<{ readonly status: number }>) => {
      const startedMs = performance.now();
      expect((await request()).status).toBe(200);
      waits[what] = Math.max(waits[what] ?? 0, performance.now() - startedMs);
    };
    for (let i = 0; i < 3; i++) {
      await measure('health', () => fetch(`${service.url}/healthz`));
      await measure('map', () => service.call('GET', '/v1/map'));
      await measure('an easy plan', () => service.call('POST', '/v1/bundles/plan', EASY));
    }
    expect(ended).toBe(0);
    const late = Object.entries(waits).filter(([, ms]) => ms > BOUND_MS);
    expect(late).toEqual([]);

    // Two have the places there are, and a third waits until they are given up.
    const second = startHard(leaving.signal);
    await sleep(500);
    const waiting = service.call('POST', '/v1/bundles/plan', EASY);
    leaving.abort();
    expect((await waiting).body.bundles[0].outcome).toBe('placed');
    await Promise.all([first, second]);
    expect(ended).toBe(0);
  });
});

describe('work in turns', () => {
  function* spins(turns: number, log: string[], name: string): Stepwise<string> {
    for (let i = 0; i < turns; i++) {
      const untilMs = performance.now() + 15;
      while (performance.now() < untilMs);
      log.push(name);
      yield;
    }
    return name;
  }
  const never = new AbortController().signal;

  it('lets the event loop run between any two turns, and alternates with other work', async () => {
    const log: string[] = [];
    let running = true;
    const others = (async () => {
      while (running) {
        await yieldToEventLoop();
        log.push('.');
      }
    })();
    const done = await Promise.all([inTurns(spins(4, log, 'a'), never), inTurns(spins(4, log, 'b'), never)]);
    running = false;
    await others;
    expect(done).toEqual(['a', 'b']);
    expect(log.filter((name) => name !== '.').join('')).toBe('abababab');
    expect(log.join('')).not.toMatch(/[ab][ab]/);
  });

  it('ends where its client has gone, and what it throws is thrown', async () => {
    const log: string[] = [];
    const gone = new AbortController();
    const work = inTurns(spins(1_000, log, 'a'), gone.signal);
    await sleep(50);
    gone.abort();
    expect(await work).toBe('abandoned');
    // biome-ignore lint/correctness/useYield: it ends before it could.
    const fails = function* (): Stepwise<never> {
      throw new Error('as it was');
    };
    await expect(inTurns(fails(), never)).rejects.toThrow('as it was');
  });
});
