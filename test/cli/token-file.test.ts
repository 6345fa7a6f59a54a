import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readTokenFile } from '../../functions/cli/token-file.ts';
import { type GuardedService, startGuardedService } from '../http/auth/guarded-service.ts';

const RMAP = fileURLToPath(new URL('../../functions/cli/rmap.ts', import.meta.url));

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-file-'));
  file = join(folder, 'token');
});
afterAll(() => rm(folder, { recursive: true }));

describe('A token file', () => {
  it('holds a token, with white space around it or not', async () => {
    for (const text of ['rmap_abc', 'rmap_abc\n', '\r\n rmap_abc \n\n']) {
      await writeFile(file, text);
      expect(await readTokenFile(file)).toBe('rmap_abc');
    }
  });

  it.each([
    ['', 'is empty; write the token into it, and nothing else.'],
    [' \n', 'is empty; write the token into it, and nothing else.'],
    [
      'secret-1 secret-2',
      'holds 17 characters that are not one token; write the token into it, and nothing else.',
    ],
    [
      '{"secret":1}',
      'holds 12 characters that are not one token; write the token into it, and nothing else.',
    ],
    [
      's'.repeat(9_000),
      'holds 9000 characters that are not one token; write the token into it, and nothing else.',
    ],
  ])('is refused, and not shown, where it holds no token: %#', async (text, complaint) => {
    await writeFile(file, text);
    await expect(readTokenFile(file)).rejects.toMatchObject({
      name: 'UsageError',
      message: `The token file ${file} ${complaint}`,
    });
  });

  it('that is not there is named', async () => {
    await expect(readTokenFile('/nowhere/token')).rejects.toMatchObject({
      name: 'UsageError',
      message:
        "The token file /nowhere/token cannot be read: ENOENT: no such file or directory, open '/nowhere/token'. --token-file takes the file that a token is in.",
    });
  });
});

describe('rmap --token-file', () => {
  let service: GuardedService;
  beforeAll(async () => {
    service = await startGuardedService();
  });
  afterAll(() => service.close());

  function rmap(
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        ['--import', 'tsx', RMAP, ...args],
        { env: { ...process.env, RMAP_URL: service.url, ...env } },
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  }

  it('is the token of the request, as the variable is', async () => {
    await writeFile(file, `${await service.issue('SCHEDULER')}\n`);
    expect((await rmap(['clock', '--token-file', file])).code).toBe(0);
    expect((await rmap(['clock'], { RMAP_TOKEN_FILE: file })).code).toBe(0);
    expect((await rmap(['clock'])).err).toContain('[unauthenticated]');
  });

  it('cannot stand beside a token, and ends at once with a file that is not there', async () => {
    const both = await rmap(['clock', '--token-file', file, '--token', 'a']);
    expect(both.code).toBe(2);
    expect(both.err).toContain("option '--token-file <file>' cannot be used with option '--token <token>'");
    const startedMs = performance.now();
    const missing = await rmap(['clock', '--token-file', '/nowhere']);
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringMatching(/^The token file \/nowhere cannot/),
    ]);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  it('is read anew at each push, so that a renewed token is used and an expired one is not', async () => {
    const snapshot = join(folder, 'c1.json');
    const write = (counter: number): Promise<void> =>
      writeFile(
        snapshot,
        JSON.stringify({
          cluster: { clusterId: 'c1' },
          collectedAt: '2026-01-01T00:00:00Z',
          logicalCounter: String(counter),
        }),
      );
    await write(1);
    await writeFile(file, 'rmap_expired');
    const watcher = spawn(
      process.execPath,
      ['--import', 'tsx', RMAP, 'push', '--watch', '--token-file', file, snapshot],
      { env: { ...process.env, RMAP_URL: service.url } },
    );
    let said = '';
    watcher.stdout.on('data', (chunk) => {
      said += chunk;
    });
    watcher.stderr.on('data', (chunk) => {
      said += chunk;
    });
    try {
      await vi.waitFor(() => expect(said).toContain('[invalid_token]'), 15_000);
      await writeFile(file, await service.issue('AGENT', 'c1'));
      await write(2);
      await vi.waitFor(() => expect(said).toContain('PUBLISHED c1 at 2'), 15_000);
    } finally {
      watcher.kill();
      await once(watcher, 'exit');
    }
  }, 40_000);
});
