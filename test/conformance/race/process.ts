/**
 * One process of a race: the service's own routes on a store that it shares with the other
 * processes, without sockets between. Writes its history to standard output, line by line,
 * so that what was written is there when it is killed.
 */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../../functions/http/app.ts';
import { mapRoutes } from '../../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../../functions/lambdas/push/routes.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';
import { dynamoClient, storeOn } from '../../../functions/storage/client.ts';
import type { Line, PushResult } from './history.ts';
import { FIRST_COUNTER, type Group, millisAt, pushOfSnapshot, snapshotAt } from './plan.ts';

/** How a process is started: the only argument, as JSON. */
export interface Role {
  readonly role: 'writer' | 'reader' | 'hangs before the head';
  readonly group: Group;
  readonly endpoint: string;
  readonly tables: { readonly heads: string; readonly contents: string; readonly shards: number };
  /** How often a writer asks for something; a reader reads until its standard input ends. */
  readonly times: number;
  /** Of the one push of the process that hangs. */
  readonly counter?: string;
}

const {
  role,
  group,
  endpoint,
  tables,
  times,
  counter: onlyCounter,
} = JSON.parse(process.argv[2] ?? '') as Role;
const client = dynamoClient(endpoint);
const store = storeOn(client, tables);
const telemetry = jsonLinesTelemetry();
const app = createApp(telemetry, { kind: 'open' });
pushRoutes(app, { store, telemetry, now: Date.now });
mapRoutes(app, { store, telemetry, now: Date.now, cacheBytes: 10_000_000 });

const PROTOBUF = 'application/x-protobuf';
const CLUSTER = '/v1/clusters/c1';

function write(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

async function ask(path: string, init: RequestInit = {}) {
  const from = process.hrtime.bigint().toString();
  const response = await app.request(path, init);
  const body = new Uint8Array(await response.arrayBuffer());
  const span = { from, to: process.hrtime.bigint().toString() };
  const json = (): Record<string, string> => JSON.parse(Buffer.from(body).toString());
  return { status: response.status, body, json, span };
}

async function push(counter: bigint): Promise<bigint> {
  write({ kind: 'pushing', counter: String(counter), group });
  const { json, span } = await ask(`${CLUSTER}/snapshot?allow_jump=true`, {
    method: 'PUT',
    headers: { 'content-type': PROTOBUF },
    body: toBinary(ClusterResourceMapSchema, snapshotAt(counter, group)),
  });
  const { outcome, code, highWaterMark: mark } = json();
  const response = (outcome ?? code) as PushResult;
  write({
    kind: 'pushed',
    counter: String(counter),
    group,
    response,
    ...(mark === undefined ? {} : { mark }),
    ...span,
  });
  return BigInt(mark ?? 0);
}

/** Mostly goes on above the mark; now and then stale, far ahead, at the mark, the very same again, or out of the map. */
async function writeTimes(): Promise<void> {
  let mark = FIRST_COUNTER;
  let last = mark;
  for (let time = 0; time < times; time++) {
    const dice = Math.random();
    if (dice < 0.04) {
      const { status, json, span } = await ask(CLUSTER, { method: 'DELETE' });
      if (status === 200) write({ kind: 'omitted', mark: json().highWaterMark ?? '', ...span });
      continue;
    }
    const pick = (n: number) => BigInt(Math.floor(Math.random() * n));
    const counter =
      dice < 0.6
        ? mark + 1n + pick(2)
        : dice < 0.7
          ? mark + pick(20)
          : dice < 0.8
            ? mark
            : dice < 0.9
              ? last
              : mark - pick(5);
    last = counter < FIRST_COUNTER ? FIRST_COUNTER : counter;
    const reported = await push(last);
    if (reported > mark) mark = reported;
  }
}

async function readUntilTheEnd(): Promise<void> {
  const headers = { accept: PROTOBUF };
  let over = false;
  process.stdin.once('end', () => {
    over = true;
  });
  for (let turn = 0; !over; turn++) {
    try {
      if (turn % 4 === 0) {
        const { body, span } = await ask('/v1/map', { headers });
        const map = fromBinary(GlobalResourceMapSchema, body);
        const [snapshot] = map.clusterResourceMaps;
        if (snapshot === undefined) write({ kind: 'read', what: 'map', ...span });
        else {
          const { counter, group } = pushOfSnapshot(snapshot);
          if (map.vectorClock.c1 !== counter)
            throw new Error(`The clock says ${map.vectorClock.c1}, the snapshot ${counter}.`);
          write({ kind: 'read', what: 'map', counter: String(counter), group, ...span });
        }
      } else if (turn % 4 === 1) {
        const { json, span } = await ask('/v1/map/clock');
        const counter = (json().vectorClock as unknown as Record<string, string>).c1;
        write({ kind: 'read', what: 'clock', ...(counter === undefined ? {} : { counter }), ...span });
      } else if (turn % 4 === 2) {
        const { status, body, span } = await ask(`${CLUSTER}/snapshot`, { headers });
        if (status !== 200) continue;
        const { counter, group } = pushOfSnapshot(fromBinary(ClusterResourceMapSchema, body));
        write({ kind: 'read', what: 'snapshot', counter: String(counter), group, ...span });
      } else {
        const { status, json, span } = await ask(CLUSTER);
        if (status !== 200) continue;
        const { highWaterMark: mark = '', contentSinceCounter: since = '', collectedAt = '' } = json();
        const at = ([0, 1] as const).find((g) => Date.parse(collectedAt) === millisAt(BigInt(mark), g));
        if (at === undefined) throw new Error(`Counter ${mark} has the time ${collectedAt}.`);
        write({ kind: 'status', mark, since, group: at, ...span });
      }
    } catch (error) {
      write({ kind: 'fault', message: String(error) });
    }
  }
}

/** Says so on standard output where a commit has written its body and is about to write its head, and never goes on. */
function hangBeforeTheHead(): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const { TableName } = args.input as { TableName?: string };
      if (context.commandName !== 'PutItemCommand' || TableName !== tables.heads) return next(args);
      writeSync(1, 'body written\n');
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
    { step: 'initialize' },
  );
}

if (role === 'hangs before the head') {
  hangBeforeTheHead();
  await push(BigInt(onlyCounter ?? ''));
}
// What the first request costs alone would let the process that starts first race by itself.
await app.request(CLUSTER);
writeSync(1, 'ready\n');
await once(process.stdin.resume(), 'data');
await (role === 'writer' ? writeTimes() : readUntilTheEnd());
process.stdin.destroy();
client.destroy();
