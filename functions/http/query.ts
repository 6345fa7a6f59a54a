/** Query parameters: known ones are read strictly, unknown ones are refused, since a mistyped filter would be no filter. */

import { closest } from 'fastest-levenshtein';
import type { Context } from 'hono';
import { ResourceMapError } from '../core/errors.ts';

/** @throws ResourceMapError `invalid_query` where the URL has a parameter that is not in `known` */
export function refuseUnknownParameters(c: Context, known: readonly string[]): void {
  for (const name of Object.keys(c.req.queries())) {
    if (known.includes(name)) continue;
    throw new ResourceMapError(
      'invalid_query',
      known.length === 0
        ? `${c.req.path} takes no query parameters, but the URL has ${JSON.stringify(name.slice(0, 64))}.`
        : `There is no query parameter ${JSON.stringify(name.slice(0, 64))}; the nearest is "${closest(name.slice(0, 64), known)}".`,
    );
  }
}

/** False where the parameter is absent. @throws ResourceMapError `invalid_query` */
export function booleanParameter(c: Context, name: string): boolean {
  const value = c.req.query(name);
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw new ResourceMapError(
    'invalid_query',
    `The query parameter ${name} is ${JSON.stringify(value.slice(0, 64))}; it can be true or false.`,
  );
}
