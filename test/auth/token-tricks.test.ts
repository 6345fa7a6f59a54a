import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { exportSPKI, importJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '../builders/raw-http.ts';
import { type Answer, type GuardedService, startGuardedService } from './guarded-service.ts';
import { AUDIENCE, SUBJECT, startIssuer, type TestIssuer } from './issuer.ts';
import { UNVERIFIED } from './unverified.ts';

let service: GuardedService;
let issuer: TestIssuer;
/** Registered as well, for another cluster, and not to be trusted with the first one. */
let rival: TestIssuer;
const CLUSTER = 'c1';

async function register(fields: Record<string, unknown>): Promise<Answer> {
  return service.call('POST /v1/registrations', { token: service.adminToken, body: fields });
}

beforeAll(async () => {
  service = await startGuardedService();
  [issuer, rival] = await Promise.all([startIssuer('RS256'), startIssuer('RS256')]);
  for (const [url, clusterId] of [
    [issuer.url, CLUSTER],
    [rival.url, 'of-the-rival'],
  ]) {
    const { status } = await register({
      issuer: url,
      audience: AUDIENCE,
      subject: SUBJECT,
      role: 'ROLE_AGENT',
      clusterId,
    });
    expect(status).toBe(201);
  }
});
afterAll(async () => {
  await service.close();
  await Promise.all([issuer.close(), rival.close()]);
});

/** Asks for the cluster's status, which there is none of: 404 is what a token that is taken gets. */
function use(token: string): Promise<Answer> {
  return service.call(`GET /v1/clusters/${CLUSTER}`, { token });
}

function encode(json: unknown): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}

function claims(more: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000);
  return { iss: issuer.url, aud: AUDIENCE, sub: SUBJECT, iat: now, exp: now + 600, ...more };
}

describe('A token of a registered issuer', () => {
  it('is taken', async () => {
    expect((await use(await issuer.token())).body.code).toBe('cluster_not_found');
  });

  it('is taken with several audiences of which one is registered', async () => {
    const response = await use(await issuer.token({ aud: ['somebody', AUDIENCE] }));
    expect(response.body.code).toBe('cluster_not_found');
  });

  it('is taken within the tolerance for clocks that differ', async () => {
    expect((await use(await issuer.token({ expiresIn: -20 }))).status).toBe(404);
    expect((await use(await issuer.token({ notBeforeIn: 20 }))).status).toBe(404);
  });
});

describe('A token is refused, and the cluster not reached, that', () => {
  const refused = (token: string, detail: string | RegExp) => async () => {
    const response = await use(token);
    expect([response.status, response.body.code]).toEqual([401, 'invalid_token']);
    expect(response.body.detail).toEqual(typeof detail === 'string' ? detail : expect.stringMatching(detail));
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer realm="resource-map", error="invalid_token"',
    );
  };

  it('has no signature (alg none)', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      const token = `${encode({ alg, typ: 'JWT' })}.${encode(claims())}.`;
      await refused(token, /^The Authorization|^The token is signed with|neither a JWT/)();
    }
    await refused(
      `${encode({ alg: 'none' })}.${encode(claims())}.AAAA`,
      'The token is signed with "none"; supported: RS256, PS256, ES256, ES384, EdDSA.',
    )();
  });

  it('is signed with HS256 and the public key for a secret', async () => {
    const [jwk] = issuer.keys();
    if (jwk === undefined) throw new Error('no key');
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as never);
    for (const secret of [pem, pem.trim(), JSON.stringify(jwk), jwk.n ?? '']) {
      const input = `${encode({ alg: 'HS256', kid: jwk.kid })}.${encode(claims())}`;
      const signature = createHmac('sha256', secret).update(input).digest('base64url');
      await refused(
        `${input}.${signature}`,
        'The token is signed with "HS256"; supported: RS256, PS256, ES256, ES384, EdDSA.',
      )();
    }
  });

  it('brings its own key (jwk, jku, x5u, x5c)', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = publicKey.export({ format: 'jwk' });
    for (const header of [
      { jwk },
      { jwk, kid: 'key-1' },
      { jku: 'http://127.0.0.1:1/keys', kid: 'key-1' },
      { x5u: 'http://127.0.0.1:1/cert', kid: 'key-1' },
    ]) {
      const input = `${encode({ alg: 'RS256', ...header })}.${encode(claims())}`;
      const signature = createSign('sha256').update(input).sign(privateKey, 'base64url');
      await refused(`${input}.${signature}`, UNVERIFIED)();
    }
  });

  it('is for another audience', async () => {
    await refused(await issuer.token({ aud: 'vault' }), UNVERIFIED)();
  });

  it('is of another subject', async () => {
    await refused(await issuer.token({ sub: `${SUBJECT} ` }), UNVERIFIED)();
  });

  it('is expired, or does not expire', async () => {
    await refused(
      await issuer.token({ expiresIn: -40 }),
      /^The token expired at \d{4}-.*Z; the clock of this service says \d{4}-.*Z\.$/,
    )();
    const [head, , signature] = (await issuer.token()).split('.');
    await refused(`${head}.${encode(claims({ exp: undefined }))}.${signature}`, UNVERIFIED)();
  });

  it('is not valid yet', async () => {
    await refused(
      await issuer.token({ notBeforeIn: 40 }),
      /^The token is not valid before \d{4}-.*Z; the clock of this service says \d{4}-.*Z\.$/,
    )();
  });

  it('names a key that the issuer does not have', async () => {
    await refused(await issuer.token({}, { kid: 'key-9' }), UNVERIFIED)();
    await refused(await issuer.token({}, { kid: '../key-1' }), UNVERIFIED)();
  });

  it('is signed by another registered issuer, in the name of the first one or of its subject', async () => {
    await refused(await rival.token({ iss: issuer.url }), UNVERIFIED)();
    const own = await use(await rival.token());
    expect([own.status, own.body.code]).toEqual([403, 'forbidden']);
    expect(own.body.detail).toBe(
      'The token is for the agent of cluster "of-the-rival", and for no other cluster.',
    );
  });

  it('is of an issuer that nobody registered, from which nothing is fetched', async () => {
    const stranger = await startIssuer();
    try {
      await refused(await stranger.token(), UNVERIFIED)();
      expect(stranger.fetches()).toBe(0);
    } finally {
      await stranger.close();
    }
  });

  it('was changed after it was signed', async () => {
    const [head, , signature] = (await issuer.token()).split('.');
    await refused(`${head}.${encode(claims({ exp: 99_999_999_999 }))}.${signature}`, UNVERIFIED)();
    const whole = await issuer.token();
    await refused(`${whole.slice(0, -10)}AAAAAAAAAA`, UNVERIFIED)();
  });

  it('names an extension that must be understood (crit)', async () => {
    const [, body, signature] = (await issuer.token()).split('.');
    const header = { alg: 'RS256', kid: 'key-1', crit: ['x-only-on-sundays'], 'x-only-on-sundays': true };
    await refused(`${encode(header)}.${body}.${signature}`, UNVERIFIED)();
  });

  it('is no token at all', async () => {
    for (const token of ['a', 'a.b', 'a.b.c', '..', `${encode({ alg: 'RS256' })}..`, 'rmap_', 'rmap_AAAA']) {
      await refused(token, /^The token is (neither a JWT nor|unknown or revoked)/)();
    }
  });

  it('has claims of another kind than they must be', async () => {
    for (const odd of [
      { iss: 1 },
      { sub: null },
      { aud: [] },
      { aud: [1] },
      { aud: { length: 1 } },
      { sub: ['a'] },
      { iss: undefined },
    ]) {
      const token = `${encode({ alg: 'RS256' })}.${encode(claims(odd))}.AAAA`;
      await refused(token, 'The token lacks an issuer (iss), an audience (aud) or a subject (sub).')();
    }
    const many = Array.from({ length: 9 }, (_, i) => `a${i}`);
    await refused(await issuer.token({ aud: many }), 'The token has 9 audiences; at most 8 are looked at.')();
  });
});

