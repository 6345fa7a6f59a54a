/**
 * Long work: a bound, so that a hard question ends as "undecided" and not as a process that
 * hangs, and places at which it can be left for a while, so that a process that has other
 * things to do can do them.
 */

import type { Stepwise } from '../stepwise.ts';

/** Steps, of a microsecond or a few, after which work yields: often enough for milliseconds, too seldom to cost anything. */
const STEPS_PER_TURN = 500;

/** The bound was reached. Caught where the search began, never by a caller of this package. */
export class WorkExhaustedError extends Error {
  override readonly name = 'WorkExhaustedError';
}

/** Steps that may still be taken. */
export class WorkBudget {
  #left: number;
  #sinceTurn = 0;

  constructor(
    readonly limit: number,
    /** What is spent here is spent there too, and ends there too. */
    private readonly whole?: WorkBudget,
  ) {
    this.#left = limit;
  }

  /** A share of the whole limit, for one of several searches. */
  share(fraction: number): WorkBudget {
    return new WorkBudget(Math.floor(this.limit * fraction), this);
  }

  get spent(): number {
    return this.limit - Math.max(0, this.#left);
  }

  /** A bound on one of many small questions. */
  atMost(steps: number): WorkBudget {
    return new WorkBudget(steps, this);
  }

  /** Whether it is time to yield; then not again for a while. */
  isTurnOver(): boolean {
    if (this.whole !== undefined) return this.whole.isTurnOver();
    if (this.#sinceTurn < STEPS_PER_TURN) return false;
    this.#sinceTurn = 0;
    return true;
  }

  /** @throws WorkExhaustedError when the bound is reached */
  spend(steps: number): void {
    this.whole?.spend(steps);
    this.#sinceTurn += steps;
    this.#left -= steps;
    if (this.#left < 0) throw new WorkExhaustedError(`The search took its ${this.limit} steps.`);
  }
}

/** The answer of a search, or `exhausted` where it reached the bound first. */
export function boundedBy<T>(search: () => T): T | 'exhausted' {
  try {
    return search();
  } catch (error) {
    if (error instanceof WorkExhaustedError) return 'exhausted';
    throw error;
  }
}

/** The same of work that yields. */
export function* boundedWork<T>(work: Stepwise<T>): Stepwise<T | 'exhausted'> {
  try {
    return yield* work;
  } catch (error) {
    if (error instanceof WorkExhaustedError) return 'exhausted';
    throw error;
  }
}
