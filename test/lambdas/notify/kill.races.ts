/**
 * The notify process, killed at random points while clusters change and the bus fails: at the
 * end every change was told, and every event is true.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BusEvent } from '../../../functions/local/event-bus.ts';
import { omitCluster } from '../../../functions/storage/commit.ts';
import { startMortalProcess } from '../../engines/mortal-process.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { pushFree } from '../expire/pushing.ts';
import { eventFaults } from './event-schemas.ts';
import { type Fault, startFaultyBus } from './faulty-bus.ts';
import type { NotifyArgument } from './notify-process.ts';
import { type HistoryState, judge } from './told.ts';

const DEATHS = 10;
const LONGEST_RACE_MS = 150_000;
const NOTIFY_LIFE_MS = 4_000;
const SETTLE_MS = 60_000;
/** More than one call takes, so that calls fail and processes die between two of one batch. */
const CLUSTERS = ['arn:aws:eks:eu-west-1:1:cluster/a', ...Array.from({ length: 23 }, (_, n) => `c${n}`)];
const FAULTS: readonly Fault[] = [
  'throttled',
  'partial',
  'internal-error',
  'internal-error-after-success',
  'reset-after-success',
  'hangs-after-success',
];

/** An agent that publishes, refreshes, leaves and returns; the only writer of its cluster. */
async function live(
  store: TestStore,
  clusterId: string,
  goesOn: () => boolean,
): Promise<readonly HistoryState[]> {
  const history: HistoryState[] = [];
  for (let counter = 1n; goesOn(); ) {
    const last = history.at(-1);
    const dice = Math.random();
    if (last?.state === 'INCLUDED' && dice < 0.2) {
      const reason = `reason ${counter}`;
      await omitCluster(store.heads, clusterId, reason, Date.now());
      history.push({ ...last, state: 'OMITTED', changes: ['OMITTED'], reason });
    } else {
      const free = last === undefined || dice < 0.6 ? BigInt(Math.floor(Math.random() * 9)) : last.free;
      await pushFree(store, clusterId, { counter, free: Number(free), nowMs: Date.now() });
      const changed = free !== last?.free;
      const returned = last?.state === 'OMITTED';
      history.push({
        counter,
        state: 'INCLUDED',
        free,
        contentSince: changed ? counter : (last?.contentSince ?? counter),
        changes: [
          ...(returned ? (['RETURNED'] as const) : []),
          ...(changed ? (['PUBLISHED'] as const) : returned ? [] : (['REFRESHED'] as const)),
        ],
      });
      counter += BigInt(1 + Math.floor(Math.random() * 3));
    }
    await sleep(Math.random() * 400);
  }
  return history;
}

function faultsOf(
  histories: ReadonlyMap<string, readonly HistoryState[]>,
  events: readonly BusEvent[],
): string[] {
  return [...histories].flatMap(([id, history]) =>
    judge(
      id,
      history,
      events.filter((event) => event.detail.clusterId === id),
    ),
  );
}

describe.each(engines.filter(({ name }) => name === 'DynamoDB Local'))('On the stream of $name', (engine) => {
  it('every change event is delivered at least once, and truly, though notify is killed and the bus fails', async () => {
    const store = await freshStore(engine);
    const bus = await startFaultyBus(() =>
      Math.random() < 0.4 ? (FAULTS[Math.floor(Math.random() * FAULTS.length)] ?? 'none') : 'none',
    );
    const folder = mkdtempSync(join(tmpdir(), 'notify-'));
    const argument: NotifyArgument = {
      endpoint: engine.endpoint,
      table: store.tables.heads,
      busEndpoint: bus.endpoint,
      positionsFile: join(folder, 'positions.json'),
    };
    const notify = startMortalProcess(
      new URL('notify-process.ts', import.meta.url),
      argument,
      NOTIFY_LIFE_MS,
    );
    const until = performance.now() + LONGEST_RACE_MS;
    const goesOn = (): boolean => notify.deaths < DEATHS && performance.now() < until;
    const histories = new Map(
      await Promise.all(CLUSTERS.map(async (id) => [id, await live(store, id, goesOn)] as const)),
    );
    await notify.spare();
    const settled = performance.now() + SETTLE_MS;
    while (faultsOf(histories, bus.events).length > 0 && performance.now() < settled) await sleep(250);
    await notify.end();
    await bus.close();
    rmSync(folder, { recursive: true });

    const changes = [...histories.values()].reduce((sum, history) => sum + history.length, 0);
    console.log(
      `${changes} changes, ${bus.events.length} events in ${bus.calls} calls, ${notify.deaths} deaths of notify`,
    );
    expect(notify.deaths).toBeGreaterThanOrEqual(DEATHS);
    expect(faultsOf(histories, bus.events)).toEqual([]);
    expect(bus.events.flatMap(eventFaults)).toEqual([]);
    // And the judge would have seen it, had one been lost or untrue.
    const [first] = bus.events;
    const without = bus.events.filter(
      (event) => event.detail.logicalCounter !== first?.detail.logicalCounter,
    );
    expect(faultsOf(histories, without).length).toBeGreaterThan(0);
  });
});
