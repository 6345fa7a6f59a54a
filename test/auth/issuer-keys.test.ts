import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { IssuerKeys, isFetchable } from '../../functions/auth/issuer-keys.ts';
import { verifyJwt } from '../../functions/auth/verify-jwt.ts';
import type { KeySource, Registration } from '../../functions/core/registration.ts';
import { AUDIENCE, SUBJECT, startIssuer, type TestIssuer } from './issuer.ts';

const MINUTE = 60_000;
const DISCOVERY: KeySource = { kind: 'discovery' };

let issuer: TestIssuer;
let keys: IssuerKeys;
let logged: string[];

beforeEach(async () => {
  issuer = await startIssuer();
  logged = [];
  keys = new IssuerKeys({
    loopbackIssuers: true,
    telemetry: {
      warn: () => undefined,
      error: (message, { cause }) => void logged.push(`${message}: ${(cause as Error).message}`),
      count: () => undefined,
      gauge: () => undefined,
    },
  });
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await issuer.close();
});

function registration(of = issuer.url, source = DISCOVERY): Registration {
  return {
    kind: 'registration',
    id: 'r',
    issuer: of,
    audience: AUDIENCE,
    match: { kind: 'subject', subject: SUBJECT },
    keys: source,
    rights: { role: 'scheduler' },
    note: '',
    createdAtMs: 0,
    createdBy: '',
  };
}

async function verify(token?: string, by = registration()): Promise<void> {
  await verifyJwt(token ?? (await issuer.token()), by, keys, new Date());
}

