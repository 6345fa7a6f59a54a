import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type GuardedService, startGuardedService } from './guarded-service.ts';
import { AUDIENCE, type Claims, startIssuer, type TestIssuer } from './issuer.ts';
import { UNVERIFIED } from './unverified.ts';

let service: GuardedService;
let issuer: TestIssuer;

beforeAll(async () => {
  service = await startGuardedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  issuer = await startIssuer('ES256');
  return () => issuer.close();
});

async function register(fields: Record<string, unknown>): Promise<Answer> {
  return service.call('POST /v1/registrations', {
    token: service.adminToken,
    body: { issuer: issuer.url, audience: AUDIENCE, role: 'ROLE_VIEWER', ...fields },
  });
}

async function registered(fields: Record<string, unknown>): Promise<string> {
  const { status, body } = await register(fields);
  expect([status, body.detail]).toEqual([201, undefined]);
  return body.id as string;
}

const OPS = { claim: 'groups', claimValue: 'ops' };

function use(token: string, request = 'GET /v1/map'): Promise<Answer> {
  return service.call(request, { token, headers: { accept: 'application/json' } });
}

async function statusOf(claims: Claims, request?: string): Promise<number> {
  return (await use(await issuer.token({ sub: 'ada', ...claims }), request)).status;
}

describe('A registration by an attribute', () => {
  it('lets in whoever has it, under whatever subject, and nobody else', async () => {
    await registered(OPS);
    for (const sub of ['ada', 'grace'])
      expect(await statusOf({ sub, more: { groups: ['dev', 'ops'] } })).toBe(200);
    for (const groups of [undefined, [], ['devops'], 'dev ops', { ops: true }]) {
      expect(await statusOf({ more: { groups } })).toBe(401);
    }
  });

  it('by e-mail domain asks for an address that the provider verified', async () => {
    await registered({ emailDomain: 'corp.com' });
    expect(await statusOf({ more: { email: 'ada@corp.com', email_verified: true } })).toBe(200);
    expect(await statusOf({ more: { email: 'ada@corp.com', email_verified: 'true' } })).toBe(401);
    expect(await statusOf({ more: { email: 'ada@corp.com' } })).toBe(401);
    expect(await statusOf({ more: { email: 'ada@corp.com@evil.com', email_verified: true } })).toBe(401);
  });

  it('gives a viewer reads, and no write', async () => {
    await registered(OPS);
    const more = { groups: ['ops'] };
    expect(await statusOf({ more }, 'GET /v1/capacity')).toBe(200);
    expect(await statusOf({ more }, 'DELETE /v1/clusters/c1')).toBe(403);
    expect(await statusOf({ more }, 'PUT /v1/clusters/c1/snapshot')).toBe(403);
    expect(await statusOf({ more }, 'PUT /v1/pools/p')).toBe(403);
    expect(await statusOf({ more }, 'POST /v1/tokens')).toBe(403);
  });

  it('counts for tokens that were issued within a day, and say when', async () => {
    await registered(OPS);
    const more = { groups: ['ops'] };
    const day = 24 * 60 * 60;
    expect(await statusOf({ more, issuedIn: -day + 60, expiresIn: 2 * day, notBeforeIn: -day })).toBe(200);
    const old = await use(
      await issuer.token({ more, issuedIn: -day - 60, expiresIn: 2 * day, notBeforeIn: -2 * day }),
    );
    expect(old.status).toBe(401);
    expect(old.body.detail).toMatch(
      /^The token was issued at .*Z, and its attributes count for 24 hours; the clock of this service says .*Z\.$/,
    );
  });

  it('is nothing to a token of another issuer, another audience or without a good signature', async () => {
    await registered(OPS);
    const more = { groups: ['ops'] };
    const other = await startIssuer('ES256');
    try {
      expect((await use(await other.token({ more }))).status).toBe(401);
      const forged = await use(await other.token({ more, iss: issuer.url }));
      expect([forged.status, forged.body.detail]).toEqual([401, UNVERIFIED]);
      expect(other.fetches()).toBe(0);
    } finally {
      await other.close();
    }
    expect(await statusOf({ more, aud: 'another-client' })).toBe(401);
    const [head, , signature] = (await issuer.token({ sub: 'ada' })).split('.');
    const claims = {
      iss: issuer.url,
      aud: AUDIENCE,
      sub: 'ada',
      groups: ['ops'],
      exp: 9_999_999_999,
      iat: 1,
    };
    const body = Buffer.from(JSON.stringify(claims)).toString('base64url');
    expect((await use(`${head}.${body}.${signature}`)).body.detail).toBe(UNVERIFIED);
  });

  it('costs one look-up, however many groups a token lists', async () => {
    await registered(OPS);
    const groups = Array.from({ length: 250 }, (_, i) => `group-${i}`);
    expect(await statusOf({ more: { groups } })).toBe(401);
    expect(await statusOf({ more: { groups: [...groups, 'ops'] } })).toBe(200);
  });

  it('of several gives the role that allows most', async () => {
    await registered({ ...OPS, role: 'ROLE_MONITOR' });
    await registered({ claim: 'roles', claimValue: 'platform', role: 'ROLE_ADMIN' });
    expect(await statusOf({ more: { groups: ['ops'], roles: ['platform'] } }, 'GET /v1/tokens')).toBe(200);
    expect(await statusOf({ more: { groups: ['ops'] } }, 'GET /v1/tokens')).toBe(403);
  });

  it('gives way to one of the subject itself, be it for more or for less', async () => {
    await registered({ ...OPS, role: 'ROLE_ADMIN' });
    await registered({ subject: 'eve', role: 'ROLE_MONITOR' });
    expect(await statusOf({ sub: 'eve', more: { groups: ['ops'] } }, 'GET /v1/tokens')).toBe(403);
    expect(await statusOf({ sub: 'ada', more: { groups: ['ops'] } }, 'GET /v1/tokens')).toBe(200);
  });

  it('names in the record who did something, and not the group alone', async () => {
    const id = await registered({ ...OPS, role: 'ROLE_ADMIN' });
    const made = await Promise.all(
      ['ada', 'grace'].map(async (sub) => {
        const token = await issuer.token({ sub, more: { groups: ['ops'] } });
        const { body } = await service.call('POST /v1/tokens', { token, body: { role: 'ROLE_VIEWER' } });
        return (body.token as { createdBy: string }).createdBy;
      }),
    );
    for (const by of made) expect(by).toMatch(new RegExp(`^${id}/[0-9a-f]{12}$`));
    expect(new Set(made).size).toBe(2);
  });

  it('is listed with the others, and removed by its id, after which its tokens are refused', async () => {
    const ops = await registered(OPS);
    const domain = await registered({ emailDomain: 'corp.com' });
    const more = { groups: ['ops'], email: 'a@corp.com', email_verified: true };
    expect(await statusOf({ more })).toBe(200);

    const { body } = await service.call('GET /v1/registrations', { token: service.adminToken });
    const listed = body.registrations as readonly Record<string, unknown>[];
    expect(listed.find(({ id }) => id === ops)).toMatchObject({
      subject: '',
      claim: 'groups',
      claimValue: 'ops',
    });
    expect(listed.find(({ id }) => id === domain)).toMatchObject({
      emailDomain: 'corp.com',
      role: 'ROLE_VIEWER',
    });

    for (const id of [ops.slice(0, 12), domain]) {
      const { status } = await service.call(`DELETE /v1/registrations/${id}`, { token: service.adminToken });
      expect(status).toBe(204);
    }
    const { status, body: problem } = await use(await issuer.token({ sub: 'ada', more }));
    expect([status, problem.detail]).toEqual([401, UNVERIFIED]);
    expect(await registered(OPS)).toBe(ops);
  });

  it('is kept when several admins add to one issuer at the same moment', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const added = await Promise.all(names.map((claimValue) => register({ claim: 'groups', claimValue })));
    expect(added.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    for (const name of names) expect(await statusOf({ more: { groups: [name] } })).toBe(200);
  });
});

