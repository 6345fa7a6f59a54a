import { fromBinary } from '@bufbuild/protobuf';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RegistrationListSchema } from '../../../functions/gen/resourcemap/v1/access_pb.ts';
import { startService } from '../../../functions/local/service.ts';
import { type Answer, type GuardedService, startGuardedService } from '../../auth/guarded-service.ts';
import { AUDIENCE, SUBJECT, startIssuer } from '../../auth/issuer.ts';

let service: GuardedService;

beforeAll(async () => {
  service = await startGuardedService();
});
afterAll(() => service.close());

function admin(request: string, body?: unknown): Promise<Answer> {
  return service.call(request, { token: service.adminToken, ...(body === undefined ? {} : { body }) });
}

const REGISTRATION = {
  issuer: 'https://issuer.example',
  audience: 'resource-map',
  subject: 'system:serviceaccount:monitoring:agent',
  role: 'ROLE_AGENT',
  clusterId: 'c1',
  note: 'the cluster in Oslo',
};

describe('A registration', () => {
  it('is kept, listed, in both formats, and removed by the first digits of its id', async () => {
    const added = await admin('POST /v1/registrations', REGISTRATION);
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({ ...REGISTRATION, createdBy: 'deployment' });
    expect(added.body.id).toMatch(/^[0-9a-f]{64}$/);
    expect((await admin('GET /v1/registrations')).body.registrations).toEqual([added.body]);

    const binary = await fetch(`${service.url}/v1/registrations`, {
      headers: { authorization: `Bearer ${service.adminToken}`, accept: 'application/x-protobuf' },
    });
    const { registrations } = fromBinary(RegistrationListSchema, new Uint8Array(await binary.arrayBuffer()));
    expect(registrations.map((r) => r.subject)).toEqual([REGISTRATION.subject]);

    const id = (added.body.id as string).slice(0, 12);
    expect((await admin(`DELETE /v1/registrations/${id}`)).status).toBe(204);
    expect((await admin('GET /v1/registrations')).body.registrations).toEqual([]);
    const again = await admin(`DELETE /v1/registrations/${id}`);
    expect([again.status, again.body.detail]).toEqual([
      404,
      `There is no registration "${id}"; GET /v1/registrations lists them, and the first 12 digits of an id will do.`,
    ]);
  });

  it('is not overwritten by another one of the same identity', async () => {
    const first = await admin('POST /v1/registrations', { ...REGISTRATION, subject: 'twice' });
    const second = await admin('POST /v1/registrations', {
      ...REGISTRATION,
      subject: 'twice',
      role: 'ROLE_ADMIN',
      clusterId: '',
    });
    expect([second.status, second.body.code]).toEqual([409, 'grant_exists']);
    expect(second.body.detail).toBe(
      `This issuer, audience and subject are registered as ${(first.body.id as string).slice(0, 12)}; remove that one first.`,
    );
  });

  it('lets its identity in at once, and shuts it out at once when it is removed', async () => {
    const issuer = await startIssuer();
    const use = async (): Promise<unknown> =>
      (await service.call('GET /v1/clusters/c9', { token: await issuer.token() })).body.code;
    expect(await use()).toBe('invalid_token');
    const { body } = await admin('POST /v1/registrations', {
      issuer: issuer.url,
      audience: AUDIENCE,
      subject: SUBJECT,
      role: 'ROLE_AGENT',
      clusterId: 'c9',
    });
    expect(await use()).toBe('cluster_not_found');
    await admin(`DELETE /v1/registrations/${body.id}`);
    expect(await use()).toBe('invalid_token');
    await issuer.close();
  });

  it('may bring the keys of an issuer that cannot be reached', async () => {
    const issuer = await startIssuer('RS256');
    const registered = await admin('POST /v1/registrations', {
      ...REGISTRATION,
      issuer: 'https://kubernetes.default.svc',
      jwks: JSON.stringify({ keys: issuer.keys() }),
    });
    expect(registered.status).toBe(201);
    const token = await issuer.token({ iss: 'https://kubernetes.default.svc', sub: REGISTRATION.subject });
    expect((await service.call('GET /v1/clusters/c1', { token })).body.code).toBe('cluster_not_found');
    expect(issuer.fetches()).toBe(0);
    await issuer.close();
  });

  it('is refused with everything that is wrong with it', async () => {
    const { status, body } = await admin('POST /v1/registrations', {
      id: 'mine',
      issuer: 'http://issuer.example',
      audience: 'a\u0000b',
      subject: 's'.repeat(513),
      clusterId: '..',
      role: 'ROLE_AGENT',
      note: 'é'.repeat(101),
      createdBy: 'me',
    });
    expect([status, body.code]).toEqual([422, 'invalid_grant_request']);
    expect((body.findings as { message: string }[]).map((f) => f.message)).toEqual([
      'The audience is "a\\u0000b", with a control character; it can have none.',
      'The issuer is "http://issuer.example"; it must be an https URL without user name.',
      'The subject has 513 bytes; at most 512 are kept.',
      'The note has 202 bytes; at most 200 are kept.',
      'The id is set by the service; leave it out.',
      'The created by is set by the service; leave it out.',
      'The cluster id is "..", which the path of a URL cannot carry; choose another id.',
    ]);
  });

  it.each([
    [{}, 'The issuer is missing.'],
    [{ ...REGISTRATION, role: undefined }, 'The role is missing.'],
    [{ ...REGISTRATION, role: 7 }, 'The role is 7, which is none that is known.'],
    [{ ...REGISTRATION, clusterId: '' }, 'The cluster id is missing; an agent is that of one cluster.'],
    [
      { ...REGISTRATION, role: 'ROLE_SCHEDULER' },
      'The cluster id is "c1", but only an agent is that of one cluster; leave it out.',
    ],
    [{ ...REGISTRATION, jwks: 'x' }, 'The jwks is no JSON; it must be a JWK Set, such as {"keys":[…]}.'],
    [
      { ...REGISTRATION, jwks: '{"keys":[]}' },
      'The jwks has no keys; it must be a JWK Set, such as {"keys":[…]}.',
    ],
    [
      { ...REGISTRATION, jwks: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}' },
      'The jwks has a key 0 that is secret; give public keys only.',
    ],
    [
      { ...REGISTRATION, jwks: '{"keys":[{"kty":"RSA"}]}' },
      'The jwks has a key 0 that is of the type "RSA" and no public key.',
    ],
    [
      { ...REGISTRATION, jwks: '{"keys":[{}]}', jwksUri: 'https://a.example/keys' },
      'The jwks uri is given together with jwks; give one of them.',
    ],
  ])('is refused as %j', async (request, message) => {
    const { status, body } = await admin('POST /v1/registrations', request);
    expect([status, body.code]).toEqual([422, 'invalid_grant_request']);
    expect((body.findings as { message: string }[]).map((f) => f.message)).toContain(message);
  });

  it('is refused with a private key or one that is too short', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const whole = await admin('POST /v1/registrations', {
      ...REGISTRATION,
      jwks: JSON.stringify({ keys: [await exportJWK(privateKey)] }),
    });
    expect(whole.body.detail).toBe(
      'The registration cannot be made: The jwks has a key 0 that is secret; give public keys only.',
    );
    const { generateKeyPairSync } = await import('node:crypto');
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const short = await admin('POST /v1/registrations', {
      ...REGISTRATION,
      jwks: JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }),
    });
    expect(short.body.detail).toBe(
      'The registration cannot be made: The jwks has a key 0 that is an RSA key of 1024 bits; at least 2048 are taken.',
    );
  });
});

