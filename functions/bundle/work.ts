/** A bound on search, so that a hard question ends as "undecided" and not as a process that hangs. */

/** The bound was reached. Caught where the search began, never by a caller of this package. */
export class WorkExhaustedError extends Error {
  override readonly name = 'WorkExhaustedError';
}

/** Steps that may still be taken. */
export class WorkBudget {
  #left: number;

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

  /** @throws WorkExhaustedError when the bound is reached */
  spend(steps: number): void {
    this.whole?.spend(steps);
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
