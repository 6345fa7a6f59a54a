/** What the service knows of who may use it. */

/** What a caller is allowed; an agent is that of exactly one cluster. */
export type Rights =
  | { readonly role: 'agent'; readonly clusterId: string }
  | { readonly role: 'scheduler' }
  | { readonly role: 'viewer' }
  | { readonly role: 'monitor' }
  | { readonly role: 'admin' };

export type Role = Rights['role'];

interface RegistrationRecord {
  /** Hex; the first digits are enough to name it. */
  readonly id: string;
  readonly rights: Rights;
  readonly note: string;
  readonly createdAtMs: number;
  /** Id of the grant of its maker. */
  readonly createdBy: string;
}

/** Where the keys are with which an issuer's signatures are checked. */
export type KeySource =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'inline'; readonly jwks: string };

/** Something that tokens of several subjects have in common. */
export type AttributeMatch =
  /** A claim that is this text, or a list that holds it. */
  | { readonly kind: 'claim'; readonly claim: string; readonly value: string }
  /** A verified e-mail address in this domain, which is in lower case. */
  | { readonly kind: 'email_domain'; readonly domain: string };

/** Whose tokens a registration is for. */
export type TokenMatch = { readonly kind: 'subject'; readonly subject: string } | AttributeMatch;

/** One identity that an OIDC issuer vouches for, or all that have an attribute. */
export interface Registration extends RegistrationRecord {
  readonly kind: 'registration';
  readonly issuer: string;
  readonly audience: string;
  readonly match: TokenMatch;
  /** Of the registration, not of the issuer: clusters that nobody can reach share an issuer's name, but no keys. */
  readonly keys: KeySource;
}

/** A registration by an attribute. */
export type AttributeRegistration = Registration & { readonly match: AttributeMatch };

/** All registrations by an attribute for one issuer and audience: one look-up finds them, whatever a token lists. */
export interface AttributeRegistrations {
  readonly kind: 'attributes';
  readonly id: string;
  readonly issuer: string;
  readonly audience: string;
  /** Of all of them. */
  readonly keys: KeySource;
  /** At least one. */
  readonly registrations: readonly AttributeRegistration[];
}

/** A token that the service issued; its id is the token's digest. */
export interface StaticToken extends RegistrationRecord {
  readonly kind: 'token';
  /** Seconds since the epoch; absent: it does not expire. */
  readonly expiresAtS?: number;
}
