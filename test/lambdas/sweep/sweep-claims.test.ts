/** The sweeper of claims, and the events of what it and others write, on a real engine. */
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newClaimId } from '../../../functions/client/claim-id.ts';
import { confirmClaim } from '../../../functions/core/claims/change.ts';
import { parseClaimId } from '../../../functions/core/claims/claim-id.ts';
import { parseClaimRequest } from '../../../functions/core/claims/claim-request.ts';
import { ClaimRequestSchema } from '../../../functions/gen/resourcemap/v1/claims_pb.ts';
import { WorkloadPhase } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { claimAnnouncer } from '../../../functions/lambdas/notify/announce-claims.ts';
import { ClaimService } from '../../../functions/lambdas/plan/claim-service.ts';
import { publishSnapshot } from '../../../functions/lambdas/push/publish.ts';
import { sweepClaims } from '../../../functions/lambdas/sweep/sweep-claims.ts';
import { ChangeFeed } from '../../../functions/local/change-feed.ts';
import { ClaimReader } from '../../../functions/reading/claim-reader.ts';
import { createTable } from '../../../functions/storage/create-tables.ts';
import { claimsTableDefinition, LedgerStore } from '../../../functions/storage/ledgers.ts';
import { cluster } from '../../core/capacity/builders.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { eventFaults } from '../notify/event-schemas.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';

