/** Each alarm, on what the code itself reports when that goes wrong of which the alarm is to tell. */
import { DeleteItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { DEFAULT_MEMBERSHIP } from '../../functions/core/membership.ts';
import { createApp } from '../../functions/http/app.ts';
import type { App } from '../../functions/http/app-env.ts';
import { sweep } from '../../functions/lambdas/expire/sweep.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { capacityRoutes } from '../../functions/lambdas/plan/routes-capacity.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { emfTelemetry } from '../../functions/runtime/telemetry-emf.ts';
import type { Head } from '../../functions/storage/head.ts';
import { HeadStore } from '../../functions/storage/heads.ts';
import { CONTENTS_KEY, HEADS_KEY, headPartition } from '../../functions/storage/tables.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { push } from '../lambdas/expire/pushing.ts';
import { evaluate } from './metric-math.ts';
import { openWorkshop } from './synth.ts';

const [engine] = engines;
if (engine === undefined) throw new Error('No DynamoDB engine runs.');
const { omitAfterMs } = DEFAULT_MEMBERSHIP;
const MINUTE_MS = 60_000;

interface MetricOf {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
}
interface AlarmProperties extends MetricOf {
  readonly AlarmName: string;
  readonly Threshold: number;
  readonly TreatMissingData: string;
  readonly Statistic?: string;
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly ReturnData?: boolean;
    readonly MetricStat?: { readonly Metric: MetricOf; readonly Stat: string };
  }[];
}

const workshop = openWorkshop();
let alarms: ReadonlyMap<string, AlarmProperties>;
/** What of a period is known: of ours the name and service, of AWS's the name and the function, if it is one's. */
let seen: Map<string, number[]>;
let store: TestStore;

beforeAll(() => {
  const found = workshop.synthesise().template.findResources('AWS::CloudWatch::Alarm');
  alarms = new Map(
    Object.values(found).map(({ Properties }) => [
      String(Properties.AlarmName).replace('resource-map-dev-', ''),
      Properties as AlarmProperties,
    ]),
  );
});
afterAll(() => workshop.remove());
beforeEach(async () => {
  seen = new Map();
  vi.stubEnv('METRICS_NAMESPACE', 'ResourceMap/dev');
  store = await freshStore(engine);
});

/** A metric under one name for what the template says and what a line says. */
function keyOf({ Namespace, MetricName, Dimensions = [] }: MetricOf): string {
  if (Namespace.startsWith('AWS/')) return `${MetricName} ${JSON.stringify(Dimensions)}`;
  return `${Namespace} ${MetricName} ${Dimensions.map(({ Name, Value }) => `${Name}=${Value}`).sort()}`;
}

/** Runs the code, and takes the metrics out of what it writes, as CloudWatch does. */
async function reported(run: () => Promise<unknown>): Promise<void> {
  const chunks: string[] = [];
  const take = (chunk: unknown): boolean => chunks.push(String(chunk)) > 0;
  const spies = [process.stdout, process.stderr].map((out) =>
    vi.spyOn(out, 'write').mockImplementation(take),
  );
  try {
    await run();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  for (const line of chunks.join('').split('\n')) {
    if (!line.includes('"_aws"')) continue;
    const entry = JSON.parse(line);
    for (const { Namespace, Dimensions, Metrics } of entry._aws.CloudWatchMetrics) {
      for (const { Name } of Metrics) {
        const dimensions = Dimensions[0].map((name: string) => ({ Name: name, Value: entry[name] }));
        add(keyOf({ Namespace, MetricName: Name, Dimensions: dimensions }), entry[Name]);
      }
    }
  }
}

function add(key: string, value: number): void {
  seen.set(key, [...(seen.get(key) ?? []), value]);
}

/** A value of one of AWS's metrics, which no code of ours writes, for the metrics that the alarm has of that name. */
function aws(id: string, metricName: string, value: number, ofFunction = ''): void {
  const alarm = alarmOf(id);
  const metrics = alarm.Metrics?.flatMap(({ MetricStat }) => MetricStat?.Metric ?? []) ?? [alarm];
  const [metric] = metrics.filter(
    (each) => each.MetricName === metricName && JSON.stringify(each.Dimensions).includes(ofFunction),
  );
  if (metric === undefined) throw new Error(`${id} has no metric ${metricName}`);
  add(keyOf(metric), value);
}

function alarmOf(id: string): AlarmProperties {
  const alarm = alarms.get(id);
  if (alarm === undefined) throw new Error(`There is no alarm ${id}.`);
  return alarm;
}

function statistic(stat: string | undefined, values: readonly number[] | undefined): number | undefined {
  if (values === undefined) return undefined;
  if (stat === 'Sum') return values.reduce((a, b) => a + b, 0);
  return Math.max(...values);
}

/** Whether the period is one for the alarm. */
function breaches(id: string): boolean {
  const alarm = alarmOf(id);
  const { Metrics, Statistic, Threshold, TreatMissingData } = alarm;
  let value: number | undefined;
  if (Metrics === undefined) value = statistic(Statistic, seen.get(keyOf(alarm)));
  else {
    const values = new Map<string, number>();
    for (const { Id, MetricStat } of Metrics) {
      const found = MetricStat && statistic(MetricStat.Stat, seen.get(keyOf(MetricStat.Metric)));
      if (found !== undefined) values.set(Id, found);
    }
    const returned = Metrics.filter(({ ReturnData }) => ReturnData !== false);
    expect(returned).toHaveLength(1);
    value = evaluate(returned[0]?.Expression ?? '', values);
  }
  return value === undefined ? TreatMissingData === 'breaching' : value >= Threshold;
}

class FailingHeads extends HeadStore {
  override async omit(): Promise<Head> {
    throw new Error('throttled');
  }
}

function sweepAt(nowMs: number, heads = store.heads): Promise<void> {
  const deps = { heads, shards: store.tables.shards, telemetry: emfTelemetry('expire') };
  return reported(() => sweep(deps, DEFAULT_MEMBERSHIP, nowMs));
}

async function pushAll(count: number, nowMs: number): Promise<void> {
  for (let n = 0; n < count; n++) await push(store, `c${n}`, { counter: 1n, nowMs });
}

/** Asks an app so many times, counts as API Gateway does, and says how many it failed. */
async function ask(app: App, id: string, request: () => Request, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const { status } = await app.fetch(request());
    aws(id, 'Count', 1);
    const part = id === 'ServerErrors' ? '5xx' : '4xx';
    aws(id, part, Number(String(status).startsWith(part[0] ?? '')));
  }
}

