import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Capacity, ClusterList } from '../../functions/page/api/types.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { pushAsAgents, samples } from '../page/services.ts';
import { scrape, seriesOf } from './scrape.ts';

let service: GuardedService;
let bearer: Record<string, string>;

const PROMETHEUS_ACCEPTS =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';

beforeAll(async () => {
  service = await startGuardedService();
  await pushAsAgents(service.url, (cluster) => service.issue('AGENT', cluster), samples());
  await service.call('DELETE /v1/clusters/kops-l4?reason=%22moved%22%20by%20hand', {
    token: service.adminToken,
  });
  bearer = { authorization: `Bearer ${await service.issue('MONITOR')}` };
});
afterAll(() => service.close());

async function api<T>(path: string): Promise<T> {
  const { status, body } = await service.call(`GET ${path}`, { token: service.adminToken });
  expect(status).toBe(200);
  return body as T;
}

describe('GET /metrics', () => {
  it('says of clusters what /v1/clusters says, and nothing of the accelerators of one that is out', async () => {
    const series = seriesOf((await scrape(service.url, '/metrics', bearer)).text);
    const { clusters } = await api<ClusterList>('/v1/clusters');

    expect(clusters.length).toBe(5);
    const accelerators = new Map<string, string>();
    for (const status of clusters) {
      const id = `cluster_id="${status.cluster.clusterId}"`;
      const out = status.state === 'CLUSTER_STATE_OMITTED';
      expect(series.get(`resource_map_cluster_included{${id}}`)).toBe(out ? '0' : '1');
      expect(series.get(`resource_map_cluster_warnings{${id}}`)).toBe(String(status.warningCount));
      const received = Number(series.get(`resource_map_cluster_received_timestamp_seconds{${id}}`));
      expect(Math.round(received * 1_000)).toBe(Date.parse(status.receivedAt ?? ''));
      const collected = Number(series.get(`resource_map_cluster_collected_timestamp_seconds{${id}}`));
      expect(Math.floor(collected * 1_000)).toBe(Date.parse(status.collectedAt ?? ''));
      const { displayName, provider, region, site } = status.cluster;
      const labels = `display_name="${displayName}",provider="${provider}",region="${region}",site="${site}"`;
      expect(series.get(`resource_map_cluster_info{${id},${labels}}`)).toBe('1');
      if (out) continue;
      for (const { model, total, free, unavailable } of status.accelerators) {
        accelerators.set(`resource_map_accelerators{${id},model="${model}"}`, total);
        accelerators.set(`resource_map_accelerators_free{${id},model="${model}"}`, free);
        accelerators.set(`resource_map_accelerators_unavailable{${id},model="${model}"}`, unavailable);
      }
    }
    const told = [...series].filter(([name]) => name.startsWith('resource_map_accelerators'));
    expect(new Map(told)).toEqual(accelerators);
    expect(series.get('resource_map_cluster_omitted_info{cluster_id="kops-l4",reason="other"}')).toBe('1');
  });

  it('says of capacity what /v1/capacity says', async () => {
    const series = seriesOf((await scrape(service.url, '/metrics/capacity', bearer)).text);
    const { groups } = await api<Capacity>('/v1/capacity?group_by=cluster,accelerator_model');

    const expected = new Map<string, string>();
    for (const group of groups.filter(({ values }) => values[1]?.value !== '')) {
      const labels = `{cluster_id="${group.values[0]?.value}",model="${group.values[1]?.value}"}`;
      const largest = Math.max(0, ...Object.keys(group.freeHistogramAfterDemand).map(Number));
      expected.set(`resource_map_largest_free_block${labels}`, String(largest));
      expected.set(`resource_map_nodes_idle${labels}`, group.idleNodes);
      expected.set(`resource_map_accelerators_pending${labels}`, group.pendingDemand);
      expected.set(`resource_map_accelerators_reserved${labels}`, group.reservedDemand);
      expected.set(`resource_map_accelerators_deficit${labels}`, group.deficit);
    }
    expect(expected.size).toBeGreaterThan(30);
    expect(series).toEqual(expected);
  });

  it('is in the format that the scraper prefers', async () => {
    const open = await scrape(service.url, '/metrics', { ...bearer, accept: PROMETHEUS_ACCEPTS });
    expect(open.contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(open.text).toMatch(/\n# EOF\n$/);
    for (const accept of [
      '*/*',
      'text/plain',
      'text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.1',
    ]) {
      const plain = await scrape(service.url, '/metrics', { ...bearer, accept });
      expect(plain.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(seriesOf(plain.text)).toEqual(seriesOf(open.text));
    }
  });

  it('takes the filters of the map, and no other parameter', async () => {
    const { text } = await scrape(service.url, '/metrics?cluster=upcloud-l40s', bearer);
    expect([...seriesOf(text).keys()].filter((name) => name.includes('cluster_id')).length).toBe(11);
    expect((await scrape(service.url, '/metrics?name=x', bearer)).status).toBe(400);
    expect((await scrape(service.url, '/metrics/capacity?name=x', bearer)).status).toBe(400);
  });

  it('is all that a monitor may read', async () => {
    for (const path of ['/v1/clusters', '/v1/capacity', '/v1/map', '/v1/tokens']) {
      expect((await scrape(service.url, path, bearer)).status).toBe(403);
    }
    expect((await scrape(service.url, '/metrics')).status).toBe(401);
  });
});

describe('GET /v1/clusters', () => {
  const ids = async (query: string): Promise<readonly string[]> =>
    (await api<ClusterList>(`/v1/clusters${query}`)).clusters.map(({ cluster }) => cluster.clusterId);

  it('takes filters', async () => {
    expect(await ids('?state=omitted')).toEqual(['kops-l4']);
    expect((await ids('?state=included')).length).toBe(4);
    expect((await ids('?state=included&state=omitted')).length).toBe(5);
    expect(await ids('?region=us-east-1')).toEqual(['aicr-eks-h100']);
    expect(await ids('?accelerator_model=G2')).toEqual(['openb-instant']);
    expect(await ids('?cluster=kops-l4&state=included')).toEqual([]);
  });

  it('refuses a state that there is not', async () => {
    const { status, body } = await service.call('GET /v1/clusters?state=out', { token: service.adminToken });
    expect([status, body.detail]).toEqual([
      400,
      'The query parameter state is "out"; it can be "included" or "omitted".',
    ]);
  });
});