describe.each(engines.slice(0, 1))('on $name', (engine) => {
  let store: TestStore;
  let ledgers: LedgerStore;
  let service: ClaimService;
  let deps: Parameters<typeof sweepClaims>[0];
  let feed: ChangeFeed;
  let nowMs = Date.now();
  const telemetry = new RecordedTelemetry();
  const events: { readonly type: string; readonly detail: Readonly<Record<string, unknown>> }[] = [];

  beforeAll(async () => {
    store = await freshStore(engine);
    const table = { name: `claims-${randomUUID()}`, shards: store.tables.shards };
    await createTable(store.client, claimsTableDefinition(table.name));
    feed = new ChangeFeed(store.client, table.name);
    ledgers = new LedgerStore(store.client, table);
    const settings = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };
    const reader = new ClaimReader(store, ledgers, telemetry, settings);
    service = new ClaimService({ ledgers, reader, telemetry, settings, now: () => nowMs });
    deps = { ledgers, reader, heads: store.heads, shards: table.shards, telemetry };
    const publisher = {
      publish: async (sent: readonly { readonly detailType: string; readonly detail: string }[]) => {
        for (const { detailType, detail } of sent)
          events.push({ type: detailType, detail: JSON.parse(detail) });
        return sent.map(() => ({ kind: 'sent' as const }));
      },
    };
    feed.start(claimAnnouncer({ publisher, telemetry, now: () => nowMs }), telemetry);
  });
  afterAll(async () => {
    await feed.stop();
    store.client.destroy();
  });

  const sweep = () => sweepClaims(deps, () => nowMs);
  let counter = 0n;
  /** A cluster of three nodes, with one chain of each of these jobs. */
  const push = async (...jobs: readonly string[]) => {
    const snapshot = cluster({
      types: [{ idle: 3 - jobs.length, nodes: jobs.map((job) => ({ pods: [{ chain: job, index: 0 }] })) }],
      ranks: jobs.map((name) => ({
        name,
        pods: [{ count: 8 }],
        chains: [{ name, phase: WorkloadPhase.RUNNING, podPhases: [WorkloadPhase.RUNNING] }],
      })),
    });
    snapshot.logicalCounter = ++counter;
    snapshot.collectedAt = timestampFromMs(nowMs);
    const request = { clusterId: 'c1', snapshot, allowJump: false, strict: false, observedAtMs: nowMs };
    await publishSnapshot(store, request, nowMs);
  };
  const accept = async (jobId: string): Promise<string> => {
    const id = newClaimId(nowMs);
    await service.accept({
      clusterId: 'c1',
      id: parseClaimId(id),
      owner: 'o',
      request: parseClaimRequest(
        create(ClaimRequestSchema, { jobId, ranks: [{ podRequirements: [{ acceleratorCount: 8 }] }] }),
      ),
      dryRun: false,
      signal: new AbortController().signal,
    });
    return id;
  };
  const confirm = (id: string) =>
    service.change('c1', parseClaimId(id), true, (situation) =>
      confirmClaim(situation, parseClaimId(id), 'o', 60_000),
    );

  test('what was only derived is written down once, and told; then the ledger is emptied and removed', async () => {
    await push();
    const [started, forgotten, lost] = [
      await accept('started'),
      await accept('forgotten'),
      await accept('lost'),
    ];
    await confirm(started);
    await confirm(lost);
    expect(await sweep()).toMatchObject({ live: 3, lapsed: 0, accelerators: 24, recorded: 0, removed: 0 });

    nowMs += 10_000;
    await push('started');
    expect(await sweep()).toMatchObject({ live: 2, recorded: 1 });
    nowMs += 55_000;
    // Past both times: the held one is over by that, the confirmed one only by evidence.
    expect(await sweep()).toMatchObject({ live: 1, lapsed: 1, accelerators: 8, recorded: 1 });
    expect(await sweep()).toMatchObject({ live: 1, recorded: 0, movedMeanwhile: 0 });
    nowMs += 60_000;
    await push('started');
    expect(await sweep()).toMatchObject({ live: 0, recorded: 1, largestBytes: expect.any(Number) });

    await feed.stop();
    expect(events.map(({ type, detail }) => `${type} ${detail.jobId}`)).toEqual([
      'Claim Accepted started',
      'Claim Accepted forgotten',
      'Claim Accepted lost',
      'Claim Confirmed started',
      'Claim Confirmed lost',
      'Claim Fulfilled started',
      'Claim Expired forgotten',
      'Claim Expired lost',
    ]);
    expect(
      events.flatMap(({ type, detail }) =>
        eventFaults({
          version: '0',
          id: 'i',
          'detail-type': type,
          source: 'resource-map',
          account: '0',
          time: '2026-01-01T00:00:00Z',
          region: 'local',
          resources: [],
          detail,
        }),
      ),
    ).toEqual([]);
    expect(events.at(-1)?.detail).toMatchObject({
      id: lost,
      clusterId: 'c1',
      change: 'CLAIM_CHANGE_KIND_EXPIRED',
      state: 'CLAIM_STATE_EXPIRED',
      previousState: 'CLAIM_STATE_CONFIRMED',
      owner: 'o',
      fulfilledChains: 0,
      reason: '0 of 1 chains were fulfilled',
      placements: [{ chains: 1, acceleratorCounts: [8] }],
    });
    expect(events[6]?.detail.id).toBe(forgotten);
    expect([...telemetry.counts].filter(([name]) => /^Claims(Broken|Expired)/.test(name))).toEqual([
      ['ClaimsBroken', 0],
      ['ClaimsExpiredConfirmed', 1],
    ]);
    expect(telemetry.gauges.get('ClaimToFulfilled')).toEqual([10_000, 'Milliseconds']);

    // With no caller the ledger is empty once its tombstones are due; it goes with its cluster.
    nowMs += 120_000;
    expect(await sweep()).toMatchObject({ live: 0, recorded: 1, removed: 0 });
    expect((await ledgers.read('c1')).ledger.holds).toEqual([]);
    expect(await sweep()).toMatchObject({ recorded: 0, removed: 0 });
    const retired = { ...deps, heads: { read: async () => undefined } };
    expect(await sweepClaims(retired, () => nowMs)).toMatchObject({ removed: 1, failedClusters: [] });
    expect((await ledgers.read('c1')).version).toBe(0n);
    expect(telemetry.errors).toEqual([]);
  });
});
