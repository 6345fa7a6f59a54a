/** What pools and node types the last accepted snapshot had, for the rules that compare with it. */
import { Fragment } from '../../core/map/fragment.ts';
import { type CapacityFacts, capacityFactsOfContent } from '../../core/snapshot/rules/index.ts';
import type { ContentStore } from '../../storage/contents.ts';
import type { Prior } from '../../storage/decide.ts';

/** Reads each body at most once for a push, and none whose content the push repeats. */
export class PreviousCapacity {
  readonly #byContentId = new Map<string, CapacityFacts | undefined>();

  constructor(private readonly contents: ContentStore) {}

  /**
   * The pools and node types of `prior`; undefined where the body is the push's own, in which nothing
   * can have changed, and where there is none to be read. A body that is damaged or gone
   * withholds a warning and must not withhold the push, which fixes it.
   *
   * @param contentId of the push
   */
  async of(prior: Prior, contentId: string): Promise<CapacityFacts | undefined> {
    if (prior.kind !== 'head') return undefined;
    const { body } = prior.head;
    if (body.contentId === contentId) return undefined;
    if (!this.#byContentId.has(body.contentId)) {
      const deflated = (await this.contents.read([body])).get(body.contentId);
      this.#byContentId.set(body.contentId, deflated === undefined ? undefined : factsOf(deflated, body));
    }
    return this.#byContentId.get(body.contentId);
  }
}

function factsOf(
  deflated: Uint8Array,
  { rawBytes, crc32 }: { readonly rawBytes: number; readonly crc32: number },
): CapacityFacts | undefined {
  try {
    return capacityFactsOfContent(Fragment.verify(deflated, rawBytes, crc32).raw());
  } catch {
    return undefined;
  }
}
