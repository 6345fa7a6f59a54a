/**
 * Reads through JSON text without building anything of it, before it is parsed. The
 * platform's parser has no limits, and takes kilobytes and tens of microseconds for a
 * name that it has not seen before: 30 MB of objects of a hundred names each, no two the
 * same, would hold the process for half a minute.
 */
import { MalformedBodyError, ResourceMapError } from '../errors.ts';
import { quote } from '../quote.ts';
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
 * @throws ResourceMapError `too_many_elements`, `nested_too_deeply`; MalformedBodyError for a member that
 *   an object has twice: the parser would take the last and drop the others without a word
 */
export function scanJson(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const names = new Set<string>();
  /** By depth; nothing for an array. */
  const members: (MemberNames | undefined)[] = [];
  let values = 1;
  let depth = 0;
  let stringStart = 0;
  let stringEnd = 0;
  let name = '';
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case QUOTE:
        stringStart = at + 1;
        stringEnd = endOfString(text, stringStart);
        at = stringEnd;
        break;
      case COLON:
        name = text.toString('latin1', stringStart, stringEnd);
        if (members[depth]?.add(unescaped(name)) === false) {
          const shown = Buffer.from(unescaped(name), 'latin1').toString('utf8');
          throw new MalformedBodyError(
            'malformed_json',
            `The member ${quote(shown)} is given twice in one object, the second time at byte ${stringStart - 1}; give it once.`,
          );
        }
        names.add(name);
        if (names.size > MAX_DISTINCT_KEYS) {
          throw new ResourceMapError(
            'too_many_elements',
            `The body has more than ${MAX_DISTINCT_KEYS} different names, which is the most that is taken.`,
            { limit: MAX_DISTINCT_KEYS },
          );
        }
        break;
      case BRACE_OPEN:
      case BRACKET_OPEN:
        if (++depth > MAX_NESTING) {
          throw new ResourceMapError(
            'nested_too_deeply',
            `The body is nested more than ${MAX_NESTING} deep at byte ${at}, which is the most that is taken.`,
            { limit: MAX_NESTING },
          );
        }
        members[depth] = text[at] === BRACE_OPEN ? new MemberNames() : undefined;
        values++;
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        if (depth > 0) depth--;
        break;
      case COMMA:
        values++;
        break;
    }
    if (values > MAX_JSON_VALUES) {
      throw new ResourceMapError(
        'too_many_elements',
        `The body has more than ${MAX_JSON_VALUES} JSON values, which is the most that is taken; Protobuf (application/x-protobuf) carries more.`,
        { limit: MAX_JSON_VALUES },
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

/** Objects have a few members as a rule, for which a list is smaller than a set and as quick. */
const MAX_LISTED = 16;

/** The names of an object's members so far. */
class MemberNames {
  readonly #listed: string[] = [];
  #all: Set<string> | undefined;

  /** False if the name was there already. */
  add(name: string): boolean {
    if (this.#all === undefined) {
      if (this.#listed.includes(name)) return false;
      if (this.#listed.length < MAX_LISTED) {
        this.#listed.push(name);
        return true;
      }
      this.#all = new Set(this.#listed);
    }
    const before = this.#all.size;
    return this.#all.add(name).size > before;
  }
}

/**
 * One name may be written in several ways, with escape sequences.
 *
 * @param raw the bytes between the quotes, one character each
 * @returns the bytes of the name, one character each; `raw` if it is not the text of a string
 */
function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw;
  try {
    const name = JSON.parse(`"${Buffer.from(raw, 'latin1').toString('utf8')}"`) as string;
    return Buffer.from(name, 'utf8').toString('latin1');
  } catch {
    return raw;
  }
}
