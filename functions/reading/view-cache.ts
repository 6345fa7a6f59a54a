/** Keeps views by the digest of the content that they are derived from. */

/** What is derived of one cluster's content: something for each of its node types. */
export interface Targets {
  readonly targets: readonly unknown[];
}

/**
 * Targets kept at most, over all views; one is about 2 KB. 1,000 clusters of 25 node types
 * fit in, and a function of 512 MB holds it beside everything else.
 */
export const MAX_CACHED_TARGETS = 30_000;

/**
 * Since a view is a pure function of the content, a digest that is known needs no body,
 * no decoding and no packing. Least recently used views go first.
 */
export class ViewCache<View extends Targets> {
  readonly #views = new Map<string, View>();
  #targets = 0;

  constructor(private readonly maxTargets: number = MAX_CACHED_TARGETS) {}

  /** The view of this content, if it is kept. */
  get(digest: string): View | undefined {
    const view = this.#views.get(digest);
    if (view === undefined) return undefined;
    // A Map keeps the order of insertion: what was asked for last goes to its end.
    this.#views.delete(digest);
    this.#views.set(digest, view);
    return view;
  }

  set(digest: string, view: View): void {
    if (this.#views.has(digest)) return;
    this.#views.set(digest, view);
    this.#targets += weightOf(view);
    for (const [oldest, kept] of this.#views) {
      if (this.#targets <= this.maxTargets || oldest === digest) return;
      this.#views.delete(oldest);
      this.#targets -= weightOf(kept);
    }
  }
}

/** A view without targets takes room too. */
function weightOf({ targets }: Targets): number {
  return targets.length + 1;
}
