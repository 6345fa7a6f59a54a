/** Mutations of a JSON text: of its values, and of its tokens where the text must not stay JSON. */
import type { Random } from './random.ts';
import { INTEGERS, TEXTS } from './values.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Tokens that readers of JSON disagree about. */
const TOKENS = [
  'null',
  'true',
  '{}',
  '[]',
  '""',
  '-0',
  '1e400',
  '1E-400',
  '0x10',
  '01',
  '.5',
  '1.',
  'NaN',
  '"\\ud800"',
  '"\\u0000"',
  '"\\/"',
  '"__proto__":{}',
  ',',
  ':',
  '}',
  ']',
  '{',
  '[',
  '"',
  '\\',
  '18446744073709551616',
  '\t',
  '\u2028',
  '\u00a0',
  '/**/',
];

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The text with one thing changed. */
export function mutateJson(bytes: Uint8Array, other: Uint8Array, random: Random): Buffer {
  const text = Buffer.from(bytes).toString('utf8');
  if (random.chance(0.15)) return Buffer.from(mutateTokens(text, random));
  const value = parsed(text);
  if (value === undefined) return Buffer.from(mutateTokens(text, random));
  const donor = random.chance(0.5) ? (parsed(Buffer.from(other).toString('utf8')) ?? value) : value;
  mutateValue(value, donor, random);
  return Buffer.from(JSON.stringify(value));
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

type Container = Json[] | { [name: string]: Json };

function containers(value: Json, found: Container[] = [], depth = 0): Container[] {
  if (value === null || typeof value !== 'object' || depth > 200) return found;
  found.push(value);
  for (const child of Object.values(value)) containers(child, found, depth + 1);
  return found;
}

function mutateValue(value: Json, donor: Json, random: Random): void {
  const filled = containers(value).filter((each) => Object.keys(each).length > 0);
  if (filled.length === 0) return;
  const container = random.of(filled);
  const name = random.of(Object.keys(container));
  const set = (key: string, content: Json): void => {
    // Of an array, "length" is no element.
    if (Array.isArray(container) && !/^\d+$/.test(key)) return;
    Object.defineProperty(container, key, {
      value: content,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  };
  const get = (from: Container, key: string): Json =>
    // A copy, or a value could come to stand within itself.
    structuredClone((from as { [name: string]: Json })[key] ?? null);
  switch (random.below(8)) {
    case 0:
      if (Array.isArray(container)) container.splice(Number(name), 1);
      else delete container[name];
      return;
    case 1:
      if (Array.isArray(container)) container.push(get(container, name));
      else set(snakeCase(name), get(container, name));
      return;
    case 2:
      // Most often of the kind that is due there: what is not is refused before anything else is looked at.
      if (typeof get(container, name) === 'string' || random.chance(0.1)) set(name, random.of(TEXTS));
      return;
    case 3: {
      const integer = random.of(INTEGERS);
      const isText = typeof get(container, name) === 'string';
      set(name, isText !== random.chance(0.1) ? String(integer) : Number(BigInt.asUintN(31, integer)));
      return;
    }
    case 4:
      set(name, random.of<Json>([null, true, false, -1, 0.5, 1e308, -0, [], {}, [null], [[]], { a: 1 }]));
      return;
    case 5: {
      // The content of a member of that name elsewhere: right in type, and most likely wrong in place.
      const same = containers(donor).filter((each) => Object.hasOwn(each, name));
      if (same.length > 0) set(name, get(random.of(same), name));
      return;
    }
    case 6: {
      const texts = containers(donor).flatMap((each) =>
        Object.values(each).filter((v) => typeof v === 'string'),
      );
      if (texts.length > 0) set(name, random.of(texts));
      return;
    }
    default:
      set(random.of(TEXTS), get(container, name));
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function mutateTokens(text: string, random: Random): string {
  const tokens = [...text.matchAll(TOKEN)];
  if (tokens.length === 0) return random.of(TOKENS);
  const { index, 0: token } = random.of(tokens);
  const [before, after] = [text.slice(0, index), text.slice(index + token.length)];
  switch (random.below(4)) {
    case 0:
      return before + after;
    case 1:
      return before + token + token + after;
    case 2:
      return before + random.of(TOKENS) + after;
    default:
      return before + random.of(tokens)[0] + after;
  }
}
