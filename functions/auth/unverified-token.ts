/** A token of an issuer whose signature was not verified, for whatever reason. */
import { ResourceMapError } from '../core/errors.ts';

/** Why, for the service's log alone. */
export class UnverifiedTokenError extends Error {
  override readonly name = 'UnverifiedTokenError';
}

/**
 * The refusal says the same whether or not issuer, audience and subject are registered: who has no
 * genuine token must not learn whom the service knows.
 *
 * @param reason a sentence, which the log has beside the request's id
 */
export function unverifiedToken(reason: string, cause?: unknown): ResourceMapError {
  return new ResourceMapError(
    'invalid_token',
    'The token is not signed by a key of a registered issuer for its audience and subject. An admin can list the ' +
      'registrations (rmap trust list) and find the reason in the log of the service by the request id.',
    {},
    { cause: new UnverifiedTokenError(reason, { cause }) },
  );
}
