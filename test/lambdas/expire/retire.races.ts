/**
 * Retirement against pushes, with a sweeper that is killed again and again. Its safety rests on
 * `retireAfter` being longer than any commit takes, so that is kept here too, at another scale:
 * seconds against milliseconds.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CounterConflictError } from '../../../functions/core/errors.ts';
import { omitCluster, readPrior } from '../../../functions/storage/commit.ts';
import { highWaterOf } from '../../../functions/storage/decide.ts';
import { ClusterNotFoundError } from '../../../functions/storage/errors.ts';
import type { EngineEndpoint } from '../../engines/global-setup.ts';
import { startMortalProcess } from '../../engines/mortal-process.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { type Acknowledged, forgotten, lowered, type Refused } from './history.ts';
import { push } from './pushing.ts';
import type { SweeperArgument } from './sweeper-process.ts';

const DEATHS = 10;
const RETURNS = 20;
const LONGEST_RACE_MS = 120_000;
const MEMBERSHIP = { omitAfterMs: 1_000, retireAfterMs: 4_000 };
const SWEEPER_LIFE_MS = 2_500;
const CLUSTERS = Array.from({ length: 12 }, (_, n) => `c${n}`);

/** What the clients of one store did. */
class Clients {
  readonly pushes: Acknowledged[] = [];
  readonly refusals: Refused[] = [];
  longestMs = 0;
  /** Pushes that found a retired mark and no head. */
  returns = 0;

  constructor(private readonly store: TestStore) {}

  async push(clusterId: string, counter: bigint): Promise<void> {
    const prior = await readPrior(this.store.heads, clusterId);
    const startedAt = performance.now();
    const attempt = { clusterId, counter, startedAt };
    try {
      await push(this.store, clusterId, { counter, content: `${Math.random()}`, nowMs: Date.now() });
      this.pushes.push({ ...attempt, endedAt: performance.now() });
      if (prior.kind === 'retired') this.returns++;
    } catch (error) {
      if (!(error instanceof CounterConflictError)) throw error;
      this.refusals.push({ ...attempt, endedAt: performance.now(), highWaterMark: error.highWater });
    }
    this.longestMs = Math.max(this.longestMs, performance.now() - startedAt);
  }

  mark(clusterId: string): bigint {
    return this.pushes.reduce(
      (max, p) => (p.clusterId === clusterId && p.counter > max ? p.counter : max),
      0n,
    );
  }
}

/** The agent of a cluster that comes and goes, and one that lost its counter. */
async function live(
  store: TestStore,
  clients: Clients,
  clusterId: string,
  goesOn: () => boolean,
): Promise<void> {
  for (let counter = 1n; goesOn(); ) {
    for (let n = Math.ceil(Math.random() * 3); n > 0; n--) await clients.push(clusterId, counter++);
    await omitCluster(store.heads, clusterId, 'deleted', Date.now()).catch((error: unknown) => {
      if (!(error instanceof ClusterNotFoundError)) throw error;
    });
    await sleep(Math.random() * 2 * MEMBERSHIP.retireAfterMs);
  }
}

async function disturb(clients: Clients, clusterId: string, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    await sleep(Math.random() * MEMBERSHIP.retireAfterMs);
    const mark = clients.mark(clusterId);
    const behind = mark - BigInt(Math.floor(Math.random() * 3));
    if (behind > 0n) await clients.push(clusterId, behind);
  }
}

/** Clients and a sweeper on a store of their own, until `enough`. */
async function race(
  engine: EngineEndpoint,
  keepsMarks: boolean,
  enough: (clients: Clients, deaths: number) => boolean,
) {
  const store = await freshStore(engine, 2);
  const clients = new Clients(store);
  const argument: SweeperArgument = {
    endpoint: engine.endpoint,
    tables: store.tables,
    membership: MEMBERSHIP,
    keepsMarks,
  };
  const sweeper = startMortalProcess(
    new URL('sweeper-process.ts', import.meta.url),
    argument,
    SWEEPER_LIFE_MS,
  );
  const until = performance.now() + LONGEST_RACE_MS;
  const goesOn = (): boolean => !enough(clients, sweeper.deaths) && performance.now() < until;
  await Promise.all(
    CLUSTERS.flatMap((id) => [live(store, clients, id, goesOn), disturb(clients, id, goesOn)]),
  );
  await sweeper.end();
  console.log(
    `${engine.name}: ${clients.pushes.length} pushes, ${clients.refusals.length} refusals, ` +
      `${clients.returns} returns from retirement, ${sweeper.deaths} deaths, longest push ${Math.round(clients.longestMs)} ms`,
  );
  return { store, clients, deaths: sweeper.deaths };
}

describe.each(engines)('Retirement on $name, by a sweeper that is killed', (engine) => {
  it('never loses or lowers a mark', async () => {
    const { store, clients, deaths } = await race(
      engine,
      true,
      (clients, deaths) => deaths >= DEATHS && clients.returns >= RETURNS,
    );
    expect(clients.longestMs, 'the machine is too slow for what is to be shown').toBeLessThan(
      MEMBERSHIP.retireAfterMs,
    );
    expect(clients.returns).toBeGreaterThanOrEqual(RETURNS);
    expect(deaths).toBeGreaterThanOrEqual(DEATHS);
    expect(lowered(clients.pushes)).toEqual([]);
    expect(forgotten(clients.pushes, clients.refusals)).toEqual([]);
    for (const id of CLUSTERS) {
      expect(highWaterOf(await readPrior(store.heads, id)), id).toBe(clients.mark(id));
    }
  });

  it('would be caught if it did', async () => {
    const { clients } = await race(engine, false, ({ pushes }) => lowered(pushes).length > 0);
    expect(lowered(clients.pushes).length).toBeGreaterThan(0);
  });
});
