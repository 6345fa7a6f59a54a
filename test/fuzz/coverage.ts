/**
 * What of the code a case has reached, read from Istanbul's counters. V8's own precise
 * coverage would need no instrumenting, but reading it walks the heap: more than what most
 * cases take.
 */

/** Counters of one file: statements, functions, and the arms of each branch. */
interface FileCoverage {
  readonly s: Record<string, number>;
  readonly f: Record<string, number>;
  readonly b: Record<string, number[]>;
}

/** Where `instrument.ts` has the counters put. */
export const COVERAGE_VARIABLE = '__fuzzCoverage__';

/** Counts that are worth telling apart: once, twice, a few times, often, as AFL has them. */
const CLASS_BOUNDS = [1, 2, 3, 4, 8, 16, 32, 128] as const;

/** Reads and resets the counters, and remembers every class of counts that was ever seen. */
export class Coverage {
  /** A bit for each class of each counter. */
  #seen: Uint8Array = new Uint8Array(0);
  #counters: Record<string, number>[] = [];
  #branches: number[][] = [];

  /** Starts from the code that is loaded by now, with whatever it has counted forgotten. */
  constructor() {
    const files = Object.values(
      ((globalThis as Record<string, unknown>)[COVERAGE_VARIABLE] ?? {}) as Record<string, FileCoverage>,
    );
    if (files.length === 0) throw new Error('No code is instrumented, so nothing can guide the fuzzing.');
    this.#counters = files.flatMap(({ s, f }) => [s, f]);
    this.#branches = files.flatMap(({ b }) => Object.values(b));
    let size = 0;
    for (const counters of this.#counters) size += Object.keys(counters).length;
    for (const arms of this.#branches) size += arms.length;
    this.#seen = new Uint8Array(size);
    this.take();
    this.#seen.fill(0);
  }

  /** @returns how many counters reached a class that they had not reached before */
  take(): number {
    let at = 0;
    let news = 0;
    const note = (count: number): void => {
      if (count > 0) {
        let bits = 0;
        for (let i = 0; i < CLASS_BOUNDS.length && count >= (CLASS_BOUNDS[i] ?? 0); i++) bits = 1 << i;
        const seen = this.#seen[at] ?? 0;
        if ((seen & bits) === 0) {
          this.#seen[at] = seen | bits;
          news++;
        }
      }
      at++;
    };
    for (const counters of this.#counters) {
      for (const id in counters) {
        note(counters[id] ?? 0);
        counters[id] = 0;
      }
    }
    for (const arms of this.#branches) {
      for (let i = 0; i < arms.length; i++) {
        note(arms[i] ?? 0);
        arms[i] = 0;
      }
    }
    return news;
  }

  /** Counters that were ever above zero, of all. */
  get reached(): { readonly points: number; readonly of: number } {
    let points = 0;
    for (const bits of this.#seen) if (bits !== 0) points++;
    return { points, of: this.#seen.length };
  }
}
