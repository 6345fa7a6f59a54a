/** The service as `npm start` runs it: what was acknowledged is there at the next start, however it ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';

const MAIN = new URL('../../dist/local/main.js', import.meta.url).pathname;

interface Service {
  readonly process: ChildProcess;
  /** Absent where it ended before it was ready. */
  readonly url: string | undefined;
  readonly stderr: () => string;
  /** Sends the signal and waits for the exit code, or for the signal where that ended it. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | NodeJS.Signals | null>;
}

let folder: string;
const running = new Set<ChildProcess>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restart-'));
});
afterEach(async () => {
  for (const process of running) process.kill('SIGKILL');
  running.clear();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the service, and waits until it says where it is, or ends. */
async function start(...options: readonly string[]): Promise<Service> {
  const where = options.includes('--memory') ? [] : ['--data', folder];
  const child = spawn(process.execPath, [MAIN, '--port', '0', ...where, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const url = await new Promise<string | undefined>((resolve) => {
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk);
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => resolve(undefined));
  });
  return {
    process: child,
    url,
    stderr: () => stderr,
    end: async (signal) => {
      child.kill(signal);
      const [code, endedBy] = await exited;
      return endedBy ?? code;
    },
  };
}

/** Pushes content that follows from the counter; resolves once it was acknowledged. */
async function push(url: string, clusterId: string, counter: bigint): Promise<void> {
  const snapshot = snapshotOf({
    cluster: { clusterId },
    logicalCounter: counter,
    collectedAt: timestampFromMs(1_767_225_600_000 + Number(counter % 1_000n)),
    installedComponents: [{ name: 'counter', version: String(counter) }],
  });
  const response = await fetch(
    `${url}/v1/clusters/${encodeURIComponent(clusterId)}/snapshot?allow_jump=true`,
    {
      method: 'PUT',
      headers: { 'content-type': 'application/x-protobuf' },
      body: toBinary(ClusterResourceMapSchema, snapshot),
    },
  );
  expect(response.status).toBe(200);
}

async function json(url: string | undefined, path: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}${path}`)).json()) as Record<string, unknown>;
}

describe('a service on a folder', { timeout: 60_000 }, () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends cleanly on %s, and has everything when it starts again',
    async (signal) => {
      const first = await start();
      const url = first.url ?? '';
      for (const id of ['a', 'b/c', 'ä']) await push(url, id, 18_446_744_073_709_551_614n);
      await push(url, 'gone', 7n);
      await fetch(`${url}/v1/clusters/gone`, { method: 'DELETE' });
      const map = await json(url, '/v1/map');
      expect(Object.keys(map.vectorClock as object)).toEqual(['a', 'b/c', 'ä']);
      expect(await first.end(signal)).toBe(0);

      const second = await start();
      expect(await json(second.url, '/v1/map')).toEqual(map);
      expect(await json(second.url, '/v1/clusters/gone')).toMatchObject({
        state: 'CLUSTER_STATE_OMITTED',
        highWaterMark: '7',
      });
      expect(await second.end(signal)).toBe(0);
    },
  );

  it('that is killed while it is pushed to has all that it acknowledged when it starts again', async () => {
    const first = await start();
    const url = first.url ?? '';
    const acknowledged = new Map<string, bigint>();
    const clusters = ['a', 'b', 'c', 'd'];
    let total = 0;
    const pushing = clusters.map(async (id) => {
      for (let counter = 1n; ; counter++) {
        await push(url, id, counter);
        acknowledged.set(id, counter);
        // In the middle of what the others have sent.
        if (++total === 40) first.process.kill('SIGKILL');
      }
    });
    await Promise.allSettled(pushing);
    await first.end('SIGKILL');
    expect(acknowledged.size).toBe(clusters.length);

    const second = await start();
    const map = await json(second.url, '/v1/map');
    const clock = map.vectorClock as Record<string, string>;
    const said = (map.clusterResourceMaps as { installedComponents: { version: string }[] }[]).map(
      (snapshot) => snapshot.installedComponents[0]?.version,
    );
    for (const id of clusters) {
      const counter = BigInt(clock[id] ?? 0);
      const last = acknowledged.get(id) ?? 0n;
      // One push was under way and may have been stored without a response.
      expect([last, last + 1n], id).toContain(counter);
    }
    expect(said).toEqual(clusters.map((id) => clock[id]));
    await push(second.url ?? '', 'a', BigInt(clock.a ?? 0) + 1n);
    expect(await second.end('SIGINT')).toBe(0);
  });

  it('is the only one: a second on the same folder says what to do, and the first goes on', async () => {
    const first = await start();
    const second = await start();
    expect(second.url).toBeUndefined();
    expect(await second.end('SIGTERM')).toBe(1);
    expect(second.stderr()).toBe(
      `The data in ${folder} is in use by another process; end that one, or choose another folder with --data.\n`,
    );
    await push(first.url ?? '', 'a', 1n);
    expect(await first.end('SIGINT')).toBe(0);
  });

  it('whose port is taken says so', async () => {
    const first = await start('--memory');
    const port = new URL(first.url ?? '').port;
    const second = await start('--memory', '--port', port);
    expect(await second.end('SIGTERM')).toBe(1);
    expect(second.stderr()).toBe(
      `Port ${port} is in use; choose another with --port, or 0 for a free one.\n`,
    );
    expect(await first.end('SIGINT')).toBe(0);
  });

  it.each([
    [['--memory', '--data', 'x'], '--memory keeps nothing in a folder; give it or --data, not both.'],
    [
      ['--memory', '--admin-token-sha256', 'ab'.repeat(32)],
      '--admin-token-sha256 (ADMIN_TOKEN_SHA256) is of use with --auth only; without it the service asks nobody for a token.',
    ],
  ])('does not start with options of which one would be passed over: %j', async (options, message) => {
    const refused = await start(...options);
    expect(refused.url).toBeUndefined();
    expect(await refused.end('SIGTERM')).toBe(1);
    expect(refused.stderr()).toContain(`error: ${message}\n`);
  });

  it('keeps nothing with --memory', async () => {
    const first = await start('--memory');
    await push(first.url ?? '', 'a', 1n);
    expect(await first.end('SIGINT')).toBe(0);
    const second = await start('--memory');
    expect(await json(second.url, '/v1/map')).toEqual({ clusterResourceMaps: [], vectorClock: {} });
    expect(await second.end('SIGINT')).toBe(0);
  });
});
