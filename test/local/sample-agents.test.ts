import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../functions/client/client.ts';
import { ClusterState, PushOutcome } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { positionAfter, startSampleAgents } from '../../functions/local/sample-agents.ts';
import { sampleSeries } from '../../functions/local/sample-series.ts';
import { pushSamples } from '../../functions/local/samples.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';

describe('The samples that live', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
    await pushSamples(service.url, () => undefined);
  });
  afterAll(() => service.close());

  it('are the recorded series of five clusters, none of which stands still', async () => {
    const series = await sampleSeries();
    expect(series.map((each) => [each[0]?.cluster?.clusterId, each.length])).toEqual([
      ['aicr-eks-h100', 4],
      ['kops-l4', 5],
      ['openb-instant', 3],
      ['upcloud-l40s', 2],
      ['viettel-l40s', 2],
    ]);
    for (const snapshots of series) {
      for (const [i, snapshot] of snapshots.slice(1).entries()) {
        expect({ ...snapshot, logicalCounter: 0n, collectedAt: undefined }).not.toEqual({
          ...snapshots[i],
          logicalCounter: 0n,
          collectedAt: undefined,
        });
      }
    }
  });

  it('go to and fro', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((changes) => positionAfter(changes, 4))).toEqual([
      3, 2, 1, 0, 1, 2, 3, 2,
    ]);
    expect([0, 1, 2].map((changes) => positionAfter(changes, 2))).toEqual([1, 0, 1]);
    expect(positionAfter(5, 1)).toBe(0);
  });

  it('push above what is there, stay in the map, and change; each change is one that the rules take', async () => {
    const client = createClient({ baseUrl: service.url });
    const before = await client.clusters();
    const agents = startSampleAgents(service.url, await sampleSeries(), { pushMs: 20, pushesPerChange: [1] });
    try {
      const contents = new Map<string, Set<bigint>>();
      await expect
        .poll(
          async () => {
            for (const { cluster, contentSinceCounter } of await client.clusters()) {
              const id = cluster?.clusterId ?? '';
              contents.set(id, (contents.get(id) ?? new Set()).add(contentSinceCounter));
            }
            return Math.min(...[...contents.values()].map(({ size }) => size));
          },
          { timeout: 50_000, interval: 20 },
        )
        .toBeGreaterThanOrEqual(3);
    } finally {
      await agents.stop();
    }
    const after = await client.clusters();
    expect(after.length).toBe(5);
    for (const [i, status] of after.entries()) {
      expect(status.state).toBe(ClusterState.INCLUDED);
      expect(status.highWaterMark).toBeGreaterThan(before[i]?.highWaterMark ?? 0n);
    }
  }, 60_000);

  it('hold nothing that a push would be refused for, in either direction', async () => {
    const client = createClient({ baseUrl: service.url });
    for (const series of await sampleSeries()) {
      const clusterId = series[0]?.cluster?.clusterId ?? '';
      let { highWaterMark } = await client.cluster(clusterId);
      for (const snapshot of [...series, ...[...series].reverse()]) {
        highWaterMark++;
        const { outcome } = await client.push({ ...snapshot, logicalCounter: highWaterMark });
        expect([PushOutcome.PUBLISHED, PushOutcome.REFRESHED]).toContain(outcome);
      }
    }
  });
});
