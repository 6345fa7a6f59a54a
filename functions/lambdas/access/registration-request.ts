/** From what an admin asks for to what is kept, or to everything that is wrong with it. */

import { isFetchable } from '../../auth/issuer-keys.ts';
import { jwksFault } from '../../auth/jwks-fault.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { FindingCollector } from '../../core/findings.ts';
import { quote } from '../../core/quote.ts';
import type { KeySource, Registration, Rights, StaticToken } from '../../core/registration.ts';
import { clusterIdFault } from '../../core/snapshot/rules/ids.ts';
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
/** Ten years: whoever wants more wants a token that does not expire. */
const MAX_LIFETIME_S = 10n * 365n * 86_400n;

const INVALID_VALUE = { code: 'invalid_value', severity: 'reject' } as const;
const MISSING = { code: 'missing_value', severity: 'reject' } as const;

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
  for (const name of ['issuer', 'audience', 'subject'] as const) faults.claim(name, request[name]);
  faults.note(request.note);
  for (const name of ['id', 'createdBy'] as const) {
    if (request[name] !== '')
      faults.add(name === 'id' ? 'id' : 'created_by', 'is set by the service; leave it out');
  }
  if (request.createdAt !== undefined) faults.add('created_at', 'is set by the service; leave it out');
  const rights = faults.rights(request.role, request.clusterId);
  const keys = keySourceOf(request, faults, loopbackIssuers);
  return {
    kind: 'registration',
    id: registrationId(request.issuer, request.audience, request.subject),
    issuer: request.issuer,
    audience: request.audience,
    subject: request.subject,
    keys,
    note: request.note,
    createdAtMs: nowMs,
    createdBy: by,
    rights: faults.none(rights),
  };
}

function keySourceOf(
  { issuer, jwksUri, jwks }: RegistrationMessage,
  faults: Faults,
  loopback: boolean,
): KeySource {
  if (jwks !== '') {
    if (jwksUri !== '') faults.add('jwks_uri', 'is given together with jwks; give one of them');
    const fault =
      Buffer.byteLength(jwks) > MAX_JWKS_BYTES
        ? `has ${Buffer.byteLength(jwks)} bytes; at most ${MAX_JWKS_BYTES} are kept`
        : jwksFault(jwks);
    if (fault !== undefined) faults.add('jwks', fault);
    return { kind: 'inline', jwks };
  }
  const [path, uri] = jwksUri === '' ? (['issuer', issuer] as const) : (['jwks_uri', jwksUri] as const);
  if (uri !== '' && !isFetchable(uri, loopback)) {
    faults.add(
      path,
      `is ${quote(uri)}, from which no keys can be fetched; it must be an https URL without user name` +
        (path === 'issuer' ? ', or the keys be given as jwks or jwks_uri' : ''),
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
      const fault = clusterIdFault(clusterId);
      if (clusterId === '') this.add('cluster_id', 'is missing; an agent is that of one cluster');
      else if (fault !== undefined) this.add('cluster_id', fault);
      return { role: 'agent', clusterId };
    }
    if (role !== Role.SCHEDULER && role !== Role.ADMIN) {
      this.add('role', role === Role.UNSPECIFIED ? 'is missing' : `is ${role}, which is none that is known`);
      return undefined;
    }
    if (clusterId !== '') {
      this.add(
        'cluster_id',
        `is ${quote(clusterId)}, but only an agent is that of one cluster; leave it out`,
      );
    }
    return { role: role === Role.ADMIN ? 'admin' : 'scheduler' };
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
