import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readTokenFile } from '../../functions/cli/token-file.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { RMAP, runRmap } from './run-rmap.ts';

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
      'holds 17 characters that are not a valid bearer token; write the token into it, and nothing else.',
    ],
    [
      '{"secret":1}',
      'holds 12 characters that are not a valid bearer token; write the token into it, and nothing else.',
    ],
    [
      's'.repeat(9_000),
      'holds 9000 characters that are not a valid bearer token; write the token into it, and nothing else.',
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
        'The token file /nowhere/token cannot be read: ENOENT: no such file or directory. --token-file takes the file that a token is in.',
    });
  });
});

describe('rmap --token-file', () => {
  let service: GuardedService;
  beforeAll(async () => {
    service = await startGuardedService();
  });
  afterAll(() => service.close());

  const rmap = (args: readonly string[], env: Record<string, string> = {}) =>
    runRmap(args, service.url, '', env);

  it('is the token of the request, as the variable is', async () => {
    await writeFile(file, `${await service.issue('SCHEDULER')}\n`);
    expect((await rmap(['clock', '--token-file', file])).code).toBe(0);
    expect((await rmap(['clock'], { RMAP_TOKEN_FILE: file })).code).toBe(0);
    expect(await rmap(['clock'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        '[unauthenticated] The service asks for a token; --token-file, RMAP_TOKEN_FILE or RMAP_TOKEN gives rmap one.\n',
    });
  });

  it('goes before the variables, and so does --token', async () => {
    await writeFile(file, await service.issue('SCHEDULER'));
    const other = join(folder, 'other');
    await writeFile(other, 'rmap_other');
    const token = await service.issue('SCHEDULER');
    const good: readonly [readonly string[], Record<string, string>][] = [
      [['--token-file', file], { RMAP_TOKEN: 'rmap_other' }],
      [['--token', token], { RMAP_TOKEN_FILE: other }],
      [['--token-file', file], { RMAP_TOKEN: 'rmap_other', RMAP_TOKEN_FILE: other }],
      [['--token', token], { RMAP_TOKEN: 'rmap_other', RMAP_TOKEN_FILE: other }],
      [[], { RMAP_TOKEN: '', RMAP_TOKEN_FILE: file }],
      [[], { RMAP_TOKEN: token, RMAP_TOKEN_FILE: '' }],
    ];
    const ran = await Promise.all(good.map(([args, env]) => rmap(['clock', ...args], env)));
    expect(ran.map(({ code, stderr }) => [code, stderr])).toEqual(good.map(() => [0, '']));
    expect((await rmap(['clock', '--token', 'rmap_other'], { RMAP_TOKEN_FILE: file })).stderr).toContain(
      '[invalid_token]',
    );
  });

  it('cannot be a variable beside the variable of a token', async () => {
    expect(await rmap(['clock'], { RMAP_TOKEN: 'a', RMAP_TOKEN_FILE: file })).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'RMAP_TOKEN and RMAP_TOKEN_FILE are both set; unset one, or give --token-file, which takes precedence over both.\n',
    });
  });

  it.each(['', 'a\nb', 'ä'])('cannot be replaced by %j, which is not shown', async (token) => {
    expect(await rmap(['clock', '--token', token])).toEqual({
      code: 2,
      stdout: '',
      stderr: `The ${token.length} characters of --token or RMAP_TOKEN are not a valid bearer token; give the token, and nothing else.\n`,
    });
  });

  it('cannot stand beside a token, and ends at once with a file that is not there', async () => {
    const both = await rmap(['clock', '--token-file', file, '--token', 'a']);
    expect(both.code).toBe(2);
    expect(both.stderr).toBe('Both --token and --token-file are given; give one.\n');
    const startedMs = performance.now();
    const missing = await rmap(['clock', '--token-file', '/nowhere']);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/^The token file \/nowhere cannot/),
    ]);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  it('is read again at each push, so that a renewed token is used and an expired one is not', async () => {
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
    const watcher = spawn(process.execPath, [RMAP, 'push', '--watch', '--token-file', file, snapshot], {
      env: { ...process.env, RMAP_URL: service.url },
    });
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
