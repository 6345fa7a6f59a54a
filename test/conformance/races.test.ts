/** Races of real processes, on every engine. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fromBinary } from '@bufbuild/protobuf';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { publishSnapshot } from '../../functions/lambdas/push/publish.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { headOf } from './pushes.ts';
import { faultsOf, highestAcknowledged, isAcknowledged, type Line } from './race/history.ts';
import { contentAt, FIRST_COUNTER, type Group, pushOfSnapshot, snapshotAt } from './race/plan.ts';
import type { Role } from './race/process.ts';

const WRITERS = 8;
const READERS = 2;
const TIMES = 25;
/** Writers that are killed at some moment of the race. */
const KILLED = 2;
/** For a machine that does much else at the same time; alone each takes some seconds. */
const TIMEOUT_MS = 120_000;

let folder: string;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'race-'));
  program = join(folder, 'process.mjs');
  // Ten processes start in a tenth of the time that it takes them to translate the sources.
  await build({
    entryPoints: [new URL('race/process.ts', import.meta.url).pathname],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function start({ tables, endpoint }: TestStore, role: Pick<Role, 'role' | 'group' | 'counter'>): Child {
  const argument: Role = { ...role, tables, endpoint, times: TIMES };
  return spawn(process.execPath, [program, JSON.stringify(argument)], { stdio: ['pipe', 'pipe', 'pipe'] });
}

/** A process of the race: ready once it can begin, over with its history. */
function racer(store: TestStore, role: 'writer' | 'reader', group: Group) {
  const child = start(store, { role, group });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const over = once(child, 'close').then(() => {
    // A kill can cut the last line.
    const lines = stdout.slice(0, stdout.lastIndexOf('\n') + 1).split('\n');
    return {
      stderr,
      lines: lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : [])),
    };
  });
  const said = async (many: number): Promise<void> => {
    while (stdout.split('\n').length <= many && child.exitCode === null) await once(child.stdout, 'data');
  };
  return {
    over,
    ready: said(1),
    go: () => child.stdin.write('go\n'),
    stop: () => child.stdin.end(),
    killAfter: async (lines: number) => {
      await said(lines);
      child.kill('SIGKILL');
    },
  };
}

function serve(store: TestStore) {
  const telemetry = jsonLinesTelemetry();
  const app = createApp(telemetry, { kind: 'open' });
  mapRoutes(app, { store, telemetry, now: Date.now, cacheBytes: 0 });
  return app;
}

async function snapshotIn(store: TestStore, counter?: bigint) {
  const response = await serve(store).request('/v1/clusters/c1/snapshot', {
    headers: { accept: 'application/x-protobuf' },
  });
  expect(response.status, `reading the snapshot at ${counter}`).toBe(200);
  return fromBinary(ClusterResourceMapSchema, new Uint8Array(await response.arrayBuffer()));
}

async function push(store: TestStore, counter: bigint, group: Group) {
  const snapshot = snapshotAt(counter, group);
  return publishSnapshot(store, { clusterId: 'c1', snapshot, allowJump: true, strict: false }, Date.now());
}

describe.each(engines)('on $name', { timeout: TIMEOUT_MS }, (engine) => {
  it('no counter goes back, no snapshot is mixed and nothing acknowledged is lost, whoever writes, reads or is killed', async () => {
    const store = await freshStore(engine);
    await push(store, FIRST_COUNTER, 0);
    const writers = Array.from({ length: WRITERS }, (_, i) => racer(store, 'writer', i % 2 === 0 ? 0 : 1));
    const readers = Array.from({ length: READERS }, () => racer(store, 'reader', 0));
    const all = [...writers, ...readers];
    await Promise.all(all.map((process) => process.ready));
    for (const process of all) process.go();
    for (const writer of writers.slice(0, KILLED)) void writer.killAfter(5 + Math.floor(40 * Math.random()));
    await Promise.all(writers.map((writer) => writer.over));
    for (const reader of readers) reader.stop();
    const histories = await Promise.all(all.map((process) => process.over));

    // A refused push is logged; nothing else may be.
    const logged = histories.flatMap((h) => h.stderr.split('\n').filter((line) => line !== ''));
    expect(logged.filter((line) => !line.includes('"message":"request refused"'))).toEqual([]);
    const lines = histories.flatMap((h) => h.lines);
    expect(faultsOf(lines)).toEqual([]);

    // What was acknowledged is there, or something newer that a killed writer had sent.
    const head = await headOf(store);
    const highest = highestAcknowledged(lines);
    expect(head.highWater).toBeGreaterThanOrEqual(highest);
    const pushed = lines.some((line) => line.kind === 'pushing' && line.counter === String(head.highWater));
    expect(pushed || head.highWater === FIRST_COUNTER).toBe(true);
    const { decision } = await push(store, head.highWater + 20n, 0);
    expect(decision).toBe('publish');
    expect(pushOfSnapshot(await snapshotIn(store))).toEqual({ counter: head.highWater + 20n, group: 0 });

    // And the race was one: everything that can happen did.
    const responses = new Set(lines.flatMap((line) => (line.kind === 'pushed' ? [line.response] : [])));
    for (const response of ['PUBLISHED', 'REFRESHED', 'ALREADY_PUBLISHED']) {
      expect(responses).toContain(`PUSH_OUTCOME_${response}`);
    }
    expect(responses).toContain('counter_regressed');
    expect(responses).toContain('counter_reused');
    expect(lines.filter(isAcknowledged).length).toBeGreaterThan(20);
    expect(lines.filter((line) => line.kind === 'read' && line.counter !== undefined).length).toBeGreaterThan(
      20,
    );
  });

  it('a writer that is killed between the parts and the head leaves the old snapshot, and the next push works', async () => {
    const store = await freshStore(engine);
    const [old, next] = [FIRST_COUNTER, FIRST_COUNTER + 20n];
    expect(contentAt(old, 0)).not.toBe(contentAt(next, 0));
    await push(store, old, 0);

    const child = start(store, { role: 'hangs before the head', group: 0, counter: String(next) });
    for await (const chunk of child.stdout) if (String(chunk).includes('body written')) break;
    child.kill('SIGKILL');
    await once(child, 'exit');

    expect(pushOfSnapshot(await snapshotIn(store))).toEqual({ counter: old, group: 0 });
    expect((await push(store, next, 0)).decision).toBe('publish');
    expect(pushOfSnapshot(await snapshotIn(store))).toEqual({ counter: next, group: 0 });
  });

  it('a snapshot of 40 MB that does not compress is pushed in many parts and read back whole', async () => {
    const store = await freshStore(engine);
    const content = Array.from({ length: 40 }, (_, i) => ({
      name: `${i}`,
      version: randomBytes(786_432).toString('base64'),
    }));
    const snapshot = () => snapshotOf({ installedComponents: content });
    const request = { clusterId: 'c1', snapshot: snapshot(), allowJump: false, strict: false };
    const { head } = await publishSnapshot(store, request, Date.now());
    expect(head.body.rawBytes).toBeGreaterThan(40 * 1_024 * 1_024);
    expect(head.body.parts).toBeGreaterThan(80);
    const read = await snapshotIn(store);
    const versions = new Map(read.installedComponents.map((c) => [c.name, c.version]));
    expect(content.filter((c) => versions.get(c.name) !== c.version)).toEqual([]);
    expect(read.installedComponents.length).toBe(40);
  });
});
