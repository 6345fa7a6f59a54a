/** The token of a request. */
import { ResourceMapError } from '../core/errors.ts';
import { MAX_TOKEN_BYTES } from '../http/limits.ts';

/** RFC 6750's `b64token`. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The token of an Authorization header. It is found nowhere else: what is in a URL or
 * a cookie ends in logs and histories.
 *
 * @throws ResourceMapError `unauthenticated`, `invalid_token`
 */
export function bearerToken(header: string | undefined): string {
  if (header === undefined) {
    throw new ResourceMapError(
      'unauthenticated',
      'The request has no Authorization header; send "Authorization: Bearer" with a token.',
    );
  }
  // Said before the header is looked through: a pattern is not run over what is too long.
  if (header.length > MAX_TOKEN_BYTES) {
    throw new ResourceMapError(
      'invalid_token',
      `The Authorization header has ${header.length} bytes; at most ${MAX_TOKEN_BYTES} are read.`,
    );
  }
  const token = BEARER.exec(header)?.[1];
  if (token !== undefined) return token;
  // The header is not shown: it may hold a credential.
  throw new ResourceMapError(
    'invalid_token',
    'The Authorization header is not "Bearer" with one token after it.',
  );
}
