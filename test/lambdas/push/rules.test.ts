/** The rule book as an agent meets it: over HTTP, on a real store. */
import { toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../../functions/client/errors.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  PurchaseModel,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ClusterState, PushOutcome } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { publishSnapshot } from '../../../functions/lambdas/push/publish.ts';
import { pushRoutes } from '../../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';
import { readPrior } from '../../../functions/storage/commit.ts';
import {
  NOW_MS,
  NOW_SECONDS,
  type NodeTypeInit,
  nodeType,
  pool,
  snapshotOf,
} from '../../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../../engines/store.ts';
import { serveStore, type TestService } from '../map/service.ts';

const telemetry = jsonLinesTelemetry(() => undefined);

/** A cluster of one node type. */
function cluster(clusterId: string, counter: bigint, init: NodeTypeInit = {}): ClusterResourceMap {
  return snapshotOf({
    cluster: { clusterId, region: 'eu' },
    logicalCounter: counter,
    capacityPools: [pool({ nodeTypes: [nodeType(init)] })],
  });
}

async function refusal(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ApiError) return error;
  throw error ?? new Error('The call was not refused.');
}

describe.each(engines)('on $name', (engine) => {
  let store: TestStore;
  let service: TestService;
  /** Reads of bodies so far. */
  let contentReads = 0;
  beforeAll(async () => {
    store = await freshStore(engine);
    store.client.middlewareStack.add(
      (next, context) => (args) => {
        if (context.commandName === 'BatchGetItemCommand') contentReads++;
        return next(args);
      },
      { step: 'initialize', name: 'countBodyReads' },
    );
    service = await serveStore(store, { now: () => NOW_MS });
  });
  afterAll(() => service.close());

  describe('a push', () => {
    it('that breaks rules is refused with all of them, and the map keeps the last good snapshot', async () => {
      await service.client.push(cluster('kept', 1n));
      const lie = cluster('kept', 2n, { inUse: [{}, { unavailableAccelerators: 9 }], fabricId: 'f' });
      const { status, problem } = await refusal(service.client.push(lie));
      expect(status).toBe(422);
      expect(problem.code).toBe('invalid_snapshot');
      expect(problem.findings?.map((f) => [f.severity, f.code, f.path])).toEqual([
        ['reject', 'unknown_fabric', 'capacity_pools[0].node_types[0].fabric_id'],
        ['reject', 'empty_occupancy', 'capacity_pools[0].node_types[0].in_use[0]'],
        ['reject', 'node_overcommitted', 'capacity_pools[0].node_types[0].in_use[1]'],
      ]);
      expect((await service.client.snapshot('kept')).logicalCounter).toBe(1n);
    });

    it('that breaks very many is told how many there were', async () => {
      const entries = Array.from({ length: 1_500 }, () => ({}));
      const lie = cluster('many', 1n, { totalCount: 1_500, inUse: entries });
      const response = await fetch(`${service.url}/v1/clusters/many/snapshot`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: toJsonString(ClusterResourceMapSchema, lie),
      });
      expect(response.status).toBe(422);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      const problem = (await response.json()) as { findings: unknown[]; omittedFindings: number };
      expect([problem.findings.length, problem.omittedFindings]).toEqual([1_000, 500]);
    });

    it('that is warned of is accepted, and told', async () => {
      const { outcome, warnings } = await service.client.push(cluster('warned', 1n, { purchaseModel: 0 }));
      expect(outcome).toBe(PushOutcome.PUBLISHED);
      expect(warnings).toMatchObject([
        {
          code: 'unspecified_purchase_model',
          severity: 'warn',
          path: 'capacity_pools[0].node_types[0].purchase_model',
          message: 'purchase_model of node type "t" of pool "p" is not set; say how its nodes are paid for',
        },
      ]);
    });

    it('that is strict is refused for its warnings', async () => {
      const push = service.client.push(cluster('strict', 1n, { purchaseModel: 0 }), { strict: true });
      const { problem } = await refusal(push);
      expect(problem.findings).toMatchObject([{ code: 'unspecified_purchase_model', severity: 'reject' }]);
      // It is not in the map, and its status says why.
      expect(await service.client.cluster('strict')).toMatchObject({
        state: ClusterState.UNSPECIFIED,
        lastRefusal: { code: 'unspecified_purchase_model' },
      });
    });

    it('is told what it must be compared with the last one, in the order of the document', async () => {
      await service.client.push(cluster('moved', 1n, { purchaseModel: 0 }));
      const next = cluster('moved', 2n, { purchaseModel: 0, acceleratorsPerNode: 4, totalCount: 0 });
      if (next.cluster !== undefined) next.cluster.region = 'us';
      if (next.collectedAt !== undefined) next.collectedAt.seconds -= 1n;
      const { warnings } = await service.client.push(next);
      expect(warnings.map((w) => [w.code, w.path])).toEqual([
        ['identity_changed', 'cluster.region'],
        ['collected_at_regressed', 'collected_at'],
        ['snapshot_emptied', 'capacity_pools'],
        ['node_type_changed', 'capacity_pools[0].node_types[0].accelerators_per_node'],
        ['unspecified_purchase_model', 'capacity_pools[0].node_types[0].purchase_model'],
      ]);
    });

    it('whose counter jumps is refused unless it says that it means it', async () => {
      await service.client.push(cluster('jump', 5n));
      const far = cluster('jump', 6n + 2n ** 53n);
      const { problem } = await refusal(service.client.push(far));
      expect(problem.findings?.map((f) => f.code)).toEqual(['counter_jump']);
      expect((await service.client.push(far, { allowJump: true })).highWaterMark).toBe(6n + 2n ** 53n);
    });

    it('whose counter jumps above the mark of a cluster that was retired is refused as well', async () => {
      const far = cluster('retired', 6n + 2n ** 53n);
      const mark = { clusterId: 'retired', highWater: 5n, collectedAtNanos: 0n, contentId: '' };
      const heads = { read: async () => undefined, readTombstone: async () => mark };
      expect(await readPrior({ ...store.heads, ...heads } as never, 'retired')).toEqual({
        kind: 'retired',
        mark,
      });
      const publish = publishSnapshot(
        { ...store, heads: heads as never },
        { clusterId: 'retired', snapshot: far, allowJump: false, strict: false },
        NOW_MS,
      );
      await expect(publish).rejects.toMatchObject({
        code: 'invalid_snapshot',
        details: { findings: [{ code: 'counter_jump' }] },
      });
    });
  });

  describe('a changed node type', () => {
    it('is warned of once, and paths are those of the snapshot as it was sent', async () => {
      const types = (perNode: number) => [
        nodeType({ id: 'z', acceleratorsPerNode: perNode }),
        nodeType({ id: 'a' }),
      ];
      const snapshot = (counter: bigint, perNode: number) =>
        snapshotOf({
          cluster: { clusterId: 'changed' },
          logicalCounter: counter,
          capacityPools: [pool({ nodeTypes: types(perNode) })],
        });
      await service.client.push(snapshot(1n, 8));
      const [second, third] = [
        await service.client.push(snapshot(2n, 4)),
        await service.client.push(snapshot(3n, 4)),
      ];
      expect(second.warnings.map((w) => [w.code, w.path])).toEqual([
        ['node_type_changed', 'capacity_pools[0].node_types[0].accelerators_per_node'],
      ]);
      expect([third.outcome, third.warnings]).toEqual([PushOutcome.REFRESHED, []]);
    });

    it('is refused where the push is strict', async () => {
      await service.client.push(cluster('changed strictly', 1n));
      const { problem } = await refusal(
        service.client.push(cluster('changed strictly', 2n, { purchaseModel: PurchaseModel.SPOT }), {
          strict: true,
        }),
      );
      expect(problem.findings?.map((f) => f.code)).toEqual(['node_type_changed']);
    });

    it('costs no read where the content did not change, and one where it did', async () => {
      await service.client.push(cluster('reads', 1n));
      const before = contentReads;
      await service.client.push(cluster('reads', 1n));
      await service.client.push(cluster('reads', 2n));
      expect(contentReads - before).toBe(0);
      await service.client.push(cluster('reads', 3n, { totalCount: 7 }));
      expect(contentReads - before).toBe(1);
    });

    it('is not told where the last body cannot be read, and the push is accepted', async () => {
      await service.client.push(cluster('unreadable', 1n));
      const contents = {
        ...store.contents,
        read: async () => new Map(),
        write: store.contents.write.bind(store.contents),
      };
      const published = await publishSnapshot(
        { heads: store.heads, contents: contents as never },
        {
          clusterId: 'unreadable',
          snapshot: cluster('unreadable', 2n, { acceleratorsPerNode: 4 }),
          allowJump: false,
          strict: false,
        },
        NOW_MS,
      );
      expect([published.decision, published.warnings]).toEqual(['publish', []]);
    });

    it('is compared with the newer head where another push came between', async () => {
      await service.client.push(cluster('raced', 1n));
      const stale = await store.heads.read('raced');
      await service.client.push(cluster('raced', 2n, { acceleratorsPerNode: 4 }));
      let reads = 0;
      const heads = {
        // What was there when the push began.
        read: async (id: string) => (reads++ === 0 ? stale : store.heads.read(id)),
        replace: store.heads.replace.bind(store.heads),
      };
      const published = await publishSnapshot(
        { ...store, heads: heads as never },
        {
          clusterId: 'raced',
          snapshot: cluster('raced', 3n, { acceleratorsPerNode: 8, totalCount: 9 }),
          allowJump: false,
          strict: false,
        },
        NOW_MS,
      );
      expect(published.warnings.map((w) => w.message)).toEqual([
        'accelerators_per_node of node type "t" of pool "p" is 8, and was 4 in the last accepted snapshot; give nodes of another kind a node type of their own',
      ]);
    });
  });

  describe('GET of one cluster', () => {
    it('counts its warnings and gives the first twenty, in document order', async () => {
      const nodeTypes = Array.from({ length: 25 }, (_, t) =>
        nodeType({ id: `t${100 + t}`, purchaseModel: 0 }),
      );
      const capacityPools = [pool({ nodeTypes })];
      await service.client.push(snapshotOf({ cluster: { clusterId: 'status' }, capacityPools }));
      const { warningCount, warnings } = await service.client.cluster('status');
      expect(warningCount).toBe(25);
      expect(warnings.map((w) => w.path)).toEqual(
        Array.from({ length: 20 }, (_, t) => `capacity_pools[0].node_types[${t}].purchase_model`),
      );
    });

    it('keeps what the content lost until the content changes again, and strict rejects none of it', async () => {
      const poolsAt = (counter: bigint, ...ids: readonly string[]) =>
        snapshotOf({
          cluster: { clusterId: 'lost' },
          logicalCounter: counter,
          capacityPools: ids.map((id) => pool({ id, nodeTypes: [nodeType()] })),
        });
      const codes = async () => {
        const { warnings, warningCount } = await service.client.cluster('lost');
        expect(warningCount).toBe(warnings.length);
        return warnings.map((w) => `${w.code}: ${w.message.split(' ').slice(0, 3).join(' ')}`);
      };
      await service.client.push(poolsAt(1n, 'a', 'b', 'c'));
      const pushed = await service.client.push(poolsAt(2n, 'b'), { strict: true });
      expect(pushed.warnings.map((w) => [w.code, w.severity])).toEqual([
        ['pool_gone', 'warn'],
        ['pool_gone', 'warn'],
      ]);
      expect(await codes()).toEqual(['pool_gone: pool "a" of', 'pool_gone: pool "c" of']);
      expect((await service.client.push(poolsAt(3n, 'b'))).warnings).toEqual([]);
      expect(await codes()).toEqual(['pool_gone: pool "a" of', 'pool_gone: pool "c" of']);
      await service.client.push(poolsAt(4n), { strict: true });
      expect(await codes()).toEqual(['snapshot_emptied: the snapshot has']);
      await service.client.push(poolsAt(5n, 'b'));
      expect(await codes()).toEqual([]);
    });

    it('costs no read of the body where there are none', async () => {
      await service.client.push(cluster('without', 1n));
      const before = contentReads;
      expect((await service.client.cluster('without')).warnings).toEqual([]);
      expect(contentReads).toBe(before);
    });
  });

  it('an agent’s clock may be ahead as far as the service is told that it may', async () => {
    // Its routes stand before those that serveStore adds, and so take their place.
    const tolerant = await serveStore(store, {}, (app) => {
      pushRoutes(app, { store, telemetry, now: () => NOW_MS, maxFutureSkewMs: 3_600_000 });
    });
    const ahead = (seconds: bigint) =>
      snapshotOf({
        cluster: { clusterId: 'ahead' },
        collectedAt: { seconds: NOW_SECONDS + seconds },
        logicalCounter: seconds,
      });
    try {
      await tolerant.client.push(ahead(3_600n));
      expect((await tolerant.client.validate(ahead(3_600n))).valid).toBe(true);
      const { problem } = await refusal(tolerant.client.push(ahead(3_601n)));
      expect(problem.findings).toMatchObject([
        { code: 'collected_in_future', message: expect.stringContaining('at most 3600 s are allowed') },
      ]);
      expect((await tolerant.client.validate(ahead(3_601n))).valid).toBe(false);
    } finally {
      await tolerant.close();
    }
  });

  describe('POST /v1/snapshots/validate', () => {
    it('says of a good snapshot that it is valid, with what it is warned of, and stores nothing', async () => {
      const result = await service.client.validate(cluster('never pushed', 1n, { purchaseModel: 0 }));
      expect(result).toMatchObject({
        valid: true,
        findings: [{ code: 'unspecified_purchase_model', severity: 'warn' }],
        omittedFindings: 0,
      });
      expect((await refusal(service.client.cluster('never pushed'))).status).toBe(404);
    });

    it('says of a bad one everything that is wrong', async () => {
      const lie = snapshotOf({ cluster: undefined, logicalCounter: 0n });
      const { valid, findings } = await service.client.validate(lie);
      expect([valid, findings.map((f) => f.code)]).toEqual([
        false,
        ['missing_cluster_id', 'missing_counter'],
      ]);
    });

    it('turns warnings into rejects where it is asked to be strict', async () => {
      const warned = cluster('never pushed', 1n, { purchaseModel: 0 });
      const { valid, findings } = await service.client.validate(warned, { strict: true });
      expect([valid, findings.map((f) => f.severity)]).toEqual([false, ['reject']]);
    });

    it('takes and gives JSON', async () => {
      const response = await fetch(`${service.url}/v1/snapshots/validate?strict=false`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: toJsonString(ClusterResourceMapSchema, cluster('json', 1n, { inUse: [{}] })),
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        valid: false,
        findings: [{ code: 'empty_occupancy', path: 'capacity_pools[0].node_types[0].in_use[0]' }],
      });
    });
  });

  it('what a newer agent sends in Protobuf is kept and served: unknown fields, unknown enum numbers', async () => {
    const snapshot = cluster('newer', 1n, { purchaseModel: 77 as PurchaseModel });
    const [type] = snapshot.capacityPools[0]?.nodeTypes ?? [];
    if (type === undefined) throw new Error('There is one.');
    type.$unknown = [{ no: 500, wireType: 2, data: Uint8Array.of(3, 0x61, 0x62, 0x63) }];
    const { warnings } = await service.client.push(snapshot);
    expect(warnings.map((w) => w.code)).toEqual(['unknown_enum_value']);
    const served = await service.client.snapshot('newer');
    expect(toBinary(ClusterResourceMapSchema, served)).toEqual(toBinary(ClusterResourceMapSchema, snapshot));
  });

  it('an unknown enum number in JSON is kept and served', async () => {
    const json = toJsonString(ClusterResourceMapSchema, cluster('newer json', 1n));
    const response = await fetch(`${service.url}/v1/clusters/newer%20json/snapshot`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: json.replace('"PURCHASE_MODEL_ON_DEMAND"', '77'),
    });
    expect(await response.json()).toMatchObject({ warnings: [{ code: 'unknown_enum_value' }] });
    const served = await service.client.snapshot('newer json');
    expect(served.capacityPools[0]?.nodeTypes[0]?.purchaseModel).toBe(77);
  });
});
