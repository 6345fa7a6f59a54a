import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Client, SyncOptions } from '../../functions/client/client.ts';
import { ApiError, ConnectionError } from '../../functions/client/errors.ts';
import { MapReplica, type ReplicaEvent, ReplicaMismatchError } from '../../functions/client/replica.ts';
import { SyncResponseSchema } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { asJson, ModelService, SNAPSHOT_BYTES } from './model-service.ts';

const EMPTY_ETAG = 'W/"wJ-Mys8K8JTYY9voSEqZwm9Gx40zW8FVIBCBECronPQ.pb"';

function contentOf(replica: MapReplica): Map<string, unknown> {
  return new Map([...replica.clusters].map(([id, snapshot]) => [id, asJson(snapshot)]));
}

/** What happened, in short: `added a`, `complete`. */
function brief(events: readonly ReplicaEvent[]): string[] {
  return events.map((event) => ('clusterId' in event ? `${event.kind} ${event.clusterId}` : event.kind));
}

/** What happens to the service. */
type Deed =
  | { readonly kind: 'push'; readonly cluster: string; readonly content: number; readonly region: string }
  | { readonly kind: 'refresh' | 'omit'; readonly cluster: string };

/** Deeds, or a pull that loses some answers and has deeds come between the others. */
type Step = Deed | { readonly kind: 'pull'; readonly lost: number; readonly between: readonly Deed[] };

const cluster = fc.constantFrom('a', 'b', 'c', 'd', '1');
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    kind: fc.constant('push' as const),
    cluster,
    content: fc.nat(2),
    region: fc.constantFrom('eu', 'us'),
  }),
  fc.record({ kind: fc.constantFrom('refresh' as const, 'omit' as const), cluster }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: deed },
  fc.record({
    kind: fc.constant('pull' as const),
    lost: fc.nat(2),
    between: fc.array(deed, { maxLength: 6 }),
  }),
);

function perform(service: ModelService, deed: Deed): void {
  if (deed.kind === 'push') service.push(deed.cluster, deed.content, deed.region);
  else if (deed.kind === 'refresh') service.refresh(deed.cluster);
  else service.omit(deed.cluster);
}

/** A service to which something happens before each response, as long as there are deeds. */
class BusyService implements Pick<Client, 'sync'> {
  deeds: Deed[] = [];
  constructor(private readonly service: ModelService) {}

  sync(options: SyncOptions) {
    const deed = this.deeds.shift();
    if (deed !== undefined) perform(this.service, deed);
    return this.service.sync(options);
  }
}

