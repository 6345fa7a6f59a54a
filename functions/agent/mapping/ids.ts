/** Ids for the map, made of names that clusters and people gave. */
import { createHash } from 'node:crypto';

/** As the rule book has it: ids end here. */
const MAX_ID_BYTES = 253;
const HASH_CHARS = 12;

/**
 * A valid id of the parts that are known, joined with `~`. Control characters and halves of
 * characters are replaced; what is too long ends in a digest of the whole, so that different
 * names stay different ids.
 */
export function idOf(...parts: readonly (string | undefined)[]): string {
  return validId(parts.filter((part) => part !== undefined && part !== '').join('~'));
}

/** Makes any text a valid id; empty text becomes `unnamed`. */
export function validId(raw: string): string {
  const clean = cleanText(raw);
  if (clean === '') return 'unnamed';
  if (Buffer.byteLength(clean, 'utf8') <= MAX_ID_BYTES) return clean;
  const digest = createHash('sha256').update(clean).digest('hex').slice(0, HASH_CHARS);
  let kept = '';
  let bytes = 0;
  for (const character of clean) {
    bytes += Buffer.byteLength(character, 'utf8');
    if (bytes > MAX_ID_BYTES - HASH_CHARS - 1) break;
    kept += character;
  }
  return `${kept}-${digest}`;
}

/** Text without control characters, for ids and messages. */
export function cleanText(raw: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return raw.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?');
}

/** Orders by code units, in every locale alike. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
