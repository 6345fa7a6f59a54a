/** Reads of stored bodies, each body by one reader at a time: those who come meanwhile share it. */
import type { ContentRef } from '../storage/head.ts';

type Contents = ReadonlyMap<string, Uint8Array>;

export class ContentLoader {
  readonly #underWay = new Map<string, Promise<Contents>>();

  constructor(private readonly load: (refs: readonly ContentRef[]) => Promise<Contents>) {}

  /** The stored bytes by body id; those that are not whole are absent. */
  async read(refs: readonly ContentRef[]): Promise<Contents> {
    const fresh = refs.filter(({ contentId }) => !this.#underWay.has(contentId));
    if (fresh.length > 0) this.#begin(fresh);
    const loads = new Set(refs.map(({ contentId }) => this.#underWay.get(contentId)));
    const found = await Promise.all([...loads].map((load) => load ?? new Map<string, Uint8Array>()));
    return new Map(found.flatMap((contents) => [...contents]));
  }

  #begin(refs: readonly ContentRef[]): void {
    const load = this.load(refs);
    for (const { contentId } of refs) this.#underWay.set(contentId, load);
    const ended = (): void => {
      for (const { contentId } of refs) this.#underWay.delete(contentId);
    };
    void load.then(ended, ended);
  }
}