describe('A registration by an attribute is refused', () => {
  const detail = async (fields: Record<string, unknown>): Promise<unknown> => {
    const { status, body } = await register(fields);
    return [status, body.detail];
  };

  it('for an agent: many people must not speak for one cluster', async () => {
    expect(await detail({ ...OPS, role: 'ROLE_AGENT', clusterId: 'c1' })).toEqual([
      422,
      'The registration cannot be made: The role is agent, which is for one subject; give the subject of the agent.',
    ]);
  });

  it('for an admin by e-mail domain', async () => {
    expect(await detail({ emailDomain: 'corp.com', role: 'ROLE_ADMIN' })).toEqual([
      422,
      'The registration cannot be made: The role is admin, which is not for everybody with an address in a domain; give a claim or a subject.',
    ]);
  });

  it.each([
    [
      { claim: 'name', claimValue: 'Ada' },
      /^.*The claim is "name", which does not say what somebody may do;/,
    ],
    [{ claim: 'email', claimValue: 'ada@corp.com' }, /register an email_domain, or the subject\.$/],
    [{ claim: 'groups' }, /The claim value is missing\.$/],
    [{ claimValue: 'ops' }, /The claim is missing; claim_value needs it\.$/],
    [
      { ...OPS, subject: 'ada' },
      /The subject is one of several; give one of subject, claim and email_domain\.$/,
    ],
    [
      { emailDomain: 'Corp.com' },
      /The email domain is "Corp\.com"; it must be a whole domain in lower case, such as example\.com\.$/,
    ],
    [{ emailDomain: '*.corp.com' }, /it must be a whole domain in lower case/],
    [{ claim: 'groups', claimValue: 'a\u0000b' }, /with a control character; it can have none\.$/],
    [{}, /The subject is missing\.$/],
  ])('as %j', async (fields, expected) => {
    const { status, body } = await register(fields);
    expect([status, body.code]).toEqual([422, 'invalid_grant_request']);
    expect(body.detail).toMatch(expected);
  });

  it('twice, or with other keys than the issuer’s others have', async () => {
    const id = await registered(OPS);
    expect(await detail(OPS)).toEqual([
      409,
      `This issuer, audience and claim are registered as ${id.slice(0, 12)}; remove that one first.`,
    ]);
    expect(await detail({ claim: 'groups', claimValue: 'b', jwksUri: `${issuer.url}/keys` })).toEqual([
      409,
      'Other registrations by an attribute of this issuer and audience have other keys; give the same jwks or jwks_uri, or remove those first.',
    ]);
  });
});