describe('the sweep', () => {
  test('has OldestSnapshot go off for a silent cluster that cannot be omitted, at any age', async () => {
    const nowMs = Date.now();
    await pushAll(1, nowMs);
    await sweepAt(nowMs + MINUTE_MS);
    expect(breaches('OldestSnapshot')).toBe(false);
    await sweepAt(nowMs + omitAfterMs + 5 * MINUTE_MS, new FailingHeads(store.client, store.tables));
    expect(breaches('OldestSnapshot')).toBe(true);
  });

  test('has OldestSnapshot go off where nothing is reported at all', () => {
    expect(breaches('OldestSnapshot')).toBe(true);
  });

  test('has SweepFailures go off where it fails each time, and where the function itself does', async () => {
    const nowMs = Date.now();
    await pushAll(3, nowMs);
    await sweepAt(nowMs);
    expect(breaches('SweepFailures')).toBe(false);
    await sweepAt(nowMs + omitAfterMs + 1, new FailingHeads(store.client, store.tables));
    expect(breaches('SweepFailures')).toBe(true);
    seen.clear();
    for (let n = 0; n < 3; n++) aws('SweepFailures', 'Errors', 1);
    expect(breaches('SweepFailures')).toBe(true);
  });

  test('has ClustersSilent go off for a fleet that falls silent at once, and not for one cluster', async () => {
    const nowMs = Date.now();
    await pushAll(8, nowMs);
    await sweepAt(nowMs + MINUTE_MS);
    expect(breaches('ClustersSilent')).toBe(false);
    for (let n = 1; n < 8; n++) await push(store, `c${n}`, { counter: 2n, nowMs: nowMs + 2 * MINUTE_MS });
    await sweepAt(nowMs + omitAfterMs + MINUTE_MS);
    expect(breaches('ClustersSilent')).toBe(false);
    seen.clear();
    await sweepAt(nowMs + omitAfterMs + 3 * MINUTE_MS);
    expect(breaches('ClustersSilent')).toBe(true);
    // It does not end by itself: the next sweep omits nothing, and sees what is out.
    seen.clear();
    await sweepAt(nowMs + omitAfterMs + 60 * MINUTE_MS);
    expect(breaches('ClustersSilent')).toBe(true);
  });

  test('has HeadsUnreadable go off for an item that is no head', async () => {
    await store.client.send(
      new PutItemCommand({
        TableName: store.tables.heads,
        Item: { [HEADS_KEY.partition]: { S: headPartition(0) }, [HEADS_KEY.sort]: { S: 'stray' } },
      }),
    );
    await sweepAt(Date.now());
    expect(breaches('HeadsUnreadable')).toBe(true);
  });
});

