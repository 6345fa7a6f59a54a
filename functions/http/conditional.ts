/** Conditional requests (RFC 9110, section 13). */
import type { Context } from 'hono';

/**
 * Whether If-None-Match says that the client has this very representation. The comparison is
 * weak, so the `W/` plays no part.
 */
export function matchesEtag(c: Context, etag: string): boolean {
  const header = c.req.header('if-none-match');
  if (header === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(etag));
}
