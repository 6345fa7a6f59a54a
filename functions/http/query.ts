/** Query parameters: known ones are read strictly, unknown ones are refused, since a mistyped filter would be no filter. */

import type { Context } from 'hono';
import { ResourceMapError } from '../core/errors.ts';
import { didYouMean, nearestOf } from '../core/nearest.ts';

/**
 * @throws ResourceMapError `invalid_query` if the URL has a parameter that is not in `known`, or one that is not
 *   percent-encoded UTF-8
 */
export function refuseUnknownParameters(c: Context, known: readonly string[]): void {
  refuseMalformedEncoding(c);
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

/** Hono takes a text that cannot be decoded as it is, so that `?cluster=%FF` would filter by those three characters. */
function refuseMalformedEncoding(c: Context): void {
  const query = c.req.url.split('#', 1)[0]?.split('?').slice(1).join('?') ?? '';
  if (!query.includes('%')) return;
  for (const pair of query.split('&')) {
    const [name = '', ...value] = pair.split('=');
    for (const text of [name, value.join('=')]) {
      if (isPercentEncoded(text)) continue;
      throw new ResourceMapError(
        'invalid_query',
        `The query parameter ${JSON.stringify(pair.slice(0, 100))} is not percent-encoded UTF-8; encode a "%" as "%25".`,
        { field: name, value: text },
      );
    }
  }
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
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
