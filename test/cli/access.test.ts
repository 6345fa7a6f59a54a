import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenDigest } from '../../functions/auth/static-token.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { startIssuer } from '../auth/issuer.ts';

const RMAP = fileURLToPath(new URL('../../functions/cli/rmap.ts', import.meta.url));
const run = promisify(execFile);

let service: GuardedService;
beforeAll(async () => {
  service = await startGuardedService();
});
afterAll(() => service.close());

async function rmap(...args: readonly string[]): Promise<{ out: string; err: string; code: number }> {
  const env = { ...process.env, RMAP_URL: service.url, RMAP_TOKEN: service.adminToken };
  try {
    const { stdout, stderr } = await run(process.execPath, ['--import', 'tsx', RMAP, ...args], { env });
    return { out: stdout.trim(), err: stderr.trim(), code: 0 };
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
    return { out: stdout.trim(), err: stderr.trim(), code };
  }
}

describe('rmap, as an admin', () => {
  it('issues a token that works, lists it without its secret, and revokes it', async () => {
    const issued = await rmap('token', 'issue', '--role', 'scheduler', '--note', 'koi', '--lifetime', '90d');
    expect(issued.out).toMatch(/^rmap_[\w-]{43}$/);
    expect((await service.call('GET /v1/map/clock', { token: issued.out })).status).toBe(200);
    const id = tokenDigest(issued.out).slice(0, 12);
    const [head, line] = (await rmap('token', 'list')).out.split('\n');
    expect(head).toMatch(/^ID +FOR +CREATED +EXPIRES +NOTE$/);
    const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ';
    expect(line).toMatch(new RegExp(`^${id} +scheduler +${time} +${time} +koi$`));
    expect((await rmap('token', 'revoke', id)).code).toBe(0);
    expect((await service.call('GET /v1/map/clock', { token: issued.out })).status).toBe(401);
  });

  it('registers an issuer with keys of its own, and removes it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'jwks-'));
    const issuer = await startIssuer();
    const file = join(folder, 'keys.json');
    writeFileSync(file, JSON.stringify({ keys: issuer.keys() }));
    const identity = [
      '--issuer',
      'https://kubernetes.default.svc',
      '--audience',
      'map',
      '--subject',
      'agent',
    ];
    const added = await rmap(
      'trust',
      'add',
      ...identity,
      '--role',
      'agent',
      '--cluster',
      'c1',
      '--jwks',
      file,
    );
    expect(added.out).toMatch(/^Registered as [0-9a-f]{12}: agent of c1$/);
    const token = await issuer.token({ iss: 'https://kubernetes.default.svc', aud: 'map', sub: 'agent' });
    expect((await service.call('GET /v1/clusters/c1', { token })).body.code).toBe('cluster_not_found');
    const [, line = ''] = (await rmap('trust', 'list')).out.split('\n');
    const [id = ''] = line.split(' ');
    expect((await rmap('trust', 'remove', id)).code).toBe(0);
    expect((await service.call('GET /v1/clusters/c1', { token })).status).toBe(401);
    await issuer.close();
    await rm(folder, { recursive: true });
  });

  it('makes the token of a first admin with the digest that a deployment takes', async () => {
    const [token = '', digest] = (await rmap('token', 'generate')).out
      .split('\n')
      .map((line) => line.split(/\s+/)[1] ?? '');
    expect(digest).toBe(tokenDigest(token));
  });

  it('says what is wrong, with the exit code for it', async () => {
    const refused = await rmap('token', 'issue', '--role', 'agent');
    expect(refused.code).toBe(1);
    expect(refused.err.split('\n')).toEqual([
      '[invalid_grant_request] The service rejects these options:',
      '  reject missing_value --cluster: The cluster id is missing; an agent is that of one cluster.',
    ]);
    const usage = await rmap('token', 'issue', '--role', 'root');
    expect(usage.code).toBe(2);
    expect(usage.err).toContain('Allowed choices are agent, scheduler, viewer, monitor, admin.');
    expect((await rmap('token', 'issue', '--role', 'admin', '--lifetime', '1y')).code).toBe(2);
  });
});