describe('The header', () => {
  const ask = async (headers: string): Promise<{ status: number; code: string }> => {
    const response = await sendRaw(service.url, `GET /v1/map HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    return { status: response.status, code: JSON.parse(response.body).code };
  };

  it('is asked for where it is missing', async () => {
    expect(await ask('')).toEqual({ status: 401, code: 'unauthenticated' });
  });

  it.each([
    'Authorization: ',
    'Authorization: Bearer',
    'Authorization: Basic YTpi',
    'Authorization: Token abc',
    'Authorization: Bearer a b',
    'Authorization: Bearer a, Bearer b',
    'Authorization: Bearer a\r\nAuthorization: Bearer b',
    'Authorization: "Bearer a"',
    `Authorization: Bearer ${'a'.repeat(9_000)}`,
  ])('is refused as %s', async (header) => {
    expect(await ask(`${header}\r\n`)).toEqual({ status: 401, code: 'invalid_token' });
  });

  it('takes the scheme in any case', async () => {
    const scheduler = await service.issue('SCHEDULER');
    const response = await sendRaw(
      service.url,
      `GET /v1/map/clock HTTP/1.1\r\nHost: x\r\nauthorization: bEARER ${scheduler}\r\n\r\n`,
    );
    expect(response.status).toBe(200);
  });

  it('is the only place where a token is looked for', async () => {
    const scheduler = await service.issue('SCHEDULER');
    const response = await sendRaw(
      service.url,
      `GET /v1/map?access_token=${scheduler} HTTP/1.1\r\nHost: x\r\nCookie: token=${scheduler}\r\nX-Api-Key: ${scheduler}\r\n\r\n`,
    );
    expect(response.status).toBe(401);
  });
});

describe('Tokens', () => {
  it('are never in the log, nor in a response, and request ids are in both', async () => {
    const secret = await service.issue('AGENT', CLUSTER);
    const jwt = await issuer.token();
    for (const token of [secret, jwt, `${secret}x`, `${jwt}x`, await issuer.token({ aud: 'vault' })]) {
      const response = await service.call('GET /v1/map', { token, headers: { 'x-request-id': 'trace-me' } });
      expect(JSON.stringify(response.body)).not.toContain(token);
      expect(response.headers.get('x-request-id')).toBe('trace-me');
      expect(response.body.requestId).toBe('trace-me');
    }
    for (const token of [secret, jwt, service.adminToken]) expect(service.log()).not.toContain(token);
    expect(service.log()).toContain('"requestId":"trace-me"');
  });
});
