/** From what an admin asks for to what is kept, or to everything that is wrong with it. */

import { isFetchable } from '../../auth/issuer-keys.ts';
import { jwksFault } from '../../auth/jwks-fault.ts';
import { claimFault, isDomain } from '../../auth/token-attributes.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { FindingCollector } from '../../core/findings.ts';
import { quote } from '../../core/quote.ts';
import type { KeySource, Registration, Rights, StaticToken, TokenMatch } from '../../core/registration.ts';
import { pushedClusterIdFault } from '../../core/snapshot/rules/ids.ts';
import {
  type IssueTokenRequest,
  type Registration as RegistrationMessage,
  Role,
} from '../../gen/resourcemap/v1/access_pb.ts';
import { registrationId } from '../../storage/registrations.ts';

/** Names and subjects of identity providers are far shorter. */
const MAX_CLAIM_BYTES = 512;
/** A sentence. */
const MAX_NOTE_BYTES = 200;
/** Some twenty keys; a DynamoDB item ends at 400 KB. */
const MAX_JWKS_BYTES = 32 * 1024;
/** A token of less is gone before it is copied to where it is used. */
const MIN_LIFETIME_S = 60n;
/** Ten years: to want more is to want a token that does not expire. */
const MAX_LIFETIME_S = 10n * 365n * 86_400n;

const INVALID_VALUE = { code: 'invalid_value', severity: 'reject' } as const;
const MISSING = { code: 'missing_value', severity: 'reject' } as const;

/** Roles that are not those of one cluster. */
const ROLE_NAMES = new Map<Role, Exclude<Rights['role'], 'agent'>>([
  [Role.SCHEDULER, 'scheduler'],
  [Role.VIEWER, 'viewer'],
  [Role.MONITOR, 'monitor'],
  [Role.ADMIN, 'admin'],
]);

/** Who asks, and when. */
export interface Asked {
  /** Id of the grant by which they ask. */
  readonly by: string;
  readonly nowMs: number;
}

/**
 * @param loopbackIssuers whether an issuer may be on this machine, over plain http
 * @throws ResourceMapError `invalid_grant_request` with every fault
 */
export function registrationOf(
  request: RegistrationMessage,
  { by, nowMs }: Asked,
  loopbackIssuers: boolean,
): Registration {
  const faults = new Faults('registration');
  for (const name of ['issuer', 'audience'] as const) faults.claim(name, request[name]);
  // Also where the keys are given: a name that is no URL could be that of any issuer, and OpenID Connect has URLs.
  if (request.issuer !== '' && !isFetchable(request.issuer, loopbackIssuers))
    faults.add('issuer', `is ${quote(request.issuer)}; it must be an https URL without user name`);
  const match = matchOf(request, faults);
  faults.note(request.note);
  for (const name of ['id', 'createdBy'] as const) {
    if (request[name] !== '')
      faults.add(name === 'id' ? 'id' : 'created_by', 'is set by the service; leave it out');
  }
  if (request.createdAt !== undefined) faults.add('created_at', 'is set by the service; leave it out');
  const rights = faults.rights(request.role, request.clusterId);
  checkReach(match, request.role, faults);
  const keys = keySourceOf(request, faults, loopbackIssuers);
  return {
    kind: 'registration',
    id: registrationId(request.issuer, request.audience, match),
    issuer: request.issuer,
    audience: request.audience,
    match,
    keys,
    note: request.note,
    createdAtMs: nowMs,
    createdBy: by,
    rights: faults.none(rights),
  };
}

/** Whose tokens it is for: a subject, unless an attribute is given instead. */
function matchOf(request: RegistrationMessage, faults: Faults): TokenMatch {
  const { subject, claim, claimValue, emailDomain } = request;
  const given = (['subject', 'claim', 'emailDomain'] as const).filter((name) => request[name] !== '');
  if (given.length > 1)
    faults.add('subject', 'is one of several; give one of subject, claim and email_domain');
  if (claimValue !== '' && claim === '') faults.add('claim', 'is missing; claim_value needs it');
  if (claim !== '') {
    faults.claim('claim', claim);
    faults.claim('claim_value', claimValue);
    const fault = claimFault(claim);
    if (fault !== undefined) faults.add('claim', fault);
    return { kind: 'claim', claim, value: claimValue };
  }
  if (emailDomain !== '') {
    if (!isDomain(emailDomain)) {
      faults.add(
        'email_domain',
        `is ${quote(emailDomain)}; it must be a whole domain in lower case, such as example.com`,
      );
    }
    return { kind: 'email_domain', domain: emailDomain };
  }
  if (claimValue === '') faults.claim('subject', subject);
  return { kind: 'subject', subject };
}

