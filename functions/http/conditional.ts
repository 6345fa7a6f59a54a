/** Conditional requests (RFC 9110, section 13). */
import type { Context } from 'hono';
import { ResourceMapError } from '../errors.ts';

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

/** What a write expects to stand where it writes. */
export type WriteCondition =
  /** Neither If-Match nor If-None-Match was sent. */
  | { readonly kind: 'none' }
  /** `If-None-Match: *` */
  | { readonly kind: 'absent' }
  /** `If-Match: *` */
  | { readonly kind: 'present' }
  /** Strong tags of If-Match, without their quotes. A weak one matches nothing (RFC 9110, section 13.1.1) and is left out. */
  | { readonly kind: 'match'; readonly tags: readonly string[] };

/** @throws ResourceMapError `invalid_precondition` for headers that no write can hold to */
export function writeCondition(c: Context): WriteCondition {
  const match = c.req.header('if-match');
  const noneMatch = c.req.header('if-none-match');
  if (match !== undefined && noneMatch !== undefined) {
    throw invalidPrecondition('The request has both If-Match and If-None-Match; send one of them.');
  }
  if (noneMatch !== undefined) {
    if (noneMatch.trim() === '*') return { kind: 'absent' };
    throw invalidPrecondition(
      `If-None-Match is ${shown(noneMatch)}; a write takes "*", for where there must be nothing, and no tags.`,
    );
  }
  if (match === undefined) return { kind: 'none' };
  if (match.trim() === '*') return { kind: 'present' };
  const tags = match.split(',').map((tag) => /^(W\/)?"([^"]*)"$/.exec(tag.trim()));
  if (tags.includes(null)) {
    throw invalidPrecondition(
      `If-Match is ${shown(match)}; send the ETag of an answer as it came, with its quotes, or "*".`,
    );
  }
  return { kind: 'match', tags: tags.flatMap((tag) => (tag?.[1] === undefined ? (tag?.[2] ?? []) : [])) };
}

function invalidPrecondition(detail: string): ResourceMapError {
  return new ResourceMapError('invalid_precondition', detail);
}

function shown(header: string): string {
  return JSON.stringify(header.slice(0, 100));
}
