/**
 * Reads of objects that come from an API server or a file. Nothing is believed: a field
 * that is not what it should be reads as absent, so that one odd object never ends a view.
 */

/** An object's members; none for anything that is not an object. */
export type Members = Readonly<Record<string, unknown>>;

const NONE: Members = Object.freeze({});

export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : NONE;
}

/** An own member: `constructor` is a legal label key, and must not find Object's. */
export function member(value: unknown, key: string): unknown {
  const object = members(value);
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value at a path of members. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(member, value);
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Text, or nothing. Empty text is nothing: Kubernetes leaves out what is empty, and so do we. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A whole number from 0 up; tools that write YAML by hand quote them. */
export function whole(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}

/** A time in milliseconds, or nothing. */
export function instant(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

/** The string members of an object, such as labels. */
export function texts(value: unknown): Readonly<Record<string, string>> {
  const out: Record<string, string> = {};
  for (const [key, each] of Object.entries(members(value))) {
    // Assigning __proto__ would change the object instead of adding to it.
    if (typeof each === 'string' && key !== '__proto__') out[key] = each;
  }
  return out;
}
