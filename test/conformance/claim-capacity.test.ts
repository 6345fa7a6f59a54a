/** What claims cost, in DynamoDB's own units as Amazon's own engine counts them, and what they add to a push: nothing. */
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { newClaimId } from '../../functions/client/claim-id.ts';
import { parseClaimId } from '../../functions/core/claims/claim-id.ts';
import { parseClaimRequest } from '../../functions/core/claims/claim-request.ts';
import { holdBytes } from '../../functions/core/claims/compact.ts';
import { MAX_LEDGER_BYTES, MAX_LIVE_CLAIMS } from '../../functions/core/claims/limits.ts';
import { ClaimRequestSchema } from '../../functions/gen/resourcemap/v1/claims_pb.ts';
import { ClaimService } from '../../functions/lambdas/plan/claim-service.ts';
import { publishSnapshot } from '../../functions/lambdas/push/publish.ts';
import { ClaimReader } from '../../functions/reading/claim-reader.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { createTable } from '../../functions/storage/create-tables.ts';
import { claimsTableDefinition, LedgerStore } from '../../functions/storage/ledgers.ts';
import { COLLECTED_AT_MS, cluster } from '../core/capacity/builders.ts';
import { engines, freshStore } from '../engines/store.ts';
import { countCapacity } from './consumed-capacity.ts';

const local = engines.find((engine) => engine.name === 'DynamoDB Local');
const CLUSTER = 'c1';

/** A cluster of 64 free nodes, and a service that accepts claims on it. */
async function metered() {
  if (local === undefined) throw new Error('There is no DynamoDB Local.');
  const store = await freshStore(local);
  const claims = { name: `claims-${randomUUID()}`, shards: store.tables.shards };
  await createTable(store.client, claimsTableDefinition(claims.name));
  const ledgers = new LedgerStore(store.client, claims);
  const telemetry = jsonLinesTelemetry(() => undefined);
  const settings = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };
  const reader = new ClaimReader(store, ledgers, telemetry, settings);
  const service = new ClaimService({ ledgers, reader, telemetry, settings, now: Date.now });
  const labels = {
    [store.tables.heads]: 'heads',
    [store.tables.contents]: 'bodies',
    [claims.name]: 'claims',
  };
  const consumed = countCapacity(store.client, labels);

  const push = (counter: bigint, observedAtMs?: number) => {
    const snapshot = cluster({ id: CLUSTER, types: [{ idle: 64 }] });
    snapshot.logicalCounter = counter;
    snapshot.collectedAt = timestampFromMs(COLLECTED_AT_MS + Number(counter));
    const request = { clusterId: CLUSTER, snapshot, allowJump: false, strict: false, observedAtMs };
    return publishSnapshot(store, request, COLLECTED_AT_MS + 1_000 * Number(counter));
  };
  const accept = (owner: string, jobId: string, note = '') =>
    service.accept({
      clusterId: CLUSTER,
      id: parseClaimId(newClaimId()),
      owner,
      request: parseClaimRequest(
        create(ClaimRequestSchema, {
          jobId,
          note,
          ranks: [{ rankId: 'decode', podRequirements: [{ acceleratorCount: 4 }, { acceleratorCount: 4 }] }],
          ttl: { seconds: 600n },
        }),
      ),
      dryRun: false,
      signal: new AbortController().signal,
    });
  return { store, ledgers, consumed, push, accept };
}

describe.skipIf(local === undefined)('on DynamoDB Local', () => {
  it('each of the first four claims costs one read of the ledger, one of the head, and one write unit', async () => {
    const { consumed, push, accept } = await metered();
    await push(1n);
    // The content is read once, and kept.
    await accept('scheduler', 'warm');
    const first = consumed().units;
    expect(first['GetItem claims']).toBe(1);
    for (const job of ['second', 'third', 'fourth']) {
      await accept('scheduler', job);
      expect(consumed()).toEqual({
        units: { 'GetItem claims': 1, 'GetItem heads': 1, 'PutItem claims': 1 },
        requests: { 'GetItem claims': 1, 'GetItem heads': 1, 'PutItem claims': 1 },
      });
    }
  });

  it('a push that changes nothing costs one write unit and one read, with claims live as without', async () => {
    const { consumed, push, accept } = await metered();
    await push(1n);
    for (const job of ['a', 'b', 'c', 'd']) await accept('scheduler', job);
    consumed();
    await push(2n, COLLECTED_AT_MS);
    expect(consumed()).toEqual({
      units: { 'GetItem heads': 1, 'PutItem heads': 1 },
      requests: { 'GetItem heads': 1, 'PutItem heads': 1 },
    });
  });

  it('a repeat does not move what its snapshot had observed', async () => {
    const { store, push } = await metered();
    const observed = async () => (await store.heads.read(CLUSTER))?.observedAtMs;
    await push(1n, COLLECTED_AT_MS - 500);
    expect(await observed()).toBe(COLLECTED_AT_MS - 500);
    expect((await push(1n, COLLECTED_AT_MS + 500)).decision).toBe('repeat');
    expect(await observed()).toBe(COLLECTED_AT_MS - 500);
    await push(2n, COLLECTED_AT_MS + 500);
    expect(await observed()).toBe(COLLECTED_AT_MS + 500);
  });

  it('64 claims of at most 600 bytes are less than 48 KB, and there is no 65th', async () => {
    const { ledgers, consumed, push, accept } = await metered();
    await push(1n);
    const note = 'n'.repeat(200);
    const job = (index: number) => `${index}-`.padEnd(253, 'j');
    for (let index = 0; index < MAX_LIVE_CLAIMS; index++) {
      consumed();
      await accept(index % 2 === 0 ? 'one scheduler' : 'another scheduler', job(index), note);
    }
    const { holds } = (await ledgers.read(CLUSTER)).ledger;
    const bytes = holds.map(holdBytes);
    expect(holds).toHaveLength(64);
    expect(Math.max(...bytes)).toBeLessThanOrEqual(600);
    expect(Math.min(...bytes)).toBeGreaterThan(550);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MAX_LEDGER_BYTES);
    // The last of them wrote the whole ledger.
    expect(consumed().units['PutItem claims']).toBeLessThanOrEqual(48);
    await expect(accept('a third scheduler', 'last')).rejects.toThrow(
      '[too_many_claims] 64 claims are live in the cluster, and at most 64 can be; try again when some have ended.',
    );
  });
});
