import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Authenticator, REGISTRATION_CACHE_MS } from '../../functions/auth/authenticator.ts';
import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import type { StaticToken } from '../../functions/core/registration.ts';
import { createTable } from '../../functions/storage/create-tables.ts';
import { RegistrationStore, registrationsTableDefinition } from '../../functions/storage/registrations.ts';
import { localClient } from '../engines/dynamodb-local.ts';
import { engines } from '../engines/store.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

const silent = {
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
};

function staticToken(secret: string, fields: Partial<StaticToken> = {}): StaticToken {
  return {
    kind: 'token',
    id: tokenDigest(secret),
    rights: { role: 'agent', clusterId: 'c1' },
    note: '',
    createdAtMs: NOW_MS,
    createdBy: 'a test',
    ...fields,
  };
}

describe.each(engines)('The authenticator, on $name', ({ endpoint }) => {
  async function setUp(adminTokenSha256?: string) {
    const client = localClient(endpoint);
    const table = `trust-${randomUUID()}`;
    await createTable(client, registrationsTableDefinition(table));
    const trust = new RegistrationStore(client, table);
    let nowMs = NOW_MS;
    const authenticator = new Authenticator({
      trust,
      telemetry: silent,
      now: () => nowMs,
      loopbackIssuers: false,
      ...(adminTokenSha256 === undefined ? {} : { adminTokenSha256 }),
    });
    return {
      client,
      table,
      trust,
      authenticator,
      later: (ms: number) => {
        nowMs += ms;
      },
    };
  }

  it('knows a token by its digest, with the rights that it was issued for', async () => {
    const { trust, authenticator } = await setUp();
    const secret = newToken();
    await trust.add(staticToken(secret));
    expect(await authenticator.authenticate(secret)).toEqual({
      kind: 'caller',
      id: tokenDigest(secret),
      rights: { role: 'agent', clusterId: 'c1' },
    });
  });

  it('takes the first admin of the deployment, and a digest for no token', async () => {
    const first = newToken();
    const { authenticator } = await setUp(tokenDigest(first));
    expect((await authenticator.authenticate(first)).rights).toEqual({ role: 'admin' });
    for (const wrong of [newToken(), `rmap_${tokenDigest(first)}`]) {
      await expect(authenticator.authenticate(wrong)).rejects.toThrow(
        '[invalid_token] The token is unknown or revoked.',
      );
    }
  });

  it('refuses a token from the second on in which it expires', async () => {
    const { trust, authenticator, later } = await setUp();
    const secret = newToken();
    await trust.add(staticToken(secret, { expiresAtS: NOW_MS / 1_000 + 60 }));
    later(59_999);
    await authenticator.authenticate(secret);
    later(1);
    await expect(authenticator.authenticate(secret)).rejects.toThrow(
      '[invalid_token] The token expired at 2026-01-01T00:01:00.000Z.',
    );
  });

  it('refuses a revoked token after 30 seconds at the latest', async () => {
    const { trust, authenticator, later } = await setUp();
    const secret = newToken();
    await trust.add(staticToken(secret));
    await authenticator.authenticate(secret);
    expect(await trust.remove('token', tokenDigest(secret))).toBe(1);
    later(REGISTRATION_CACHE_MS - 1);
    await authenticator.authenticate(secret);
    later(1);
    await expect(authenticator.authenticate(secret)).rejects.toThrow('unknown or revoked');
  });

  it('does not remember that a token was unknown', async () => {
    const { trust, authenticator } = await setUp();
    const secret = newToken();
    await expect(authenticator.authenticate(secret)).rejects.toThrow('unknown or revoked');
    await trust.add(staticToken(secret));
    await authenticator.authenticate(secret);
  });

  it('removes nothing where the beginning of an id names several', async () => {
    const { trust } = await setUp();
    for (const end of ['0', '1']) await trust.add(staticToken('x', { id: `${'a'.repeat(63)}${end}` }));
    expect(await trust.remove('token', 'aaaaaaaaaaaa')).toBe(2);
    expect(await trust.list('token')).toHaveLength(2);
    expect(await trust.remove('registration', 'aaaaaaaaaaaa')).toBe(0);
  });

  it.each([
    ['a role that is not known', { role: { S: 'root' } }],
    ['an agent without a cluster', { role: { S: 'agent' } }],
    ['a scheduler with a cluster', { role: { S: 'scheduler' }, clusterId: { S: 'c1' } }],
    ['an end that is no number', { role: { S: 'admin' }, expiresAt: { S: 'never' } }],
  ])('takes no item for a grant that has %s', async (_, attributes) => {
    const { client, table, authenticator } = await setUp();
    const { PutItemCommand } = await import('@aws-sdk/client-dynamodb');
    const secret = newToken();
    const item = {
      kind: { S: 'token' },
      id: { S: tokenDigest(secret) },
      note: { S: '' },
      createdAt: { N: '1' },
      createdBy: { S: '' },
      ...attributes,
    };
    await client.send(new PutItemCommand({ TableName: table, Item: item }));
    await expect(authenticator.authenticate(secret)).rejects.toThrow(/^(A grant has the role|The grant )/);
  });
});
