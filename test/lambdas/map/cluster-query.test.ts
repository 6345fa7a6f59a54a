/** Parts of the list of clusters, and the counts beside them. */
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONDITIONS } from '../../../functions/core/map/condition.ts';
import { timestampOf } from '../../../functions/core/timestamp.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { engines, freshStore } from '../../engines/store.ts';
import { serveStore, type TestService } from './service.ts';
import { type ClusterFacts, clusterSnapshot } from './snapshots.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;

interface List {
  readonly clusters: readonly { readonly cluster: { readonly clusterId: string } }[];
  readonly counts: Readonly<Record<string, number>>;
  readonly matching: number;
  readonly asOf: string;
}

describe.each(engines)('GET /v1/clusters on $name', (engine) => {
  let service: TestService;
  let nowMs = NOON;

  /** Pushed now, and collected some minutes before. */
  const push = async (id: string, facts: ClusterFacts = {}, minutesAgo = 0) =>
    service.client.push(collected(clusterSnapshot(id, facts), nowMs - minutesAgo * MINUTE));

  beforeAll(async () => {
    service = await serveStore(await freshStore(engine), { now: () => nowMs });
    await push('old', { region: 'eu-west-1' });
    nowMs += 4 * MINUTE;
    await push('late', {}, 11);
    await push('gone');
    const warned = clusterSnapshot('warned');
    for (const type of warned.capacityPools[0]?.nodeTypes ?? []) type.purchaseModel = 0;
    await service.client.push(collected(warned, nowMs));
    await push('here', { region: 'us-east-1', counter: 4n });
    await push('refused');
    await service.client.omit('gone', { reason: 'maintenance' });
    nowMs += 1_000;
    for (const id of ['refused', 'never']) {
      const spoilt = collected(clusterSnapshot(id, { counter: 9n }), nowMs);
      spoilt.capacityPools.push(...spoilt.capacityPools);
      await expect(service.client.push(spoilt)).rejects.toThrow('invalid_snapshot');
    }
  });
  afterAll(() => service.close());

  const list = async (query: string): Promise<List> => {
    const response = await fetch(`${service.url}/v1/clusters?${query}`);
    expect(response.status).toBe(200);
    return (await response.json()) as List;
  };
  const ids = async (query: string) => (await list(query)).clusters.map(({ cluster }) => cluster.clusterId);
  const COUNTS = { all: 7, included: 5, stale: 2, warned: 1, refused: 2, out: 2 };

  it('counts all clusters under each condition, whatever it lists', async () => {
    for (const query of ['', 'limit=1', 'search=no-such-cluster', 'state=omitted']) {
      expect((await list(query)).counts).toEqual(COUNTS);
    }
    expect((await list('')).asOf).toBe('2026-01-01T12:04:01Z');
  });

  it('lists the clusters of a condition, or of any of several', async () => {
    const found = Object.fromEntries(
      await Promise.all(CONDITIONS.map(async (each) => [each, await ids(`condition=${each}`)])),
    );
    expect(found).toEqual({
      included: ['here', 'late', 'old', 'refused', 'warned'],
      stale: ['late', 'old'],
      warned: ['warned'],
      refused: ['never', 'refused'],
      out: ['gone', 'never'],
    });
    expect(await ids('condition=warned&condition=out')).toEqual(['gone', 'never', 'warned']);
  });

  it('lists the first, and says how many match', async () => {
    expect(await list('limit=2')).toMatchObject({
      clusters: [{ cluster: { clusterId: 'gone' } }, { cluster: { clusterId: 'here' } }],
      matching: 7,
    });
    expect((await list('limit=1&condition=stale')).matching).toBe(2);
  });

  it('searches id, provider and region in any case, of a cluster that was never accepted its id', async () => {
    expect(await ids('search=US-EAST')).toEqual(['here']);
    expect(await ids('search=AWS&state=included')).toHaveLength(5);
    expect(await ids('search=nev')).toEqual(['never']);
    expect(await ids('search=e&region=us-east-1')).toEqual(['here']);
  });

  it('lists what changed since a time: content, state and refusals', async () => {
    expect(await ids('changed_since=2026-01-01T12:04:00Z')).toEqual([
      'gone',
      'here',
      'late',
      'never',
      'refused',
      'warned',
    ]);
    expect(await ids('changed_since=2026-01-01T12:04:01Z')).toEqual(['never', 'refused']);
    expect(await ids('changed_since=2026-01-01T12:04:02Z')).toEqual([]);
    // A push of the same content is no change.
    nowMs += 10_000;
    await push('here', { region: 'us-east-1', counter: 5n });
    expect(await ids('changed_since=2026-01-01T12:04:02Z')).toEqual([]);
  });

  it.each([
    [
      'condition=broken',
      'The query parameter condition is "broken"; it can be "included", "stale", "warned", "refused", "out".',
    ],
    ['limit=0', 'The query parameter limit is "0"; it can be an integer from 1 to 1000.'],
    ['limit=1001', 'The query parameter limit is "1001"; it can be an integer from 1 to 1000.'],
    [
      'changed_since=noon',
      'The query parameter changed_since is "noon"; it can be a time such as "2026-01-31T12:00:00Z".',
    ],
  ])('refuses %s', async (query, detail) => {
    const response = await fetch(`${service.url}/v1/clusters?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid_query', detail });
  });

  it('refuses a search of more than 253 characters', async () => {
    const response = await fetch(`${service.url}/v1/clusters?search=${'x'.repeat(254)}`);
    expect(await response.json()).toMatchObject({ status: 400, code: 'invalid_query', field: 'search' });
  });
});

function collected(snapshot: ClusterResourceMap, ms: number): ClusterResourceMap {
  return create(ClusterResourceMapSchema, { ...snapshot, collectedAt: timestampOf(BigInt(ms) * 1_000_000n) });
}
