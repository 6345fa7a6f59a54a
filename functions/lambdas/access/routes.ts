/** What an admin may do: say who may use the service, and issue and revoke tokens. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Context } from 'hono';
import { newToken, tokenDigest } from '../../auth/static-token.ts';
import { type ErrorDetails, ResourceMapError } from '../../core/errors.ts';
import type { Registration, Rights, StaticToken } from '../../core/registration.ts';
import {
  IssuedTokenSchema,
  IssueTokenRequestSchema,
  RegistrationListSchema,
  type Registration as RegistrationMessage,
  RegistrationSchema,
  Role,
  TokenListSchema,
  type Token as TokenMessage,
  TokenSchema,
} from '../../gen/resourcemap/v1/access_pb.ts';
import type { App, AppEnv } from '../../http/app-env.ts';
import { responseFormat } from '../../http/media-type.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import { readMessage } from '../../http/read-message.ts';
import { respond } from '../../http/respond.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import {
  type Added,
  MAX_ATTRIBUTE_REGISTRATIONS,
  type RegistrationStore,
} from '../../storage/registrations.ts';
import { type Asked, registrationOf, tokenOf } from './registration-request.ts';

export interface AccessDeps {
  readonly trust: RegistrationStore;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether issuers may be on this machine, over plain http. */
  readonly loopbackIssuers: boolean;
  /** Told after each change. */
  readonly changed: () => void;
}

/** Hex digits that name a registration or token: as many as a list shows, and no two of a million begin alike. */
const REGISTRATION_ID = /^[0-9a-f]{12,64}$/;

export function accessRoutes(
  app: App,
  { trust, telemetry, now, loopbackIssuers, changed }: AccessDeps,
): void {
  const asked = (c: Context<AppEnv>): Asked => {
    const principal = c.get('principal');
    return { by: principal.kind === 'caller' ? principal.id : 'anyone', nowMs: now() };
  };
  /** Who changed what: the log is the only place that remembers it. */
  const record = (c: Context<AppEnv>, change: string, record: string): void => {
    changed();
    telemetry.warn(change, { record, by: asked(c).by });
  };
  const remove = async (c: Context<AppEnv>, kind: 'registration' | 'token'): Promise<Response> => {
    refuseUnknownParameters(c, []);
    const id = c.req.param('id') ?? '';
    const found = REGISTRATION_ID.test(id) ? await trust.remove(kind, id) : 0;
    if (found === 0) {
      throw new ResourceMapError(
        'grant_not_found',
        `There is no ${kind} ${JSON.stringify(id.slice(0, 64))}; GET /v1/${kind}s lists them, and the first 12 digits of an id will do.`,
        { field: kind, value: id.slice(0, 64) },
      );
    }
    if (found > 1) {
      throw new ResourceMapError(
        'grant_not_found',
        `The ids of ${found} ${kind}s begin with ${id}; give more digits.`,
      );
    }
    record(c, `${kind} removed`, id);
    return c.body(null, 204);
  };

  app.post('/v1/registrations', async (c) => {
    refuseUnknownParameters(c, []);
    responseFormat(c);
    const registration = registrationOf(await readMessage(c, RegistrationSchema), asked(c), loopbackIssuers);
    const added = await trust.register(registration);
    if (added !== 'added') throw refusalOf(added, registration);
    record(c, 'registration added', registration.id);
    return respond(c, RegistrationSchema, registrationMessage(registration), 201);
  });

  app.get('/v1/registrations', async (c) => {
    refuseUnknownParameters(c, []);
    const registrations = (await trust.list('registration')).map(registrationMessage);
    return respond(c, RegistrationListSchema, create(RegistrationListSchema, { registrations }));
  });

  app.delete('/v1/registrations/:id', (c) => remove(c, 'registration'));

  app.post('/v1/tokens', async (c) => {
    refuseUnknownParameters(c, []);
    responseFormat(c);
    const secret = newToken();
    const token = tokenOf(await readMessage(c, IssueTokenRequestSchema), asked(c), tokenDigest(secret));
    if (!(await trust.add(token))) throw new Error('A new token has the digest of another one.');
    record(c, 'token issued', token.id);
    const issued = create(IssuedTokenSchema, { token: tokenMessage(token), secret });
    const response = respond(c, IssuedTokenSchema, issued, 201);
    response.headers.set('cache-control', 'no-store');
    return response;
  });

  app.get('/v1/tokens', async (c) => {
    refuseUnknownParameters(c, []);
    const tokens = (await trust.list('token')).map(tokenMessage);
    return respond(c, TokenListSchema, create(TokenListSchema, { tokens }));
  });

  app.delete('/v1/tokens/:id', (c) => remove(c, 'token'));
}

function refusalOf(added: Exclude<Added, 'added'>, { id, match }: Registration): ResourceMapError {
  const refusal = (detail: string, details: ErrorDetails): ResourceMapError =>
    new ResourceMapError('grant_exists', detail, details);
  switch (added) {
    case 'exists':
      return refusal(
        `This issuer, audience and ${match.kind.replaceAll('_', ' ')} are registered as ${id.slice(0, 12)}; remove that one first.`,
        { field: match.kind, value: id.slice(0, 12) },
      );
    case 'other_keys':
      return refusal(
        'Other registrations by an attribute of this issuer and audience have other keys; give the same jwks or jwks_uri, or remove those first.',
        { field: 'jwks' },
      );
    case 'too_many':
      return refusal(
        `This issuer and audience have ${MAX_ATTRIBUTE_REGISTRATIONS} registrations by an attribute, which is the most that are kept; remove one first.`,
        { limit: MAX_ATTRIBUTE_REGISTRATIONS },
      );
  }
}

const ROLES = {
  agent: Role.AGENT,
  scheduler: Role.SCHEDULER,
  viewer: Role.VIEWER,
  monitor: Role.MONITOR,
  admin: Role.ADMIN,
} as const;

function rightsFields(rights: Rights): { role: Role; clusterId: string } {
  return { role: ROLES[rights.role], clusterId: rights.role === 'agent' ? rights.clusterId : '' };
}

function registrationMessage(registration: Registration): RegistrationMessage {
  const { id, issuer, audience, match, keys, note, createdAtMs, createdBy, rights } = registration;
  return create(RegistrationSchema, {
    id,
    issuer,
    audience,
    ...(match.kind === 'subject' ? { subject: match.subject } : {}),
    ...(match.kind === 'claim' ? { claim: match.claim, claimValue: match.value } : {}),
    ...(match.kind === 'email_domain' ? { emailDomain: match.domain } : {}),
    ...rightsFields(rights),
    jwksUri: keys.kind === 'uri' ? keys.uri : '',
    jwks: keys.kind === 'inline' ? keys.jwks : '',
    note,
    createdAt: timestampFromMs(createdAtMs),
    createdBy,
  });
}

function tokenMessage({ id, note, createdAtMs, createdBy, expiresAtS, rights }: StaticToken): TokenMessage {
  return create(TokenSchema, {
    id,
    ...rightsFields(rights),
    note,
    createdAt: timestampFromMs(createdAtMs),
    ...(expiresAtS === undefined ? {} : { expiresAt: timestampFromMs(expiresAtS * 1_000) }),
    createdBy,
  });
}
