/** From the token of a request to who makes it. */
import { timingSafeEqual } from 'node:crypto';
import { ResourceMapError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import type { Registration, StaticToken } from '../core/registration.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { type RegistrationStore, registrationId } from '../storage/registrations.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { Caller } from './principal.ts';
import { TOKEN_PREFIX, tokenDigest } from './static-token.ts';
import { claimedIdentity, verifyJwt } from './verify-jwt.ts';

/** For which a registration or token is not read again: one that is removed is good for as long. */
export const REGISTRATION_CACHE_MS = 30_000;
/** Ten pushes a second of as many clusters as a map has. */
const MAX_CACHED_REGISTRATIONS = 10_000;

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
  readonly #cache = new Map<
    string,
    { readonly record: Registration | StaticToken; readonly untilMs: number }
  >();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys(options);
  }

  /** @throws ResourceMapError `invalid_token`, `issuer_unavailable` */
  authenticate(token: string): Promise<Caller> {
    return token.startsWith(TOKEN_PREFIX) ? this.#byDigest(token) : this.#byIssuer(token);
  }

  /** Reads every grant anew, for a process that has just changed one. */
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
   */
  async #byIssuer(token: string): Promise<Caller> {
    const { issuer, audiences, subject } = claimedIdentity(token);
    for (const audience of audiences) {
      const id = registrationId(issuer, audience, subject);
      const record = await this.#cached(id, () =>
        this.#options.trust.registration(issuer, audience, subject),
      );
      if (record?.kind !== 'registration') continue;
      await verifyJwt(token, record, this.#keys, new Date(this.#options.now()));
      return { kind: 'caller', id: record.id, rights: record.rights };
    }
    throw new ResourceMapError(
      'invalid_token',
      `No registration is for the issuer ${quote(issuer)}, the audience ${audiences.map(quote).join(' or ')} and the subject ${quote(subject)}; ` +
        'an admin can add one (rmap trust add).',
    );
  }

  async #cached(
    id: string,
    read: () => Promise<Registration | StaticToken | undefined>,
  ): Promise<Registration | StaticToken | undefined> {
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
