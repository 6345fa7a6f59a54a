import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenCommand } from '../../functions/cli/commands/token.ts';
import { trustCommand } from '../../functions/cli/commands/trust.ts';
import { tokenTable } from '../../functions/cli/registration-tables.ts';
import { Role, TokenSchema } from '../../functions/gen/resourcemap/v1/access_pb.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { runCommand } from './run-command.ts';

let service: GuardedService;
let shown: readonly string[];
beforeAll(async () => {
  service = await startGuardedService();
  shown = ['--url', service.url, '--token', service.adminToken];
});
afterAll(() => service.close());

const NOWHERE = ['--url', 'http://127.0.0.1:9'];
const identity = (issuer: string) => ['--issuer', issuer, '--audience', 'map', '--subject', 'agent'];

describe('Where nobody is trusted yet,', () => {
  it.each([
    ['token', tokenCommand, 'No token is issued; rmap token issue issues one.'],
    ['trust', trustCommand, 'No identity is registered; rmap trust add registers one.'],
  ])('rmap %s list says so, and has no line for a program', async (_, command, sentence) => {
    expect(await runCommand(command(), 'list', ...shown)).toEqual({
      code: 0,
      stdout: `${sentence}\n`,
      stderr: '',
    });
    expect((await runCommand(command(), 'list', '--json', ...shown)).stdout).toBe('');
  });
});

describe('A table of tokens', () => {
  it('tells when each was made and when it expires, and marks what has expired', () => {
    const token = (digit: string, note: string, expiresAtMs?: number) =>
      create(TokenSchema, {
        id: digit.repeat(64),
        role: Role.ADMIN,
        note,
        createdAt: timestampFromMs(Date.UTC(2026, 0, 2, 3, 4, 5, 678)),
        ...(expiresAtMs === undefined ? {} : { expiresAt: timestampFromMs(expiresAtMs) }),
      });
    const now = Date.UTC(2026, 10, 30);
    expect(
      tokenTable([token('a', 'ever'), token('b', 'over', now), token('c', 'soon', now + 1_000)], now).split(
        '\n',
      ),
    ).toEqual([
      'ID            FOR    CREATED               EXPIRES                         NOTE',
      'aaaaaaaaaaaa  admin  2026-01-02T03:04:05Z  never                           ever',
      'bbbbbbbbbbbb  admin  2026-01-02T03:04:05Z  2026-11-30T00:00:00Z (expired)  over',
      'cccccccccccc  admin  2026-01-02T03:04:05Z  2026-11-30T00:00:01Z            soon',
    ]);
  });
});

describe('What is wrong with a registration or a token', () => {
  it('is said once, and of the option that gives it', async () => {
    const { code, stderr } = await runCommand(
      trustCommand(),
      'add',
      ...shown,
      ...identity('http://issuer'),
      '--role',
      'agent',
    );
    expect(stderr.split('\n')).toEqual([
      '[invalid_grant_request] The service rejects these options:',
      '  reject invalid_value --issuer: The issuer is "http://issuer"; it must be an https URL without user name.',
      '  reject missing_value --cluster: The cluster id is missing; an agent is that of one cluster.',
      '',
    ]);
    expect(code).toBe(1);
    const uri = await runCommand(
      trustCommand(),
      'add',
      ...shown,
      ...identity('https://i'),
      '--role',
      'admin',
      ...['--jwks-uri', 'nowhere', '--note', 'x'.repeat(201)],
    );
    expect(uri.stderr).toContain('\n  reject invalid_value --jwks-uri: The jwks uri is "nowhere", ');
    expect(uri.stderr).toContain('\n  reject invalid_value --note: The note has 201 bytes; ');
    expect(uri.stderr.match(/The note has/g)).toHaveLength(1);
  });
});

describe('A file of keys that holds none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rmap-keys-'));
  it.each([
    ['README.md', '# Keys', 'is no JSON; it must be a JWK Set, such as {"keys":[…]}.'],
    ['none.json', '{}', 'has no keys; it must be a JWK Set, such as {"keys":[…]}.'],
    [
      'secret.json',
      '{"keys":[{"kty":"oct","k":"AAAA"}]}',
      'has a key 0 that is secret; give public keys only.',
    ],
  ])('is a wrong command line, before anything is sent: %s', async (name, text, fault) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    const args = ['add', ...NOWHERE, ...identity('https://i'), '--role', 'admin', '--jwks', file];
    expect(await runCommand(trustCommand(), ...args)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${file} ${fault}\n`,
    });
  });

  it('is given, or where the keys are, and not both', async () => {
    const args = [
      ...NOWHERE,
      ...identity('https://i'),
      '--role',
      'admin',
      '--jwks',
      'a',
      '--jwks-uri',
      'https://b',
    ];
    const { code, stderr } = await runCommand(trustCommand(), 'add', ...args);
    expect(stderr).toContain("option '--jwks <file>' cannot be used with option '--jwks-uri <url>'");
    expect(code).toBe(2);
  });
});
