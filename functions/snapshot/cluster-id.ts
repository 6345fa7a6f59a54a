/** What may be a cluster id. */
import { MAX_ID_BYTES } from './limits.ts';

/** Segments that every URL library removes from a path, so that no request could name the cluster. */
const DOT_SEGMENTS: readonly string[] = ['.', '..'];

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/** What is wrong with an id of any kind, as a sentence, or nothing. */
export function idProblem(id: string, what = 'id'): string | undefined {
  if (id === '') return `The ${what} is empty; it must have 1 to ${MAX_ID_BYTES} bytes.`;
  const bytes = Buffer.byteLength(id, 'utf8');
  if (bytes > MAX_ID_BYTES) {
    return `The ${what} ${JSON.stringify(`${id.slice(0, 40)}…`)} has ${bytes} bytes of UTF-8; at most ${MAX_ID_BYTES} are allowed.`;
  }
  const control = CONTROL_CHARACTER.exec(id);
  if (control !== null) {
    return `The ${what} ${JSON.stringify(id)} has a control character at position ${control.index}; remove it.`;
  }
  return id.isWellFormed() ? undefined : `The ${what} ${JSON.stringify(id)} is not valid Unicode.`;
}

/** What is wrong with a cluster id, as a sentence, or nothing. */
export function clusterIdProblem(id: string): string | undefined {
  const problem = idProblem(id, 'cluster id');
  if (problem !== undefined) return problem;
  if (id === '__proto__') {
    return 'The cluster id "__proto__" is refused, since in JavaScript clients it would change the map instead of standing in it; choose another.';
  }
  if (DOT_SEGMENTS.includes(id)) {
    return `The cluster id "${id}" is refused, since a URL cannot carry it; choose another.`;
  }
  return undefined;
}
