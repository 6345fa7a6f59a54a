/** The continuation of a sync as callers see it: opaque, so that what is in it can change. */
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';

/** Of this form of it; another one begins with another. */
const FORM = 'i';

/** @param after the cluster id after which the next response goes on; empty for the first one */
export function continuationOf(after: string): string {
  return FORM + Buffer.from(after, 'utf8').toString('base64url');
}

/**
 * @returns nothing if the request has no continuation
 * @throws ResourceMapError `invalid_query` for what no response carried
 */
export function afterOf(continuation: string): string | undefined {
  if (continuation === '') return undefined;
  const after = Buffer.from(continuation.slice(FORM.length), 'base64url').toString('utf8');
  if (continuationOf(after) === continuation) return after;
  throw new ResourceMapError(
    'invalid_query',
    `The continuation ${quote(continuation)} is not one that a response had; send it as it was, or leave it out.`,
    { field: 'continuation', value: continuation.slice(0, 100) },
  );
}