describe('a replica', () => {
  it('becomes the map after any interleaving of pushes, refreshes, omissions, returns and lost responses, in answers of any size', async () => {
    const history = fc.record({
      steps: fc.array(step, { maxLength: 30 }),
      maxBytes: fc.constantFrom(1, SNAPSHOT_BYTES, 2 * SNAPSHOT_BYTES, 4_000_000),
      region: fc.option(fc.constantFrom('eu', 'us'), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ steps, maxBytes, region }) => {
        const service = new ModelService();
        const busy = new BusyService(service);
        const replica = new MapReplica(busy, {
          maxBytes,
          filter: region === undefined ? {} : { region: [region] },
        });
        for (const step of steps) {
          if (step.kind !== 'pull') {
            perform(service, step);
            continue;
          }
          busy.deeds = [...step.between];
          service.responsesToLose = step.lost;
          // A lost answer fails the pull; answers before it were applied, and the next pull goes on from there.
          await replica.pull().catch((error) => expect(error).toBeInstanceOf(ConnectionError));
        }

        busy.deeds = [];
        service.responsesToLose = 0;
        const events = await replica.pull();

        expect(brief(events)).not.toContain('mismatch');
        expect(contentOf(replica)).toStrictEqual(service.map(region));
        expect(replica.etag).toBe(service.etag(region));
      }),
      { numRuns: 500 },
    );
  });

  it('follows the service back when its table is restored, before counters are used again', async () => {
    const service = new ModelService();
    service.push('a', 1);
    service.push('b', 1);
    const backup = service.backUp();
    const replica = new MapReplica(service);
    await replica.pull();
    service.push('a', 2);
    service.push('c', 1);
    await replica.pull();
    service.restore(backup);

    const events = await replica.pull();

    expect(events).toMatchObject([
      { kind: 'changed', clusterId: 'a', regressed: true },
      { kind: 'omitted', clusterId: 'c' },
      { kind: 'complete' },
    ]);
    expect(contentOf(replica)).toStrictEqual(service.map());
  });

  it('is never starved of one cluster by others that change, or leave and return, before every response', async () => {
    const service = new ModelService();
    for (let index = 0; index < 5; index++) {
      service.push(`busy-${index}`, 0);
      service.push(`flapping-${index}`, 0);
    }
    const replica = new MapReplica(
      {
        sync: (options) => {
          for (let index = 0; index < 5; index++) {
            service.push(`busy-${index}`, service.asked);
            // Half of them are gone at any time, so that whichever comes back is one that the replica lacks.
            if ((service.asked + index) % 2 === 0) service.omit(`flapping-${index}`);
            else service.refresh(`flapping-${index}`);
          }
          return service.sync(options);
        },
      },
      { maxBytes: 1 },
    );
    service.push('quiet', 1);

    const iterator = replica.changes();
    while (service.asked < 15) {
      const { value } = await iterator.next();
      if (value.kind === 'added' && value.clusterId === 'quiet') break;
    }

    expect(service.asked).toBeLessThanOrEqual(12);
    expect(replica.clusters.has('quiet')).toBe(true);
  });

  it('tells what happened, each event after it was applied', async () => {
    const service = new ModelService();
    const replica = new MapReplica(service);
    expect(brief(await replica.pull())).toStrictEqual(['complete']);
    expect(replica.etag).toBe(EMPTY_ETAG);

    service.push('a', 1);
    service.push('b', 1);
    expect(brief(await replica.pull())).toStrictEqual(['added a', 'added b', 'complete']);

    service.push('a', 2);
    service.refresh('b');
    expect(brief(await replica.pull()).sort()).toStrictEqual(['changed a', 'complete', 'refreshed b']);

    service.omit('a');
    expect(brief(await replica.pull())).toStrictEqual(['omitted a', 'complete']);
    service.refresh('a');
    expect(brief(await replica.pull())).toStrictEqual(['added a', 'complete']);
    expect(brief(await replica.pull())).toStrictEqual(['complete']);
  });

  it('leaves a snapshot that it handed out as it was when the cluster is refreshed', async () => {
    const service = new ModelService();
    service.push('a', 1);
    const replica = new MapReplica(service);
    await replica.pull();
    const before = replica.clusters.get('a');
    service.refresh('a');
    await replica.pull();
    expect(before?.logicalCounter).toBe(1n);
    expect(replica.clusters.get('a')?.logicalCounter).toBe(2n);
    expect(replica.clock).toStrictEqual(new Map([['a', 2n]]));
  });

  it('is fetched again, and readable meanwhile, when its digest is not the service’s', async () => {
    const service = new ModelService();
    service.push('a', 1);
    service.push('b', 1);
    let sabotage = true;
    const replica = new MapReplica({
      sync: async (options) => {
        const response = await service.sync(options);
        if (!sabotage) {
          expect([...replica.clusters.keys()]).toStrictEqual(['a']);
          return response;
        }
        sabotage = false;
        response.changed = response.changed.filter((each) => each.cluster?.clusterId !== 'b');
        return response;
      },
    });

    const events = await replica.pull();

    expect(brief(events)).toStrictEqual(['added a', 'mismatch', 'changed a', 'added b', 'complete']);
    expect(contentOf(replica)).toStrictEqual(service.map());
  });

  it('says so when it differs even after it was fetched again', async () => {
    const wrong = create(SyncResponseSchema, { complete: true, etag: 'W/"other"' });
    const replica = new MapReplica({ sync: async () => wrong });
    await expect(replica.pull()).rejects.toThrow(new ReplicaMismatchError('W/"other"', EMPTY_ETAG));
  });
});

describe('the changes of a replica', () => {
  it('go on after the service was away, and say that it is', async () => {
    const service = new ModelService();
    service.push('a', 1);
    service.responsesToLose = 1;
    const replica = new MapReplica(service, { pollIntervalMs: 1 });
    const seen: ReplicaEvent[] = [];
    for await (const event of replica.changes()) {
      seen.push(event);
      if (event.kind === 'complete') break;
    }
    expect(brief(seen)).toStrictEqual(['unreachable', 'added a', 'complete']);
    expect(seen[0]).toMatchObject({
      error: { message: '[connection_failed] POST model:: the response was lost' },
    });
  });

  it('end where the service refuses', async () => {
    const refusal = new ApiError({ status: 403, code: 'forbidden', detail: 'Not yours.' });
    const replica = new MapReplica({ sync: () => Promise.reject(refusal) });
    await expect(replica.changes().next()).rejects.toBe(refusal);
  });

  it('end with the signal’s reason, during a response and during a pause', async () => {
    for (const pollIntervalMs of [0, 60_000]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const sync: Client['sync'] = ({ signal }) => {
        if (pollIntervalMs > 0) return new ModelService().sync({ clock: new Map() });
        return new Promise((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      };
      const changes = new MapReplica({ sync }, { pollIntervalMs }).changes({ signal: controller.signal });
      if (pollIntervalMs > 0) await changes.next();
      const next = changes.next();
      setTimeout(() => controller.abort(reason), 5);
      await expect(next).rejects.toThrow(reason);
    }
  });

  it('hold the poll once the replica is complete, and ask at once before', async () => {
    const service = new ModelService();
    service.push('a', 1);
    service.push('b', 1);
    const holds: (number | undefined)[] = [];
    const replica = new MapReplica(
      {
        sync: (options) => {
          holds.push(options.waitMs);
          return service.sync(options);
        },
      },
      { maxBytes: 1, waitMs: 7_000, pollIntervalMs: 0 },
    );
    let completed = 0;
    for await (const event of replica.changes()) if (event.kind === 'complete' && ++completed === 2) break;
    expect(holds).toStrictEqual([undefined, undefined, 7_000]);
  });
});
