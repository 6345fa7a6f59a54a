/** The replica against the real service on real engines, with a network that fails and a service that restarts. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../functions/client/client.ts';
import { ConnectionError } from '../../functions/client/errors.ts';
import { MapReplica } from '../../functions/client/replica.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { serveStore, type TestService } from '../lambdas/map/service.ts';
import { clusterSnapshot } from '../lambdas/map/snapshots.ts';
import { type Fate, type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';
import { asJson } from './model-service.ts';

type Step =
  | { readonly kind: 'push'; readonly cluster: string; readonly nodes: number }
  | { readonly kind: 'omit'; readonly cluster: string }
  | { readonly kind: 'restart' }
  | { readonly kind: 'pull'; readonly fates: readonly Fate[] };

const cluster = fc.constantFrom('a', 'b', 'c/d', '😀');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('push' as const), cluster, nodes: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('omit' as const), cluster }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pull' as const),
      fates: fc.array(
        fc.constantFrom<Fate>('pass', 'lose-request', 'lose-answer', 'break-answer', { status: 503 }),
        {
          maxLength: 3,
        },
      ),
    }),
  },
);

describe.each(engines)('a replica of the service on $name', (engine) => {
  let store: TestStore;
  let service: TestService;
  let proxy: FaultyProxy;
  const counters = new Map<string, bigint>();

  beforeAll(async () => {
    store = await freshStore(engine);
    service = await serveStore(store);
    proxy = await startFaultyProxy(service.url);
  });
  afterAll(async () => {
    await proxy.close();
    await service.close();
  });

  async function perform(step: Exclude<Step, { kind: 'pull' }>): Promise<void> {
    if (step.kind === 'restart') {
      await service.close();
      service = await serveStore(store);
      proxy.target = service.url;
    } else if (step.kind === 'omit') {
      if (counters.has(step.cluster)) await service.client.omit(step.cluster);
    } else {
      const counter = (counters.get(step.cluster) ?? 0n) + 1n;
      counters.set(step.cluster, counter);
      await service.client.push(clusterSnapshot(step.cluster, { counter, nodes: step.nodes }));
    }
  }

  it('becomes the map after pushes, omissions, returns, restarts and failures of the network, in answers of any size', async () => {
    const history = fc.record({
      steps: fc.array(step, { minLength: 5, maxLength: 20 }),
      maxBytes: fc.constantFrom(1, 400, 4_000_000),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ steps, maxBytes }) => {
        // One try a call, so that every failure reaches the replica.
        const client = createClient({ baseUrl: proxy.url, retry: { attempts: 1, baseMs: 0, capMs: 0 } });
        const replica = new MapReplica(client, { maxBytes });
        for (const step of steps) {
          if (step.kind !== 'pull') {
            await perform(step);
            continue;
          }
          proxy.fates.push(...step.fates);
          await replica.pull().catch((error) => expect(String(error)).toMatch(/ConnectionError|503/));
          proxy.fates.length = 0;
        }

        const events = await replica.pull();

        const response = await service.client.map();
        if (response.kind !== 'map') throw new Error('the map is always modified for who has none');
        expect(events.map((event) => event.kind)).not.toContain('mismatch');
        expect(replica.etag).toBe(response.etag);
        expect(replica.clock).toStrictEqual(new Map(Object.entries(response.map.vectorClock)));
        const expected = new Map(
          response.map.clusterResourceMaps.map((each) => [each.cluster?.clusterId ?? '', asJson(each)]),
        );
        expect(new Map([...replica.clusters].map(([id, snapshot]) => [id, asJson(snapshot)]))).toStrictEqual(
          expected,
        );
      }),
      { numRuns: 8, endOnFailure: true },
    );
  }, 120_000);

  it('hears of a change while its poll is held, and of the next after the service was away', async () => {
    const client = createClient({ baseUrl: proxy.url, retry: { attempts: 1, baseMs: 0, capMs: 0 } });
    const replica = new MapReplica(client, { filter: { cluster: ['watched'] }, pollIntervalMs: 10 });
    const seen: string[] = [];
    for await (const event of replica.changes()) {
      seen.push(event.kind);
      const completes = seen.filter((kind) => kind === 'complete').length;
      if (event.kind === 'complete' && completes === 1) {
        setTimeout(() => void service.client.push(clusterSnapshot('watched')), 50);
      }
      if (event.kind === 'complete' && completes === 2) {
        await service.close();
        setTimeout(async () => {
          service = await serveStore(store);
          proxy.target = service.url;
          await service.client.push(clusterSnapshot('watched', { counter: 2n, nodes: 9 }));
        }, 50);
      }
      if (event.kind === 'unreachable') expect(event.error).toBeInstanceOf(ConnectionError);
      if (event.kind === 'changed') break;
    }
    expect(seen.slice(0, 4)).toStrictEqual(['complete', 'added', 'complete', 'unreachable']);
    expect(seen.at(-1)).toBe('changed');
    expect(replica.clock).toStrictEqual(new Map([['watched', 2n]]));
  }, 60_000);
});
