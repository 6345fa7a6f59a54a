/** What the service knows of who may use it. */

/** What a caller is allowed; an agent is that of exactly one cluster. */
export type Rights =
  | { readonly role: 'agent'; readonly clusterId: string }
  | { readonly role: 'scheduler' }
  | { readonly role: 'admin' };

export type Role = Rights['role'];

interface RegistrationRecord {
  /** Hex; the first digits are enough to name it. */
  readonly id: string;
  readonly rights: Rights;
  readonly note: string;
  readonly createdAtMs: number;
  /** Id of the grant of whoever made it. */
  readonly createdBy: string;
}

/** Where the keys are with which an issuer's signatures are checked. */
export type KeySource =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'inline'; readonly jwks: string };

/** An identity that an OIDC issuer vouches for. */
export interface Registration extends RegistrationRecord {
  readonly kind: 'registration';
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  /** Of the registration, not of the issuer: clusters that nobody can reach share an issuer's name, but no keys. */
  readonly keys: KeySource;
}

/** A token that the service issued; its id is the token's digest. */
export interface StaticToken extends RegistrationRecord {
  readonly kind: 'token';
  /** Seconds since the epoch; absent: it does not expire. */
  readonly expiresAtS?: number;
}
