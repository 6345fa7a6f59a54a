/** A push of known content against the same push to a process that knows nothing: they must never differ. */
import { clone, toBinary, toJsonString } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { wireContentOf } from '../../../functions/core/snapshot/wire-content.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../../functions/http/app.ts';
import type { App } from '../../../functions/http/app-env.ts';
import { KnownContents } from '../../../functions/lambdas/push/known-contents.ts';
import { pushRoutes } from '../../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';
import type { Store } from '../../../functions/storage/commit.ts';
import { permuteWire, seededRandom } from '../../builders/permute-wire.ts';
import { arbitrarySnapshot } from '../../core/snapshot/arbitrary-snapshot.ts';
import { NOW_MS, nodeType, pool, snapshotOf } from '../../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';

const silent = jsonLinesTelemetry(() => undefined);

function serve(store: Store, now: () => number): App {
  const app = createApp(silent, { kind: 'open' });
  pushRoutes(app, { store, telemetry: silent, now });
  return app;
}

interface Sent {
  readonly body: Uint8Array | string;
  readonly query?: string;
}

async function push(app: App, { body, query = '' }: Sent): Promise<unknown> {
  const type = typeof body === 'string' ? 'application/json' : 'application/x-protobuf';
  const response = await app.request(`/v1/clusters/c/snapshot${query}`, {
    method: 'PUT',
    headers: { 'content-type': type, accept: 'application/json', 'x-request-id': 'r' },
    body,
  });
  const { requestId: _, instance: __, ...result } = (await response.json()) as Record<string, unknown>;
  return { status: response.status, ...result };
}

/** The first three times out of four. */
function mostly<T>(usual: T, ...odd: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, fc.constantFrom(...odd));
}

/** Content in which no rule finds anything. */
const clean = (nodes: number): ClusterResourceMap =>
  snapshotOf({
    cluster: { clusterId: 'c', provider: 'aws', region: 'eu-central-1' },
    capacityPools: [pool({ nodeTypes: [nodeType({ totalCount: nodes })] })],
  });

describe.each(engines)('A process that knows the content, on $name', (engine) => {
  let store: TestStore;
  let reference: TestStore;
  beforeEach(async () => {
    [store, reference] = await Promise.all([freshStore(engine), freshStore(engine)]);
    return () => {
      vi.restoreAllMocks();
      store.client.destroy();
      reference.client.destroy();
    };
  });

  /** What is odd about a push is odd about that one alone, so that the next one can go through. */
  const step = fc.record({
    counterOff: mostly(0n, -1_000n, -2n, -1n, 5n, 2n ** 53n),
    // Older than the last one, the same, ahead by less and by more than is allowed, and none at all.
    timeOffMs: mostly(0, -7_200_000, -1_000, 3_700_000, 4_000_000, Number.NaN),
    content: mostly(0, 1, 2),
    form: mostly('canonical', 'permuted', 'json'),
    query: fc.constantFrom('', '', '?strict=true', '?allow_jump=true'),
    passesMs: fc.constantFrom(0, 1_000, 6_000, 2 * 86_400_000),
  });

  it('gives the response and keeps the head that one gives and keeps that does not', {
    timeout: 60_000,
  }, async () => {
    const finds = vi.spyOn(KnownContents.prototype, 'find');
    let known = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.integer({ min: 1, max: 9 }).map(clean), arbitrarySnapshot(), arbitrarySnapshot()),
        fc.array(step, { minLength: 6, maxLength: 10 }),
        async (contents, steps) => {
          const id = `c${crypto.randomUUID()}`;
          let nowMs = NOW_MS;
          const remembering = serve(store, () => nowMs);
          let counter = 0n;
          for (const each of steps) {
            nowMs += each.passesMs;
            const sent = counter + 1n + each.counterOff;
            const snapshot = clone(ClusterResourceMapSchema, contents[each.content] as ClusterResourceMap);
            if (snapshot.cluster !== undefined) snapshot.cluster.clusterId = id;
            snapshot.logicalCounter = sent < 0n ? 0n : sent;
            snapshot.collectedAt = Number.isNaN(each.timeOffMs)
              ? undefined
              : timestampFromMs(nowMs - 3_600_000 + each.timeOffMs);
            const encoded = toBinary(ClusterResourceMapSchema, snapshot);
            const body =
              each.form === 'json'
                ? toJsonString(ClusterResourceMapSchema, snapshot)
                : each.form === 'permuted'
                  ? permuteWire(ClusterResourceMapSchema, encoded, () => false, seededRandom(1))
                  : encoded;
            const send = async (app: App): Promise<{ status: number }> => {
              const type = typeof body === 'string' ? 'application/json' : 'application/x-protobuf';
              const response = await app.request(`/v1/clusters/${id}/snapshot${each.query}`, {
                method: 'PUT',
                headers: { 'content-type': type, accept: 'application/json' },
                body,
              });
              const { requestId: _, ...result } = (await response.json()) as Record<string, unknown>;
              return { status: response.status, ...result };
            };
            const given = await send(remembering);
            if (given.status === 200 && sent > counter) counter = sent;
            expect(given).toEqual(await send(serve(reference, () => nowMs)));
            expect(await store.heads.read(id)).toEqual(await reference.heads.read(id));
          }
        },
      ),
      { numRuns: 20 },
    );
    for (const { value } of finds.mock.results) if (value !== undefined) known++;
    // Else nothing was compared.
    expect(known).toBeGreaterThan(40);
  });

  it('decodes nothing of a refresh', async () => {
    const app = serve(store, () => NOW_MS);
    const decoded = vi.spyOn(KnownContents.prototype, 'remember');
    const at = (logicalCounter: bigint): Uint8Array =>
      toBinary(
        ClusterResourceMapSchema,
        snapshotOf({
          cluster: { clusterId: 'c' },
          logicalCounter,
          capacityPools: [pool({ nodeTypes: [nodeType()] })],
        }),
      );
    expect(await push(app, { body: at(1n) })).toMatchObject({ outcome: 'PUSH_OUTCOME_PUBLISHED' });
    expect(decoded).toHaveBeenCalledTimes(1);
    expect(await push(app, { body: at(2n) })).toMatchObject({
      outcome: 'PUSH_OUTCOME_REFRESHED',
      logicalCounter: '2',
    });
    expect(await push(app, { body: at(2n) })).toMatchObject({ outcome: 'PUSH_OUTCOME_ALREADY_PUBLISHED' });
    expect(decoded).toHaveBeenCalledTimes(1);
  });

  it('remembers nothing in which a rule found something, and nothing of the clusters that it had first', () => {
    const contents = new KnownContents(2);
    const body = toBinary(ClusterResourceMapSchema, snapshotOf({ logicalCounter: 7n }));
    const wire = wireContentOf(body);
    if (wire === undefined) throw new Error('not parted');
    const known = { contentId: 'x', cluster: snapshotOf().cluster as never, accelerators: [] };
    for (const id of ['a', 'b', 'c']) contents.remember(id, wire, known, body);
    expect(['a', 'b', 'c'].map((id) => contents.find(id, wire) !== undefined)).toEqual([false, true, true]);
  });
});