function later(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Serves something for as long as it is used. */
async function withServer(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe('The keys of an issuer', () => {
  it('are fetched once, however many tokens come at the same time', async () => {
    const token = await issuer.token();
    await Promise.all(Array.from({ length: 50 }, () => verify(token)));
    await verify(token);
    expect(issuer.fetches()).toBe(1);
  });

  it.each(['RS256', 'ES256', 'EdDSA'] as const)('may be of %s', async (algorithm) => {
    const other = await startIssuer(algorithm);
    await verify(await other.token(), registration(other.url));
    await other.close();
  });

  it('are fetched again after ten minutes', async () => {
    await verify();
    later(9 * MINUTE);
    await verify();
    expect(issuer.fetches()).toBe(1);
    later(2 * MINUTE);
    await verify();
    expect(issuer.fetches()).toBe(2);
  });

  it('are fetched again for a key that is not known, at most every 30 seconds', async () => {
    await verify();
    await issuer.rotate();
    await expect(verify()).rejects.toMatchObject({
      code: 'invalid_token',
      cause: { message: 'The issuer has no key "key-2".' },
    });
    expect(issuer.fetches()).toBe(1);
    later(31_000);
    await verify();
    expect(issuer.fetches()).toBe(2);
    for (let i = 0; i < 20; i++) {
      await expect(verify(await issuer.token({}, { kid: `made-up-${i}` }))).rejects.toMatchObject({
        cause: { message: `The issuer has no key "made-up-${i}".` },
      });
    }
    expect(issuer.fetches()).toBe(2);
  });

  it('that are withdrawn are no longer good once they were fetched again', async () => {
    const old = await issuer.token();
    await verify(old);
    await issuer.rotate({ keepOld: false });
    later(11 * MINUTE);
    await expect(verify(old)).rejects.toMatchObject({
      code: 'invalid_token',
      cause: { message: 'The issuer has no key "key-1".' },
    });
  });

  it('stay in use for a day where the issuer does not answer, and no longer', async () => {
    await verify();
    issuer.answer({ status: 500, body: 'down' });
    later(60 * MINUTE);
    await verify();
    expect(logged).toEqual([`keys of an issuer cannot be fetched: ${issuer.url}/keys answers 500.`]);
    later(24 * 60 * MINUTE);
    await expect(verify()).rejects.toMatchObject({
      code: 'issuer_unavailable',
      details: { retryAfterSeconds: 30 },
    });
    issuer.answer();
    later(MINUTE);
    await verify();
  });

  it('that cannot be fetched at first make the token wait, not wrong', async () => {
    issuer.answer({ status: 503, body: '' });
    await expect(verify()).rejects.toThrow(
      `[issuer_unavailable] The keys of the issuer "${issuer.url}" cannot be fetched at the moment, so its tokens cannot be checked.`,
    );
    issuer.answer();
    later(31_000);
    await verify();
  });

  it.each([
    ['no JSON', '<html>'],
    ['no JWK Set', '{"keys":7}'],
    ['null', 'null'],
    ['endless', `{"keys":[],"x":"${'a'.repeat(300_000)}"}`],
  ])('are unavailable where what comes is %s', async (_, body) => {
    issuer.answer({ status: 200, body });
    await expect(verify()).rejects.toMatchObject({ code: 'issuer_unavailable' });
    expect(logged).toHaveLength(1);
  });

  it('are taken only from a discovery document that names the issuer itself', async () => {
    await withServer(
      (_, response) => response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` })),
      async (url) => {
        const token = await issuer.token({ iss: url });
        await expect(verify(token, registration(url))).rejects.toMatchObject({ code: 'issuer_unavailable' });
        expect(logged[0]).toContain(`is the document of the issuer "${issuer.url}".`);
        expect(issuer.fetches()).toBe(0);
      },
    );
  });

  it('are not looked for where a redirect leads', async () => {
    await withServer(
      (_, response) =>
        response.writeHead(302, { location: `${issuer.url}/.well-known/openid-configuration` }).end(),
      async (url) => {
        await expect(verify(await issuer.token({ iss: url }), registration(url))).rejects.toMatchObject({
          code: 'issuer_unavailable',
        });
        expect(logged[0]).toContain('answers 302.');
      },
    );
  });

  it.each([
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    'http://issuer.example/keys',
    7,
    undefined,
  ])('are not fetched from %s, whatever the discovery document says', async (uri) => {
    await withServer(
      (request, response) =>
        response.end(JSON.stringify({ issuer: `http://${request.headers.host}`, jwks_uri: uri })),
      async (url) => {
        await expect(verify(await issuer.token({ iss: url }), registration(url))).rejects.toMatchObject({
          code: 'issuer_unavailable',
        });
        expect(logged[0]).toContain('which is no https URL.');
      },
    );
  });

  it('may be where the registration says, without discovery', async () => {
    const token = await issuer.token({ iss: 'kubernetes' });
    await verify(token, registration('kubernetes', { kind: 'uri', uri: `${issuer.url}/keys` }));
  });

  it('may be given, so that an issuer need not be reachable, and those of two clusters are never mixed up', async () => {
    const inline = (of: TestIssuer): KeySource => ({
      kind: 'inline',
      jwks: JSON.stringify({ keys: of.keys() }),
    });
    const other = await startIssuer();
    const name = 'https://kubernetes.default.svc.cluster.local';
    await verify(await issuer.token({ iss: name }), registration(name, inline(issuer)));
    await verify(await other.token({ iss: name }), registration(name, inline(other)));
    await expect(
      verify(await other.token({ iss: name }), registration(name, inline(issuer))),
    ).rejects.toMatchObject({
      code: 'invalid_token',
      cause: { message: "The token's signature is invalid." },
    });
    expect(issuer.fetches() + other.fetches()).toBe(0);
    await other.close();
  });
});

describe('Keys may be fetched', () => {
  it.each([
    ['https://issuer.example', false, true],
    ['https://oidc.eks.eu-west-1.amazonaws.com/id/ABC', false, true],
    ['http://issuer.example', true, false],
    ['http://127.0.0.1:9001/2018-06-01/runtime/invocation/next', false, false],
    ['https://localhost/', false, false],
    ['https://127.0.0.1/', false, false],
    ['http://127.0.0.1:8000', true, true],
    ['http://[::1]:8000', true, true],
    ['https://user@issuer.example', false, false],
    ['https://user:pass@issuer.example', false, false],
    ['ftp://issuer.example', true, false],
    ['issuer.example', true, false],
    ['', true, false],
  ])('from %s where loopback is %s: %s', (uri, loopback, may) => {
    expect(isFetchable(uri, loopback)).toBe(may);
  });
});
