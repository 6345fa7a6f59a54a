/**
 * Reads through JSON text without building anything of it, before it is parsed. The
 * platform's parser has no limits, and takes kilobytes and tens of microseconds for a
 * name that it has not seen before: 30 MB of objects of a hundred names each, no two the
 * same, would hold the process for half a minute.
 */
import { ResourceMapError } from '../errors.ts';
import { MAX_DISTINCT_KEYS, MAX_JSON_VALUES, MAX_NESTING } from './limits.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;

/**
 * Counts values: objects, arrays, and what stands between their commas. Whether it is
 * JSON at all is for the parser to say; text that is not is never counted as less.
 *
 * @returns the number of values, up to twice for one that is an object or an array
 * @throws ResourceMapError `too_many_elements`, `nested_too_deeply`
 */
export function scanJson(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const names = new Set<string>();
  let values = 1;
  let depth = 0;
  let stringStart = 0;
  let stringEnd = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case QUOTE:
        stringStart = at + 1;
        stringEnd = endOfString(text, stringStart);
        at = stringEnd;
        break;
      case COLON:
        names.add(text.toString('latin1', stringStart, stringEnd));
        if (names.size > MAX_DISTINCT_KEYS) {
          throw new ResourceMapError(
            'too_many_elements',
            `The body has more than ${MAX_DISTINCT_KEYS} different names, which is the most that is taken.`,
          );
        }
        break;
      case BRACE_OPEN:
      case BRACKET_OPEN:
        if (++depth > MAX_NESTING) {
          throw new ResourceMapError(
            'nested_too_deeply',
            `The body is nested more than ${MAX_NESTING} deep at byte ${at}, which is the most that is taken.`,
          );
        }
        values++;
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        depth--;
        break;
      case COMMA:
        values++;
        break;
    }
    if (values > MAX_JSON_VALUES) {
      throw new ResourceMapError(
        'too_many_elements',
        `The body has more than ${MAX_JSON_VALUES} JSON values, which is the most that is taken; Protobuf (application/x-protobuf) carries more.`,
      );
    }
  }
  return values;
}

/** The position of the quote that ends the string which starts at `at`. */
function endOfString(text: Buffer, at: number): number {
  let i = at;
  while (i < text.length) {
    const byte = text[i];
    if (byte === QUOTE) return i;
    i += byte === BACKSLASH ? 2 : 1;
  }
  return i;
}
