/** What the node types of the last accepted snapshot were, for the one rule that asks. */
import { Fragment } from '../../core/map/fragment.ts';
import { type NodeTypeFacts, nodeTypeFactsOfBody } from '../../core/snapshot/rules/index.ts';
import type { BodyStore } from '../../storage/contents.ts';
import type { Prior } from '../../storage/decide.ts';

/** Reads each body at most once for a push, and none whose content the push repeats. */
export class PreviousNodeTypes {
  readonly #byBodyId = new Map<string, readonly NodeTypeFacts[] | undefined>();

  constructor(private readonly bodies: BodyStore) {}

  /**
   * The node types of `prior`; undefined where the body is the push's own, in which nothing
   * can have changed, and where there is none to be read. A body that is damaged or gone
   * withholds a warning and must not withhold the push, which mends it.
   *
   * @param bodyId of the push
   */
  async of(prior: Prior, bodyId: string): Promise<readonly NodeTypeFacts[] | undefined> {
    if (prior.kind !== 'head') return undefined;
    const { body } = prior.head;
    if (body.bodyId === bodyId) return undefined;
    if (!this.#byBodyId.has(body.bodyId)) {
      const deflated = (await this.bodies.read([body])).get(body.bodyId);
      this.#byBodyId.set(body.bodyId, deflated === undefined ? undefined : factsOf(deflated, body));
    }
    return this.#byBodyId.get(body.bodyId);
  }
}

function factsOf(
  deflated: Uint8Array,
  { rawBytes, crc32 }: { readonly rawBytes: number; readonly crc32: number },
): readonly NodeTypeFacts[] | undefined {
  try {
    return nodeTypeFactsOfBody(Fragment.verify(deflated, rawBytes, crc32).raw());
  } catch {
    return undefined;
  }
}
