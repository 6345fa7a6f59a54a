/** Conditional requests (RFC 9110, section 13). */
import type { Context } from 'hono';
import { type EntityTag, parseEntityTags } from '../core/entity-tags.ts';
import { ResourceMapError } from '../core/errors.ts';

/**
 * Reads which representations the client has, from If-None-Match.
 *
 * @returns whether the one of an etag is among them. The comparison is weak, so the `W/` plays no part.
 * @throws ResourceMapError `invalid_precondition`: a client whose tags say nothing would be sent the whole again forever
 */
export function knownRepresentations(c: Context): (etag: string) => boolean {
  const header = c.req.header('if-none-match');
  if (header === undefined) return () => false;
  if (header.trim() === '*') return () => true;
  const known = new Set(tagsOf('If-None-Match', header).map(({ opaque }) => opaque));
  return (etag) => parseEntityTags(etag)?.some(({ opaque }) => known.has(opaque)) ?? false;
}

/** What a write expects to stand where it writes. */
export type WriteCondition =
  /** Neither If-Match nor If-None-Match was sent. */
  | { readonly kind: 'none' }
  /** `If-None-Match: *` */
  | { readonly kind: 'absent' }
  /** `If-Match: *` */
  | { readonly kind: 'present' }
  | {
      readonly kind: 'match';
      /** Strong tags of If-Match, without their quotes. A weak one matches nothing (RFC 9110, section 13.1.1) and is left out. */
      readonly tags: readonly string[];
      /** Whether a weak tag was left out. */
      readonly weak: boolean;
    };

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
  const tags = tagsOf('If-Match', match);
  // A list may be empty, but no write can then happen: it is the slip of an empty variable.
  if (tags.length === 0) throw noTags('If-Match', match);
  const strong = tags.filter(({ weak }) => !weak);
  return { kind: 'match', tags: strong.map(({ opaque }) => opaque), weak: strong.length < tags.length };
}

function tagsOf(name: string, header: string): readonly EntityTag[] {
  const tags = parseEntityTags(header);
  if (tags === undefined) throw noTags(name, header);
  return tags;
}

function noTags(name: string, header: string): ResourceMapError {
  return invalidPrecondition(
    `${name} is ${shown(header)}; send the ETag of a response as it came, with its quotes, or several with commas between, or "*".`,
  );
}

function invalidPrecondition(detail: string): ResourceMapError {
  return new ResourceMapError('invalid_precondition', detail);
}

/** Characters of a header that an error shows. */
const SHOWN_CHARACTERS = 100;

function shown(header: string): string {
  const start = JSON.stringify(header.slice(0, SHOWN_CHARACTERS));
  return header.length > SHOWN_CHARACTERS ? `${start}…` : start;
}
