/** The name of a pool in a URL. */
import type { Context } from 'hono';
import { MAX_NAME_BYTES } from '../../core/bundle/model/limits.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';

const POOLS_PATH = '/v1/pools/';

export const POOL_ROUTE = `${POOLS_PATH}:name`;

/** The path of a pool, as a client writes it. */
export function poolPath(name: string): string {
  return POOLS_PATH + encodeURIComponent(name);
}

/** @throws ResourceMapError `invalid_pool_name` */
export function poolNameOf(c: Context): string {
  const encoded = c.req.path.slice(POOLS_PATH.length);
  let name: string;
  try {
    name = decodeURIComponent(encoded);
  } catch {
    throw invalid(`${quote(encoded)} is not percent-encoded UTF-8; encode a "%" as "%25"`);
  }
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES)
    throw invalid(`${quote(name)} has ${bytes} bytes; at most ${MAX_NAME_BYTES} are taken`);
  if (/\p{Cc}/u.test(name)) throw invalid(`${quote(name)} has a control character; it can have none`);
  // Fronts decode a slash, and shorten a path at dots.
  if (name.includes('/') || name === '.' || name === '..') {
    throw invalid(`${quote(name)} cannot stand in a URL; choose one without "/" that is not "." or ".."`);
  }
  return name;
}

/**
 * The name of a pool that is to be written: gateways cut a path at a decoded "?", so that it would
 * become another pool's. One that has such a name from before can still be read and removed.
 *
 * @throws ResourceMapError `invalid_pool_name`
 */
export function newPoolNameOf(c: Context): string {
  const name = poolNameOf(c);
  if (name.includes('?'))
    throw invalid(`${quote(name)} has a "?", at which gateways cut the path of a URL; choose another`);
  return name;
}

function invalid(fault: string): ResourceMapError {
  return new ResourceMapError('invalid_pool_name', `The pool name ${fault}.`);
}
