/** Text from outside as a page may show it. */

/** What a reader cannot see, or what changes the order of what is around it: controls, bidi overrides, zero widths. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Every character that would not be seen, as its code: two names that differ look different. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
