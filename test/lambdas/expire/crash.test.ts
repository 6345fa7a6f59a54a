import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_MEMBERSHIP } from '../../../functions/core/membership.ts';
import { type SweepReport, sweep } from '../../../functions/lambdas/expire/sweep.ts';
import { omitCluster } from '../../../functions/storage/commit.ts';
import { HeadStore } from '../../../functions/storage/heads.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { T0 } from '../notify/builders.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';
import { dyingClient } from './dying-client.ts';
import { push } from './pushing.ts';

const NOW = T0 + DEFAULT_MEMBERSHIP.retireAfterMs + 60_000;
const SILENT = ['silent-1', 'silent-2'];
const GONE = ['gone-1', 'gone-2', 'gone-3'];
/** One for each omission, two for each retirement. */
const WRITES = SILENT.length + 2 * GONE.length;

const deaths = Array.from({ length: WRITES }, (_, atWrite) => atWrite).flatMap((atWrite) =>
  (['before', 'after'] as const).map((when) => ({ atWrite, when })),
);

describe.each(engines)('A sweeper on $name that is killed', (engine) => {
  let store: TestStore;

  beforeEach(async () => {
    store = await freshStore(engine, 1);
    for (const id of SILENT)
      await push(store, id, { counter: 5n, nowMs: NOW - DEFAULT_MEMBERSHIP.omitAfterMs - 1 });
    for (const id of GONE) {
      await push(store, id, { counter: 7n, content: 'x', nowMs: T0 });
      await omitCluster(store.heads, id, 'deleted', T0);
    }
  });
  afterEach(() => store.client.destroy());

  const sweepWith = (heads: HeadStore): Promise<SweepReport> =>
    sweep({ heads, shards: 1, telemetry: new RecordedTelemetry() }, DEFAULT_MEMBERSHIP, NOW);

  it.each(deaths)(
    '$when write $atWrite loses no mark, and the next one ends its work',
    async ({ atWrite, when }) => {
      const client = dyingClient(engine.endpoint, atWrite, when);
      const died = await sweepWith(new HeadStore(client, store.tables));
      expect(died.failedClusters.length).toBeGreaterThan(0);
      client.destroy();

      for (const id of [...SILENT, ...GONE]) {
        const refused = push(store, id, { counter: 4n, nowMs: NOW });
        await expect(refused).rejects.toMatchObject({
          code: 'counter_regressed',
          details: { highWaterMark: id.startsWith('gone') ? 7n : 5n },
        });
      }
      await sweepWith(store.heads);
      const { heads } = await store.heads.readAll();
      expect(heads.map((head) => [head.clusterId, head.omission?.reason])).toEqual(
        SILENT.map((id) => [id, 'silent']),
      );
      for (const id of GONE) expect(await store.heads.readTombstone(id)).toMatchObject({ highWater: 7n });
    },
  );

  it('while a cluster comes back leaves the cluster in the map', async () => {
    // It dies after the marks of some were kept and before their heads were deleted.
    const client = dyingClient(engine.endpoint, SILENT.length + 1, 'after');
    await sweepWith(new HeadStore(client, store.tables));
    client.destroy();
    for (const id of GONE)
      await push(store, id, { counter: 7n, content: 'x', collectedAtMs: T0, nowMs: NOW });
    expect(await sweepWith(store.heads)).toMatchObject({ retired: [], included: GONE.length });
  });
});
