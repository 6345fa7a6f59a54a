const encoder = new TextEncoder();

/** How many bytes a text has in UTF-8; a lone surrogate counts as the U+FFFD that replaces it. Also where there is no Buffer. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}
