/** Lists of entity tags, as If-Match and If-None-Match carry them (RFC 9110, sections 5.6.1, 8.8.3 and 13.1). */

/** An entity tag without its quotes. */
export interface EntityTag {
  readonly weak: boolean;
  readonly opaque: string;
}

/**
 * The tags of a list, all of them and in their order. Commas within a tag's quotes are part of the
 * tag, and elements that are empty are none. The text is read once from left to right.
 *
 * @returns nothing where the text is no such list
 */
export function parseEntityTags(list: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  let at = skipSpace(list, 0);
  while (at < list.length) {
    if (list[at] !== ',') {
      const weak = list.startsWith('W/', at);
      const open = weak ? at + 2 : at;
      if (list[open] !== '"') return undefined;
      const close = skipOpaque(list, open + 1);
      if (list[close] !== '"') return undefined;
      tags.push({ weak, opaque: list.slice(open + 1, close) });
      at = skipSpace(list, close + 1);
      if (at < list.length && list[at] !== ',') return undefined;
    }
    at = skipSpace(list, at + 1);
  }
  return tags;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at++;
  return at;
}

/** Past what may stand between the quotes: what can be seen in ASCII, the quote apart, and whatever is beyond ASCII. */
function skipOpaque(text: string, from: number): number {
  let at = from;
  while (at < text.length && isOpaque(text.charCodeAt(at))) at++;
  return at;
}

function isOpaque(code: number): boolean {
  return code >= 0x21 && code !== 0x22 && code !== 0x7f;
}
