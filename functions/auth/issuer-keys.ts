/**
 * The public keys of issuers: fetched from where discovery or the registration says,
 * cached, and fetched again for a key that is not known, which is how issuers rotate.
 *
 * An issuer that does not answer takes no cluster out of the map: keys that were fetched
 * stay in use for a day.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { ResourceMapError } from '../core/errors.ts';
import type { KeySource } from '../core/registration.ts';
import { MAX_ISSUER_RESPONSE_BYTES, RETRY_ISSUER_S } from '../http/limits.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

/** After which keys are fetched again: a key that an issuer withdraws is good for as long. */
const KEYS_FRESH_MS = 10 * 60_000;
/** For which keys that cannot be fetched again stay in use. */
const KEYS_STALE_MS = 24 * 60 * 60_000;
/** Between two fetches, whatever the tokens: anybody can write any key id into one. */
const COOLDOWN_MS = RETRY_ISSUER_S * 1_000;
/** That a fetch may take: a push waits for it. */
const FETCH_TIMEOUT_MS = 5_000;
/** Sources kept: each cluster of a large fleet with keys of its own. Beyond, the oldest is fetched again. */
const MAX_SOURCES = 5_000;

const DISCOVERY_PATH = '/.well-known/openid-configuration';

export interface IssuerKeysOptions {
  readonly telemetry: Telemetry;
  /** Whether issuers on this machine may be asked over plain http, as tests and trials do. */
  readonly loopbackIssuers: boolean;
}

/** Keys of all issuers that tokens came from. One a process. */
export class IssuerKeys {
  readonly #sources = new Map<string, JWTVerifyGetKey>();

  constructor(private readonly options: IssuerKeysOptions) {}

  /** What finds the key of a token. It throws ResourceMapError `issuer_unavailable` where there is none to look in. */
  of(issuer: string, source: KeySource): JWTVerifyGetKey {
    const name = JSON.stringify([issuer, source]);
    const known = this.#sources.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#sources.keys();
    if (oldest !== undefined && this.#sources.size >= MAX_SOURCES) this.#sources.delete(oldest);
    const keys = this.#open(issuer, source);
    this.#sources.set(name, keys);
    return keys;
  }

  #open(issuer: string, source: KeySource): JWTVerifyGetKey {
    if (source.kind === 'inline') return createLocalJWKSet(JSON.parse(source.jwks) as JSONWebKeySet);
    const remote = new RemoteKeys(issuer, source, this.options);
    return (header, token) => remote.find(header, token);
  }
}

class RemoteKeys {
  #keys: JWTVerifyGetKey | undefined;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(
    private readonly issuer: string,
    private readonly source: KeySource & { kind: 'discovery' | 'uri' },
    private readonly options: IssuerKeysOptions,
  ) {}

  async find(...token: Parameters<JWTVerifyGetKey>): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
    if (this.#ageMs() > KEYS_FRESH_MS) await this.#fetchAgain();
    try {
      return await this.#usable()(...token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await this.#fetchAgain();
    return this.#usable()(...token);
  }

  #usable(): JWTVerifyGetKey {
    if (this.#keys !== undefined && this.#ageMs() <= KEYS_STALE_MS) return this.#keys;
    throw new ResourceMapError(
      'issuer_unavailable',
      `The keys of the issuer ${JSON.stringify(this.issuer)} cannot be fetched at the moment, so its tokens cannot be checked.`,
      { retryAfterSeconds: RETRY_ISSUER_S },
    );
  }

  #ageMs(): number {
    return Date.now() - this.#fetchedAtMs;
  }

  /** At most one fetch at a time and one in a cooldown. One that fails leaves the keys as they are. */
  async #fetchAgain(): Promise<void> {
    if (this.#fetching === undefined) {
      if (Date.now() - this.#triedAtMs < COOLDOWN_MS) return;
      this.#triedAtMs = Date.now();
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = undefined;
      });
    }
    await this.#fetching;
  }

  async #fetch(): Promise<void> {
    try {
      // Discovered each time: where the keys are may change as the keys do.
      const uri =
        this.source.kind === 'uri'
          ? this.source.uri
          : await discover(this.issuer, this.options.loopbackIssuers);
      this.#keys = createLocalJWKSet((await fetchJson(uri)) as JSONWebKeySet);
      this.#fetchedAtMs = Date.now();
    } catch (cause) {
      this.options.telemetry.error('keys of an issuer cannot be fetched', { issuer: this.issuer, cause });
    }
  }
}

/** Where an issuer says that its keys are. Source: OpenID Connect Discovery 1.0, sections 4.1 and 4.3. */
async function discover(issuer: string, loopback: boolean): Promise<string> {
  const url = issuer.replace(/\/$/, '') + DISCOVERY_PATH;
  const document = (await fetchJson(url)) as { issuer?: unknown; jwks_uri?: unknown } | null;
  // One issuer must not speak for another.
  if (document?.issuer !== issuer) {
    throw new Error(`${url} is the document of the issuer ${JSON.stringify(document?.issuer)}.`);
  }
  if (typeof document.jwks_uri !== 'string' || !isFetchable(document.jwks_uri, loopback)) {
    throw new Error(`${url} has the jwks_uri ${JSON.stringify(document.jwks_uri)}, which is no https URL.`);
  }
  return document.jwks_uri;
}

/** Fetches JSON of bounded size: the operator of a registered issuer must not be able to fill our memory. */
async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    // A redirect could lead to where no https URL may.
    redirect: 'manual',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    headers: { accept: 'application/json, application/jwk-set+json' },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answers ${response.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ISSUER_RESPONSE_BYTES) {
      throw new Error(`${url} answers more than ${MAX_ISSUER_RESPONSE_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/**
 * Whether keys may be fetched from there. What an issuer says of itself must not lead to
 * what only this machine reaches: in a Lambda function that is the runtime's own API.
 *
 * @param loopback whether plain http to this machine will do
 */
export function isFetchable(uri: string, loopback: boolean): boolean {
  if (!URL.canParse(uri)) return false;
  const { protocol, hostname, username, password } = new URL(uri);
  if (username !== '' || password !== '') return false;
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  return isLoopback ? loopback : protocol === 'https:';
}