/** What is shared by many people must not let any of them speak for a cluster, nor a whole company be admin. */
function checkReach({ kind }: TokenMatch, role: Role, faults: Faults): void {
  if (kind !== 'subject' && role === Role.AGENT) {
    faults.add('role', 'is agent, which is for one subject; give the subject of the agent');
  }
  if (kind === 'email_domain' && role === Role.ADMIN) {
    faults.add(
      'role',
      'is admin, which is not for everybody with an address in a domain; give a claim or a subject',
    );
  }
}

function keySourceOf({ jwksUri, jwks }: RegistrationMessage, faults: Faults, loopback: boolean): KeySource {
  if (jwks !== '') {
    if (jwksUri !== '') faults.add('jwks_uri', 'is given together with jwks; give one of them');
    const fault =
      Buffer.byteLength(jwks) > MAX_JWKS_BYTES
        ? `has ${Buffer.byteLength(jwks)} bytes; at most ${MAX_JWKS_BYTES} are kept`
        : jwksFault(jwks);
    if (fault !== undefined) faults.add('jwks', fault);
    return { kind: 'inline', jwks };
  }
  if (jwksUri !== '' && !isFetchable(jwksUri, loopback)) {
    faults.add(
      'jwks_uri',
      `is ${quote(jwksUri)}, from which no keys can be fetched; it must be an https URL without user name`,
    );
  }
  return jwksUri === '' ? { kind: 'discovery' } : { kind: 'uri', uri: jwksUri };
}

/** @param digest of the token @throws ResourceMapError `invalid_grant_request` with every fault */
export function tokenOf(request: IssueTokenRequest, { by, nowMs }: Asked, digest: string): StaticToken {
  const faults = new Faults('token');
  faults.note(request.note);
  const rights = faults.rights(request.role, request.clusterId);
  const seconds = request.lifetime?.seconds;
  if (seconds !== undefined && (seconds < MIN_LIFETIME_S || seconds > MAX_LIFETIME_S)) {
    faults.add('lifetime', `is ${seconds} s; it can be from ${MIN_LIFETIME_S} to ${MAX_LIFETIME_S}`);
  }
  return {
    kind: 'token',
    id: digest,
    note: request.note,
    createdAtMs: nowMs,
    createdBy: by,
    ...(seconds === undefined ? {} : { expiresAtS: Math.floor(nowMs / 1_000) + Number(seconds) }),
    rights: faults.none(rights),
  };
}

/** Gathers what is wrong with a request. */
class Faults {
  readonly #found = new FindingCollector();

  constructor(private readonly what: string) {}

  add(path: string, fault: string): void {
    this.#found.report(
      fault.startsWith('is missing') ? MISSING : INVALID_VALUE,
      () => path,
      () => `The ${path.replaceAll('_', ' ')} ${fault}.`,
    );
  }

  claim(path: string, value: string): void {
    if (value === '') this.add(path, 'is missing');
    else this.#text(path, value, MAX_CLAIM_BYTES);
  }

  note(value: string): void {
    this.#text('note', value, MAX_NOTE_BYTES);
  }

  rights(role: Role, clusterId: string): Rights | undefined {
    if (role === Role.AGENT) {
      const fault = pushedClusterIdFault(clusterId);
      if (clusterId === '') this.add('cluster_id', 'is missing; an agent is that of one cluster');
      else if (fault !== undefined) this.add('cluster_id', fault);
      return { role: 'agent', clusterId };
    }
    const name = ROLE_NAMES.get(role);
    if (name === undefined) {
      this.add('role', role === Role.UNSPECIFIED ? 'is missing' : `is ${role}, which is none that is known`);
      return undefined;
    }
    if (clusterId !== '') {
      this.add(
        'cluster_id',
        `is ${quote(clusterId)}, but only an agent is that of one cluster; leave it out`,
      );
    }
    return { role: name };
  }

  /** Gives the rights if nothing is wrong. @throws ResourceMapError `invalid_grant_request` */
  none(rights: Rights | undefined): Rights {
    const { findings, rejects, omitted } = this.#found.result();
    if (rights !== undefined && rejects === 0) return rights;
    throw new ResourceMapError(
      'invalid_grant_request',
      `The ${this.what} cannot be made: ${findings.map((f) => f.message).join(' ')}`,
      { findings, ...(omitted > 0 ? { omittedFindings: omitted } : {}) },
    );
  }

  #text(path: string, value: string, maxBytes: number): void {
    if (Buffer.byteLength(value) > maxBytes) {
      this.add(path, `has ${Buffer.byteLength(value)} bytes; at most ${maxBytes} are kept`);
    } else if (/\p{Cc}/u.test(value)) {
      this.add(path, `is ${quote(value)}, with a control character; it can have none`);
    }
  }
}
