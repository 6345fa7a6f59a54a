import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StreamHandler } from '../../../functions/lambdas/notify/announce.ts';
import { headOf, pushed, recordOf } from './builders.ts';
import { type FaultyBus, startFaultyBus } from './faulty-bus.ts';

describe('The notify function', () => {
  let bus: FaultyBus;
  const written: string[] = [];

  beforeEach(async () => {
    bus = await startFaultyBus();
    written.length = 0;
    vi.spyOn(process.stdout, 'write').mockImplementation((line) => written.push(String(line)) > 0);
    vi.resetModules();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    await bus.close();
  });

  const load = async (environment: Record<string, string>): Promise<StreamHandler> => {
    for (const [name, value] of Object.entries({
      EVENTBRIDGE_ENDPOINT: bus.endpoint,
      CLAIMS_TABLE: 'Claims',
      HEADS_TABLE: 'Heads',
      BODIES_TABLE: 'Bodies',
      HEAD_SHARDS: '4',
      ...environment,
    })) {
      vi.stubEnv(name, value);
    }
    return (await import('../../../functions/lambdas/notify/handler.ts')).handler;
  };

  it('is set up from its environment alone, and writes its metrics for CloudWatch', async () => {
    const handler = await load({ EVENT_BUS_NAME: 'resource-map', ANNOUNCE_REFRESHES: 'true' });
    const head = headOf();
    const Records = [recordOf({ before: head, after: pushed(head, 2n) })];
    expect(await handler({ Records })).toEqual({ batchItemFailures: [] });
    expect(bus.events.map((event) => event['detail-type'])).toEqual(['Cluster Refreshed']);
    const metrics = written.filter((line) => line.startsWith('{"_aws"')).map((line) => JSON.parse(line));
    expect(metrics.find((metric) => 'EventsSent' in metric)).toMatchObject({
      _aws: {
        CloudWatchMetrics: [
          {
            Namespace: 'ResourceMap',
            Dimensions: [['service']],
            Metrics: [{ Name: 'EventsSent', Unit: 'Count' }],
          },
        ],
      },
      service: 'notify',
      EventsSent: 1,
    });
    expect(metrics.find((metric) => 'NotifyLag' in metric)?.NotifyLag).toBeGreaterThan(0);
  });

  it.each([
    [
      { ANNOUNCE_REFRESHES: 'true' },
      'The environment variable EVENT_BUS_NAME is not set; the deployed stack sets it.',
    ],
    [
      { EVENT_BUS_NAME: 'x', ANNOUNCE_REFRESHES: 'yes' },
      'The environment variable ANNOUNCE_REFRESHES is "yes"; it must be true or false.',
    ],
  ])('does not start with %j', async (environment, message) => {
    await expect(load(environment)).rejects.toThrow(message);
  });
});
