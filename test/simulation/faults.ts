/** What goes wrong, how often; all of it is decided by the world's seed. */
import type { Choices } from './dynamodb-model.ts';
import type { World } from './world.ts';

export type Fate = 'ok' | 'request lost' | 'response lost' | 'throttled';

export class Faults implements Choices {
  /** Operations that reached the database or an instance. */
  operations = 0;
  /** Off: the world is kind, as it is at the end, where everything must come right. */
  on = true;
  readonly #rate: number;

  constructor(private readonly world: World) {
    // Some worlds are nearly well, others fall apart: different faults show in each.
    this.#rate = world.random01.pick([0, 0.01, 0.03, 0.1]);
  }

  request(): Fate {
    const { random01 } = this.world;
    if (!this.on || !random01.chance(this.#rate)) return 'ok';
    return random01.pick(['request lost', 'response lost', 'response lost', 'throttled'] as const);
  }

  /** Mostly a few milliseconds; now and then long enough that others overtake, or a timeout comes first. */
  latencyMs(): number {
    const { random01 } = this.world;
    if (this.on && random01.chance(this.#rate / 2)) return random01.integer(500, 4_000);
    if (this.on && random01.chance(0.2)) return random01.next() * 60;
    return 1 + random01.next() * 4;
  }

  staleBy(writes: number): number {
    const { random01 } = this.world;
    return this.on && random01.chance(0.3) ? random01.integer(0, Math.min(3, writes)) : 0;
  }

  processed(keys: number): number {
    const { random01 } = this.world;
    return this.on && random01.chance(this.#rate) ? random01.integer(0, keys) : keys;
  }

  expired(): boolean {
    return this.world.random01.chance(0.5);
  }
}
