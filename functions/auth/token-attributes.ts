/**
 * Whether what a token says of its subject is what a registration asks for. Pure: the token's
 * signature, issuer and audience have been checked before anything of this is looked at.
 */
import type { JWTPayload } from 'jose';
import type { AttributeMatch } from '../core/registration.ts';

/**
 * Claims that name or describe a person and that many providers let people write themselves, and
 * claims that are about the token: none of them says what somebody may do.
 *
 * Sources: OpenID Connect Core 1.0, sections 2 and 5.1; RFC 7519, section 4.1; RFC 9068, section 2.2.
 */
const REFUSED_CLAIMS: ReadonlySet<string> = new Set([
  ...[
    'iss',
    'sub',
    'aud',
    'exp',
    'nbf',
    'iat',
    'jti',
    'auth_time',
    'nonce',
    'azp',
    'at_hash',
    'c_hash',
    's_hash',
  ],
  ...[
    'sid',
    'client_id',
    'name',
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'preferred_username',
  ],
  ...[
    'profile',
    'picture',
    'website',
    'email',
    'email_verified',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
  ],
  ...['phone_number', 'phone_number_verified', 'address', 'updated_at', '_claim_names', '_claim_sources'],
]);

/** Says what is wrong with a claim's name, as the end of a sentence, or nothing. */
export function claimFault(claim: string): string | undefined {
  if (!REFUSED_CLAIMS.has(claim)) return undefined;
  const remedy =
    claim === 'sub'
      ? 'give it as subject'
      : claim === 'email'
        ? 'register an email_domain, or the subject'
        : 'name one that the provider alone decides, such as groups or roles';
  return `is "${claim}", which does not say what somebody may do; ${remedy}`;
}

/** A domain as DNS has it, in lower case: letters, digits and dashes, with a dot at least. */
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

export function isDomain(text: string): boolean {
  return DOMAIN.test(text);
}

/** Whether a checked token's claims are what is asked for. */
export function matchesAttribute(claims: JWTPayload, match: AttributeMatch): boolean {
  return match.kind === 'claim'
    ? hasValue(own(claims, match.claim), match.value)
    : own(claims, 'email_verified') === true && domainOf(own(claims, 'email')) === match.domain;
}

/** A text, or one of a list of texts, exactly: no prefix, no other case, no number that is written like it. */
function hasValue(claim: unknown, value: string): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}

/**
 * The domain of an address in lower case. An address with a second `@`, with a space or with
 * anything beyond ASCII has none: quoted local parts and letters that look alike are how an address
 * is made to look like one of another domain.
 */
function domainOf(email: unknown): string | undefined {
  if (typeof email !== 'string') return undefined;
  const [, domain] = /^[\x21-\x3f\x41-\x7e]+@([\x21-\x3f\x41-\x7e]+)$/.exec(email) ?? [];
  return domain?.toLowerCase();
}

function own(claims: JWTPayload, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}
