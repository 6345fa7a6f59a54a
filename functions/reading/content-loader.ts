/** Reads of stored bodies, each body by one reader at a time: those who come meanwhile share it. */
import type { BodyRef } from '../storage/head.ts';

type Bodies = ReadonlyMap<string, Uint8Array>;

export class BodyLoads {
  readonly #underWay = new Map<string, Promise<Bodies>>();

  constructor(private readonly load: (refs: readonly BodyRef[]) => Promise<Bodies>) {}

  /** The stored bytes by body id; those that are not whole are absent. */
  async read(refs: readonly BodyRef[]): Promise<Bodies> {
    const fresh = refs.filter(({ bodyId }) => !this.#underWay.has(bodyId));
    if (fresh.length > 0) this.#begin(fresh);
    const loads = new Set(refs.map(({ bodyId }) => this.#underWay.get(bodyId)));
    const found = await Promise.all([...loads].map((load) => load ?? new Map<string, Uint8Array>()));
    return new Map(found.flatMap((bodies) => [...bodies]));
  }

  #begin(refs: readonly BodyRef[]): void {
    const load = this.load(refs);
    for (const { bodyId } of refs) this.#underWay.set(bodyId, load);
    const ended = (): void => {
      for (const { bodyId } of refs) this.#underWay.delete(bodyId);
    };
    void load.then(ended, ended);
  }
}
