/**
 * The bound on work. It counts elementary steps and not time, so that the same question
 * about the same snapshot has the same answer on every machine.
 */

/** Steps that are left, of one decision or of many. */
export class Work {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  get left(): number {
    return this.#left;
  }

  get exhausted(): boolean {
    return this.#left <= 0;
  }

  spend(steps: number): void {
    this.#left -= steps;
  }

  /** A smaller allowance; what is spent of it has to be given back to this one by `spend`. */
  allow(steps: number): Work {
    return new Work(Math.min(steps, this.#left));
  }
}
