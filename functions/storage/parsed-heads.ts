/**
 * The heads of the last read of each shard, by the text that each was made of. A head whose text is
 * the same again is the same object: nothing of it is made again, and who keeps something that was made
 * of it finds it by the object.
 */
import type { Head } from './head.ts';
import { headFromItem, UnreadableHeadError } from './head-item.ts';
import { itemOfText } from './query-json.ts';

export interface ShardHeads {
  readonly heads: readonly Head[];
  readonly unreadable: readonly UnreadableHeadError[];
}

export class ParsedHeads {
  readonly #shards = new Map<number, ReadonlyMap<string, Head>>();

  isKnown(shard: number, text: string): boolean {
    return this.#shards.get(shard)?.has(text) ?? false;
  }

  /** The heads of all items of a shard, in their order. */
  parse(shard: number, items: readonly string[]): ShardHeads {
    const before = this.#shards.get(shard);
    const parsed = new Map<string, Head>();
    const unreadable: UnreadableHeadError[] = [];
    for (const text of items) {
      try {
        parsed.set(text, before?.get(text) ?? headFromItem(itemOfText(text)));
      } catch (error) {
        if (!(error instanceof UnreadableHeadError)) throw error;
        unreadable.push(error);
      }
    }
    this.#shards.set(shard, parsed);
    return { heads: [...parsed.values()], unreadable };
  }
}
