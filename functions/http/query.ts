/** Query parameters: known ones are read strictly, unknown ones are refused, since a mistyped filter would be no filter. */

import type { Context } from 'hono';
import { ResourceMapError } from '../core/errors.ts';
import { didYouMean, nearestOf } from '../core/nearest.ts';

/** @throws ResourceMapError `invalid_query` where the URL has a parameter that is not in `known` */
export function refuseUnknownParameters(c: Context, known: readonly string[]): void {
  for (const name of Object.keys(c.req.queries())) {
    if (known.includes(name)) continue;
    const shown = JSON.stringify(name.slice(0, 64));
    const nearest = nearestOf(name, known);
    throw new ResourceMapError(
      'invalid_query',
      known.length === 0
        ? `${c.req.path} takes no query parameters, but the URL has ${shown}.`
        : `There is no query parameter ${shown}${didYouMean(name, known, `known are ${known.join(', ')}`)}`,
      { field: name, ...(nearest === undefined ? {} : { nearest: [nearest] }) },
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
    { field: name, value },
  );
}