describe('A token', () => {
  it('is shown once, and its digest is what is kept', async () => {
    const issued = await admin('POST /v1/tokens', { role: 'ROLE_SCHEDULER', note: 'koi' });
    expect(issued.status).toBe(201);
    expect(issued.headers.get('cache-control')).toBe('no-store');
    expect(issued.body.secret).toMatch(/^rmap_[A-Za-z0-9_-]{43}$/);
    const listed = await admin('GET /v1/tokens');
    expect(JSON.stringify(listed.body)).not.toContain(issued.body.secret);
    const own = (listed.body.tokens as { note: string }[]).find((t) => t.note === 'koi');
    expect(own).toEqual(issued.body.token);
    expect(own).toMatchObject({ role: 'ROLE_SCHEDULER', createdBy: 'deployment' });
  });

  it('works at once, and no longer once it is revoked', async () => {
    const { body } = await admin('POST /v1/tokens', { role: 'ROLE_SCHEDULER' });
    const use = async (): Promise<unknown> =>
      (await service.call('GET /v1/map/clock', { token: body.secret as string })).status;
    expect(await use()).toBe(200);
    const { id } = body.token as { id: string };
    expect((await admin(`DELETE /v1/tokens/${id.slice(0, 12)}`)).status).toBe(204);
    expect(await use()).toBe(401);
  });

  it('expires', async () => {
    const { body } = await admin('POST /v1/tokens', { role: 'ROLE_SCHEDULER', lifetime: '60s' });
    const { createdAt, expiresAt } = body.token as { createdAt: string; expiresAt: string };
    const seconds = (Date.parse(expiresAt) - Date.parse(createdAt)) / 1_000;
    expect(seconds).toBeGreaterThan(58);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  it.each([
    [{ lifetime: '59s' }, 'The lifetime is 59 s; it can be from 60 to 315360000.'],
    [{ lifetime: '-60s' }, 'The lifetime is -60 s; it can be from 60 to 315360000.'],
    [{ lifetime: '315360001s' }, 'The lifetime is 315360001 s; it can be from 60 to 315360000.'],
  ])('is refused with %j', async (request, message) => {
    const { status, body } = await admin('POST /v1/tokens', { role: 'ROLE_ADMIN', ...request });
    expect([status, body.detail]).toEqual([422, `The token cannot be made: ${message}`]);
  });

  it.each(['0123456789a', 'ABCDEF012345', '', 'zzzzzzzzzzzz', '%2e%2e', `${'0'.repeat(65)}`])(
    'is not removed by the id %j',
    async (id) => {
      const { status } = await admin(`DELETE /v1/tokens/${id}`);
      expect(status).toBe(404);
    },
  );

  it('tells in its record who issued it', async () => {
    const second = await service.issue('ADMIN');
    const { body } = await service.call('POST /v1/tokens', { token: second, body: { role: 'ROLE_ADMIN' } });
    const { tokens } = (await admin('GET /v1/tokens')).body as { tokens: { id: string }[] };
    expect(tokens.map((t) => t.id)).toContain((body.token as { createdBy: string }).createdBy);
  });
});

describe('The local service that asks for tokens', () => {
  it('makes a first admin once, and none where there is one', async () => {
    const options = { engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' } as const;
    const fresh = await startService({ ...options, access: { kind: 'tokens' } });
    const response = await fetch(`${fresh.url}/v1/tokens`, {
      headers: { authorization: `Bearer ${fresh.firstAdminToken}` },
    });
    expect(response.status).toBe(200);
    await fresh.close();
    const open = await startService(options);
    expect(open.firstAdminToken).toBeUndefined();
    expect((await fetch(`${open.url}/v1/map`)).status).toBe(200);
    await open.close();
  });
});
