/** How a value from outside stands in a message. */

/** Longer values are cut: the path says where the whole one is, and a response must stay bounded. */
const MAX_QUOTED_CHARS = 128;

/** What JSON leaves as it is, but a terminal or a log obeys: C1 controls, line separators, bidi overrides. */
const UNSAFE = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Quotes a string so that it is read as data wherever the message is shown: as a
 * JSON string, control characters escaped, cut after 128 UTF-16 code units.
 */
export function quote(value: string): string {
  if (value.length <= MAX_QUOTED_CHARS) return escapeQuoted(value);
  return `${escapeQuoted(value.slice(0, MAX_QUOTED_CHARS))}… (${value.length} characters)`;
}

function escapeQuoted(value: string): string {
  return JSON.stringify(value).replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
