/** Tokens that the service issues itself. */
import { createHash, randomBytes } from 'node:crypto';

/** By which a secret scanner finds a leaked one, and we tell it from a JWT. */
export const TOKEN_PREFIX = 'rmap_';

/** 256 bits: nobody guesses one, so its digest needs neither salt nor stretching. */
const SECRET_BYTES = 32;

/** A new token. Its user keeps it; the service keeps the digest. */
export function newToken(): string {
  return TOKEN_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** SHA-256 of the whole token, in hex. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex');
}
