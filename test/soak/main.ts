/** `npm run soak`: real processes over DynamoDB Local for an hour, and whether anything grows, leaks or lies. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createClient } from '../../functions/client/client.ts';
import { createTables } from '../../functions/storage/create-tables.ts';
import { freePort, localClient, startDynamoDbLocal } from '../engines/dynamodb-local.ts';
import { javaIsMissing } from '../engines/java.ts';
import { Fleet } from './fleet.ts';
import { Readers } from './readers.ts';
import { resourcesOf } from './resources.ts';
import type { ServiceArgument } from './service.ts';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const HELP = `Usage: npm run soak -- [options]

Runs three processes of the service over DynamoDB Local, with agents that push, readers and
replicas, and kills two of the three again and again. Prints a line a minute.

  --minutes N     how long (60)
  --clusters N    clusters, each with an agent (1000)
  --cadence MS    milliseconds between two pushes of an agent, on average (10000)
  --help          shows this help

It fails if a counter goes back, an acknowledged push is not read, a replica differs from the
map, an error comes that no client may see, or the process that lives throughout holds ever more
memory or descriptors.
Exit codes: 0 all held, 1 something did not, 2 the options are wrong or there is no Java.`;

/** A process is killed after up to this time, and started again. */
const LIFE_MS = 40_000;
/** Memory may move by this factor between the second and the last quarter, since garbage is collected when it pleases. */
const MEMORY_FACTOR = 1.25;
const MEMORY_SLACK_MB = 30;
const DESCRIPTOR_SLACK = 30;

const { minutes, clusters, cadenceMs } = options();
const missing = javaIsMissing();
if (missing !== undefined) {
  console.error(`The soak needs DynamoDB Local, and ${missing}. Install Java 17 or newer.`);
  process.exit(2);
}
const dynamo = await startDynamoDbLocal();
const tables = { heads: 'heads', contents: 'contents', shards: 8 };
await createTables(localClient(dynamo.endpoint), tables);

interface Service {
  readonly port: number;
  process: ChildProcess;
  deaths: number;
}

async function start(port: number): Promise<ChildProcess> {
  const argument: ServiceArgument = { endpoint: dynamo.endpoint, tables, port };
  const script = new URL('service.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) if (line === 'ready') return child;
  throw new Error('A process of the service ended before it listened.');
}

const services: Service[] = [];
for (let i = 0; i < 3; i++) {
  const port = await freePort();
  services.push({ port, process: await start(port), deaths: 0 });
}
const [survivor, ...mortals] = services;
if (survivor === undefined) throw new Error('No process of the service was started.');

let ending = false;
const killing = mortals.map(async (service) => {
  while (!ending) {
    await sleep(Math.random() * LIFE_MS);
    if (ending) return;
    const exited = once(service.process, 'exit');
    service.process.kill('SIGKILL');
    await exited;
    service.deaths++;
    service.process = await start(service.port);
  }
});

/** Each request goes to one of the processes, dead or alive, as behind a load balancer that has not noticed. */
const balanced: typeof fetch = (url, init) => {
  const { port } = services[Math.floor(Math.random() * services.length)] ?? survivor;
  return fetch(String(url).replace('http://service', `http://127.0.0.1:${port}`), init);
};
const client = createClient({
  baseUrl: 'http://service',
  fetch: balanced,
  retry: { attempts: 12, baseMs: 50, capMs: 1_000 },
});
const wrongs: string[] = [];
const fleet = new Fleet(client, clusters, cadenceMs, wrongs);
const readers = new Readers(client, fleet, wrongs);
fleet.start();
readers.start();

interface Sample {
  readonly memoryMb: number;
  readonly descriptors: number;
}
const samples: Sample[] = [];
console.log(
  'minute  pushes  push p50/p99 ms  map p50/p99 ms  killed  service MB  descriptors  clients MB  wrong',
);
for (let minute = 1; minute <= minutes; minute++) {
  await sleep(60_000);
  const { memoryMb, descriptors } = resourcesOf(survivor.process.pid ?? 0);
  samples.push({ memoryMb, descriptors });
  const push = fleet.latencies.take();
  const map = readers.latencies.take();
  const killed = services.reduce((sum, { deaths }) => sum + deaths, 0);
  console.log(
    `${minute}`.padStart(6) +
      `${push.count}`.padStart(8) +
      `${push.p50} / ${push.p99}`.padStart(17) +
      `${map.p50} / ${map.p99}`.padStart(16) +
      `${killed}`.padStart(8) +
      `${memoryMb}`.padStart(12) +
      `${descriptors}`.padStart(13) +
      `${resourcesOf(process.pid).memoryMb}`.padStart(12) +
      `${wrongs.length}`.padStart(7),
  );
}

ending = true;
await fleet.end();
await Promise.all(killing);
await readers.end();
wrongs.push(...growthOf(samples));
for (const service of services) service.process.kill('SIGKILL');
await dynamo.close();

for (const wrong of wrongs.slice(0, 20)) console.log(`WRONG: ${wrong}`);
console.log(
  `${fleet.pushes} pushes acknowledged of ${clusters} clusters, ${readers.reads} maps read, ${readers.changes} changes in replicas, ` +
    `${services.reduce((sum, { deaths }) => sum + deaths, 0)} processes killed, ${minutes} minutes`,
);
console.log(`${wrongs.length === 0 ? 1 : 0} passed, ${wrongs.length} failed`);
process.exit(wrongs.length === 0 ? 0 : 1);

/** What the process that lives throughout holds in the last quarter, against the second: the first warms up. */
function growthOf(samples: readonly Sample[]): string[] {
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) return [];
  const median = (values: readonly number[]): number =>
    [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const of = (part: readonly Sample[], key: keyof Sample): number =>
    median(part.map((sample) => sample[key]));
  const grown: string[] = [];
  if (of(late, 'memoryMb') > of(early, 'memoryMb') * MEMORY_FACTOR + MEMORY_SLACK_MB)
    grown.push(`The service grew from ${of(early, 'memoryMb')} to ${of(late, 'memoryMb')} MB.`);
  if (of(late, 'descriptors') > of(early, 'descriptors') + DESCRIPTOR_SLACK)
    grown.push(
      `The service's descriptors grew from ${of(early, 'descriptors')} to ${of(late, 'descriptors')}.`,
    );
  return grown;
}

function options(): { readonly minutes: number; readonly clusters: number; readonly cadenceMs: number } {
  const fail = (message: string): never => {
    console.error(`${message}\n\n${HELP}`);
    process.exit(2);
  };
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '60' },
        clusters: { type: 'string', default: '1000' },
        cadence: { type: 'string', default: '10000' },
        help: { type: 'boolean' },
      },
    });
    if (values.help === true) {
      console.log(HELP);
      process.exit(0);
    }
    const integer = (name: 'minutes' | 'clusters' | 'cadence'): number =>
      /^[1-9]\d{0,5}$/.test(values[name])
        ? Number(values[name])
        : fail(`--${name} is ${JSON.stringify(values[name])}; it must be an integer from 1 to 999999.`);
    return { minutes: integer('minutes'), clusters: integer('clusters'), cadenceMs: integer('cadence') };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}
