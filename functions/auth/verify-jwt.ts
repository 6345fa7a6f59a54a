/** Checks a JWT of a registered issuer. */
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { ResourceMapError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import type { KeySource } from '../core/registration.ts';
import { MAX_AUDIENCES } from '../http/limits.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { unverifiedToken } from './unverified-token.ts';

/**
 * Signatures that are taken. All have a private and a public key: with a shared secret
 * (HS256), who can check a token could make one, and the public key would do for a secret.
 */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const;

/** Seconds by which the clocks of the issuer and of the service may differ: several times what NTP leaves. */
export const CLOCK_TOLERANCE_S = 30;

/**
 * Seconds for which what a token says of its subject's groups, roles or address counts: somebody
 * who leaves a group keeps what it allowed for as long as a token is good, so that must end soon.
 */
export const MAX_ATTRIBUTE_AGE_S = 24 * 60 * 60;

/** What a token says of itself, before anything of it is checked. */
export interface ClaimedIdentity {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly subject: string;
}

/** @throws ResourceMapError `invalid_token` */
export function claimedIdentity(token: string): ClaimedIdentity {
  let claims: JWTPayload;
  let algorithm: string | undefined;
  try {
    algorithm = decodeProtectedHeader(token).alg;
    claims = decodeJwt(token);
  } catch (cause) {
    throw invalid('The token is neither a JWT nor one that this service issued', cause);
  }
  // Said here, so that a try costs no look-up.
  if (!ALGORITHMS.some((allowed) => allowed === algorithm)) {
    throw invalid(
      `The token is signed with ${quote(String(algorithm))}; supported: ${ALGORITHMS.join(', ')}`,
    );
  }
  const { iss, sub, aud } = claims;
  const audiences = typeof aud === 'string' ? [aud] : aud;
  if (typeof iss !== 'string' || typeof sub !== 'string' || !isTextList(audiences)) {
    throw invalid('The token lacks an issuer (iss), an audience (aud) or a subject (sub)');
  }
  if (audiences.length > MAX_AUDIENCES) {
    throw invalid(`The token has ${audiences.length} audiences; at most ${MAX_AUDIENCES} are looked at`);
  }
  return { issuer: iss, audiences, subject: sub };
}

/** What a token must be to be taken. */
export interface Expected {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: KeySource;
  /** Absent: any, and the token must then be younger than {@link MAX_ATTRIBUTE_AGE_S}. */
  readonly subject?: string;
}

/**
 * Checks that the token is signed by a key of the issuer, is for the audience and the subject,
 * and is in force.
 *
 * @param now of the service
 * @returns what the token says
 * @throws ResourceMapError `invalid_token`, `issuer_unavailable`
 */
export async function verifyJwt(
  token: string,
  { issuer, audience, keys: source, subject }: Expected,
  keys: IssuerKeys,
  now: Date,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, keys.of(issuer, source), {
      algorithms: [...ALGORITHMS],
      issuer,
      audience,
      ...(subject === undefined ? { maxTokenAge: MAX_ATTRIBUTE_AGE_S } : { subject }),
      // A token that never expires cannot be lost without harm.
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: now,
    });
    return payload;
  } catch (error) {
    if (error instanceof ResourceMapError) throw error;
    const fault = verifiedFaultOf(error, token, now);
    throw fault === undefined
      ? unverifiedToken(`${unverifiedFaultOf(error, token)}.`, error)
      : invalid(fault, error);
  }
}

/** What is wrong with a token whose signature is its issuer's: its claims are checked after that. */
function verifiedFaultOf(error: unknown, token: string, now: Date): string | undefined {
  const { exp, iat, nbf } = decodeJwt(token);
  const clock = `the clock of this service says ${now.toISOString()}`;
  if (error instanceof errors.JWTExpired && error.claim === 'iat') {
    return `The token was issued at ${instant(iat)}, and its attributes count for ${MAX_ATTRIBUTE_AGE_S / 3_600} hours; ${clock}`;
  }
  if (error instanceof errors.JWTExpired) return `The token expired at ${instant(exp)}; ${clock}`;
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf' && error.reason === 'check_failed') {
      return `The token is not valid before ${instant(nbf)}; ${clock}`;
    }
    return `The token's claim ${quote(error.claim)} is missing or not what it must be`;
  }
  return undefined;
}

function unverifiedFaultOf(error: unknown, token: string): string {
  if (error instanceof errors.JWKSNoMatchingKey) {
    const { kid } = decodeProtectedHeader(token);
    return `The issuer has no key ${kid === undefined ? 'for the token, which names none (kid)' : quote(kid)}`;
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'The issuer has several keys, and the token does not name the one that signed it (kid)';
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature is invalid";
  return 'The token cannot be checked';
}

/** A moment of a token's claim, which may be any number. */
function instant(seconds: number | undefined): string {
  const date = new Date((seconds ?? Number.NaN) * 1_000);
  return Number.isNaN(date.getTime()) ? quote(String(seconds)) : date.toISOString();
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'string');
}

function invalid(detail: string, cause?: unknown): ResourceMapError {
  return new ResourceMapError('invalid_token', `${detail}.`, {}, { cause });
}