describe('a content that is gone', () => {
  test.each([
    ['map', '/v1/map'],
    ['wait', '/v1/wait/map'],
    ['plan', '/v1/capacity'],
  ] as const)('has BodiesMissing go off by what the function %s reports', async (name, path) => {
    const telemetry = emfTelemetry(name);
    const deps = { store, telemetry, now: Date.now };
    const app = createApp(telemetry, { kind: 'open' });
    if (name === 'plan') capacityRoutes(app, deps);
    else mapRoutes(app, { ...deps, cacheBytes: 0, serves: name === 'wait' ? 'waits' : 'plain' });
    const read = () => reported(async () => app.fetch(new Request(`http://map.test${path}`)));
    await pushAll(1, Date.now());
    await read();
    expect(breaches('BodiesMissing')).toBe(false);

    await push(store, 'c0', { counter: 2n, content: 'other', nowMs: Date.now() });
    const { Items = [] } = await store.client.send(new ScanCommand({ TableName: store.tables.contents }));
    const names = Object.values(CONTENTS_KEY);
    for (const item of Items) {
      const Key = Object.fromEntries(
        Object.entries(item).filter(([attribute]) => names.some((n) => n === attribute)),
      );
      await store.client.send(new DeleteItemCommand({ TableName: store.tables.contents, Key }));
    }
    await read();
    expect(breaches('BodiesMissing')).toBe(true);
  });
});

describe('requests', () => {
  const malformed = () =>
    new Request('http://map.test/v1/clusters/c0/snapshot', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });

  test('have PushesRefused go off where one push in ten is refused', async () => {
    const telemetry = emfTelemetry('push');
    const app = createApp(telemetry, { kind: 'open' });
    pushRoutes(app, { store, telemetry, now: Date.now });
    await reported(async () => {
      for (let n = 0; n < 5; n++) await app.fetch(malformed());
    });
    aws('PushesRefused', 'Invocations', 51);
    expect(breaches('PushesRefused')).toBe(false);
    seen.delete([...seen.keys()].find((key) => key.startsWith('Invocations')) ?? '');
    aws('PushesRefused', 'Invocations', 50);
    expect(breaches('PushesRefused')).toBe(true);
  });

  test('have ClientErrors go off by their share, and not by a few', async () => {
    const telemetry = emfTelemetry('push');
    const app = createApp(telemetry, { kind: 'open' });
    pushRoutes(app, { store, telemetry, now: Date.now });
    await reported(() => ask(app, 'ClientErrors', malformed, 19));
    expect(breaches('ClientErrors')).toBe(false);
    await reported(() => ask(app, 'ClientErrors', malformed, 1));
    expect(breaches('ClientErrors')).toBe(true);
    for (let n = 0; n < 61; n++) aws('ClientErrors', 'Count', 1);
    expect(breaches('ClientErrors')).toBe(false);
  });

  test('have ServerErrors go off by their share, where the store is away', async () => {
    const telemetry = emfTelemetry('map');
    const app = createApp(telemetry, { kind: 'open' });
    app.get('/v1/map', () => {
      throw new Error('the store is away');
    });
    await reported(() => ask(app, 'ServerErrors', () => new Request('http://map.test/v1/map'), 5));
    expect(breaches('ServerErrors')).toBe(true);
    for (let n = 0; n < 496; n++) aws('ServerErrors', 'Count', 1);
    expect(breaches('ServerErrors')).toBe(false);
  });

  test('have SlowRequests go off for the slowest function, whichever it is', () => {
    aws('SlowRequests', 'Duration', 4_999, 'Push');
    expect(breaches('SlowRequests')).toBe(false);
    aws('SlowRequests', 'Duration', 5_000, 'Plan');
    expect(breaches('SlowRequests')).toBe(true);
  });
});

describe('what AWS alone reports', () => {
  // A table reports a throttle only when there is one: a sum without FILL would have no value.
  test.each([
    ['TableThrottles', 'WriteThrottleEvents', 10],
    ['FunctionThrottles', 'Throttles', 1],
    ['NotifyLag', 'IteratorAge', 120_000],
    ['DeadLetters', 'ApproximateNumberOfMessagesVisible', 1],
  ])('%s goes off by one of its metrics alone', (id, metric, value) => {
    expect(breaches(id)).toBe(false);
    aws(id, metric, value);
    expect(breaches(id)).toBe(true);
  });
});

test('no alarm has more metrics than CloudWatch takes', () => {
  for (const { Metrics = [] } of alarms.values()) {
    expect(Metrics.filter(({ MetricStat }) => MetricStat !== undefined).length).toBeLessThanOrEqual(10);
  }
});
