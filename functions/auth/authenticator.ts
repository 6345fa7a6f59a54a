/** From the token of a request to who makes it. */
import { timingSafeEqual } from 'node:crypto';
import { ResourceMapError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import type { AttributeRegistrations, Registration, Role, StaticToken } from '../core/registration.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { attributesId, type RegistrationStore, registrationId } from '../storage/registrations.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { Caller } from './principal.ts';
import { TOKEN_PREFIX, tokenDigest } from './static-token.ts';
import { matchesAttribute } from './token-attributes.ts';
import { unverifiedToken } from './unverified-token.ts';
import { type ClaimedIdentity, claimedIdentity, verifyJwt } from './verify-jwt.ts';

/** For which a registration or token is not read again: one that is removed is good for as long. */
export const REGISTRATION_CACHE_MS = 30_000;
/** Ten pushes a second of as many clusters as a map has. */
const MAX_CACHED_REGISTRATIONS = 10_000;

type CachedRecord = Registration | AttributeRegistrations | StaticToken;

/** Of several registrations that a token meets, the one that allows most counts. */
const MOST_FIRST: readonly Role[] = ['admin', 'scheduler', 'viewer', 'monitor', 'agent'];

/** Digits that tell apart the people of one registration. */
const SUBJECT_DIGITS = 12;

export interface AuthenticatorOptions {
  readonly trust: RegistrationStore;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** SHA-256 in hex of the admin token that a deployment starts with. */
  readonly adminTokenSha256?: string;
  /** Whether issuers on this machine may be asked over plain http. */
  readonly loopbackIssuers: boolean;
}

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #keys: IssuerKeys;
  readonly #cache = new Map<string, { readonly record: CachedRecord; readonly untilMs: number }>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys(options);
  }

  /** @throws ResourceMapError `invalid_token`, `issuer_unavailable` */
  authenticate(token: string): Promise<Caller> {
    return token.startsWith(TOKEN_PREFIX) ? this.#byDigest(token) : this.#byIssuer(token);
  }

  /** Reads every grant again, for a process that has just changed one. */
  forget(): void {
    this.#cache.clear();
  }

  async #byDigest(token: string): Promise<Caller> {
    const digest = tokenDigest(token);
    if (this.#isFirstAdmin(digest)) return { kind: 'caller', id: 'deployment', rights: { role: 'admin' } };
    const record = await this.#cached(digest, () => this.#options.trust.token(digest));
    if (record?.kind !== 'token') {
      throw new ResourceMapError('invalid_token', 'The token is unknown or revoked.');
    }
    if (record.expiresAtS !== undefined && record.expiresAtS * 1_000 <= this.#options.now()) {
      const expired = new Date(record.expiresAtS * 1_000).toISOString();
      throw new ResourceMapError('invalid_token', `The token expired at ${expired}.`);
    }
    return { kind: 'caller', id: record.id, rights: record.rights };
  }

  #isFirstAdmin(digest: string): boolean {
    const first = this.#options.adminTokenSha256;
    return first !== undefined && timingSafeEqual(Buffer.from(digest, 'hex'), Buffer.from(first, 'hex'));
  }

  /**
   * The registration is looked up by what the token claims, and the token is then checked
   * against the registration: nothing is fetched from an issuer that nobody registered.
   * A registration of the subject itself counts before those by an attribute, so that one person
   * can be allowed more, or less, than their groups.
   */
  async #byIssuer(token: string): Promise<Caller> {
    const claimed = claimedIdentity(token);
    const { issuer, audiences, subject } = claimed;
    for (const audience of audiences) {
      const id = registrationId(issuer, audience, { kind: 'subject', subject });
      const record = await this.#cached(id, () =>
        this.#options.trust.registration(issuer, audience, subject),
      );
      if (record?.kind !== 'registration') continue;
      await verifyJwt(token, { ...record, subject }, this.#keys, new Date(this.#options.now()));
      return { kind: 'caller', id: record.id, owner: `${issuer} ${subject}`, rights: record.rights };
    }
    const byAttribute = await this.#byAttribute(token, claimed);
    if (byAttribute !== undefined) return byAttribute;
    throw unverifiedToken(
      `No registration is for the issuer ${quote(issuer)}, the audience ${audiences.map(quote).join(' or ')} and the subject ${quote(subject)}.`,
    );
  }

  /**
   * By what the token says of its subject, once its signature is checked. How much it says costs
   * nothing: all registrations of an issuer and audience are one look-up.
   *
   * @returns nothing if no registration by an attribute is for the issuer and audience
   */
  async #byAttribute(
    token: string,
    { issuer, audiences, subject }: ClaimedIdentity,
  ): Promise<Caller | undefined> {
    let genuine = false;
    for (const audience of audiences) {
      const record = await this.#cached(attributesId(issuer, audience), () =>
        this.#options.trust.attributes(issuer, audience),
      );
      if (record?.kind !== 'attributes') continue;
      const { keys, registrations } = record;
      const now = new Date(this.#options.now());
      const claims = await verifyJwt(token, { issuer, audience, keys }, this.#keys, now);
      genuine = true;
      const met = registrations.filter(({ match }) => matchesAttribute(claims, match));
      const [most] = MOST_FIRST.flatMap((role) => met.filter(({ rights }) => rights.role === role));
      // Each person counts by themselves, in limits as in the log.
      const person = tokenDigest(subject).slice(0, SUBJECT_DIGITS);
      if (most !== undefined) {
        const owner = `${issuer} ${subject}`;
        return { kind: 'caller', id: `${most.id}/${person}`, owner, rights: most.rights };
      }
    }
    if (!genuine) return undefined;
    throw new ResourceMapError(
      'invalid_token',
      `The token is genuine, but no registration is for the subject ${quote(subject)}, nor for a group, role or e-mail domain that it names; an admin can add one (rmap trust add).`,
    );
  }

  async #cached(
    id: string,
    read: () => Promise<CachedRecord | undefined>,
  ): Promise<CachedRecord | undefined> {
    const now = this.#options.now();
    const known = this.#cache.get(id);
    if (known !== undefined && known.untilMs > now) return known.record;
    this.#cache.delete(id);
    const record = await read();
    if (record === undefined) return undefined;
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined && this.#cache.size >= MAX_CACHED_REGISTRATIONS) this.#cache.delete(oldest);
    this.#cache.set(id, { record, untilMs: now + REGISTRATION_CACHE_MS });
    return record;
  }
}
