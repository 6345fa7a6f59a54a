/** Choices of a fuzzing run, all from one seed. */
export class Random {
  readonly #next: () => number;

  /** @param next numbers from 0 up to 1 */
  constructor(next: () => number) {
    this.#next = next;
  }

  /** A whole number from 0 up to `limit`, which it never is. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  /** @throws Error where there is nothing to choose from */
  of<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error('There is nothing to choose from.');
    return choices[this.below(choices.length)] as T;
  }

  /** From 1 up; each number is half as likely as the one before. */
  few(): number {
    let count = 1;
    while (count < 16 && this.chance(0.5)) count++;
    return count;
  }
}
