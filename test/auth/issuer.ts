/** An OIDC issuer as a test runs it: discovery, keys, tokens, and whatever it may do wrong. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export interface Claims {
  readonly sub?: string;
  readonly aud?: string | readonly string[];
  readonly iss?: string;
  /** Seconds from now. */
  readonly expiresIn?: number;
  readonly notBeforeIn?: number;
  readonly issuedIn?: number;
  /** Whatever else the token says. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface TestIssuer {
  readonly url: string;
  /** Requests for keys so far. */
  readonly fetches: () => number;
  /** Published keys, the newest last. */
  readonly keys: () => readonly JWK[];
  /** Signs with the newest key unless told otherwise. */
  token(claims?: Claims, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** A new key to sign with; the old one stays published if `keepOld`. */
  rotate(options?: { keepOld: boolean }): Promise<void>;
  /** Answers these instead of the keys; nothing: the keys again. */
  answer(instead?: { status: number; body: string }): void;
  close(): Promise<void>;
}

export const AUDIENCE = 'resource-map';
export const SUBJECT = 'system:serviceaccount:monitoring:resource-map-agent';

/** @param algorithm of its keys */
export async function startIssuer(algorithm: 'RS256' | 'ES256' | 'EdDSA' = 'ES256'): Promise<TestIssuer> {
  let privateKey: CryptoKey;
  let kid = 0;
  let published: JWK[] = [];
  let instead: { status: number; body: string } | undefined;
  let fetches = 0;

  const rotate = async ({ keepOld } = { keepOld: true }): Promise<void> => {
    const pair = await generateKeyPair(algorithm, { extractable: true });
    privateKey = pair.privateKey;
    kid++;
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: `key-${kid}`, alg: algorithm, use: 'sig' };
    published = keepOld ? [...published, jwk] : [jwk];
  };
  await rotate();

  const server: Server = createServer((request, response) => {
    const json = (status: number, body: string): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    };
    if (request.url === '/.well-known/openid-configuration') {
      json(200, JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` }));
    } else if (request.url === '/keys') {
      fetches++;
      if (instead === undefined) json(200, JSON.stringify({ keys: published }));
      else json(instead.status, instead.body);
    } else json(404, '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    fetches: () => fetches,
    keys: () => published,
    rotate,
    token: (
      {
        sub = SUBJECT,
        aud = AUDIENCE,
        iss = url,
        expiresIn = 3_600,
        notBeforeIn = 0,
        issuedIn = 0,
        more = {},
      } = {},
      header = {},
    ) => {
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({ ...more })
        .setProtectedHeader({ alg: algorithm, kid: `key-${kid}`, ...header })
        .setIssuer(iss)
        .setSubject(sub)
        .setAudience(typeof aud === 'string' ? aud : [...aud])
        .setIssuedAt(now + issuedIn)
        .setNotBefore(now + notBeforeIn)
        .setExpirationTime(now + expiresIn)
        .sign(privateKey);
    },
    answer: (answer) => {
      instead = answer;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
