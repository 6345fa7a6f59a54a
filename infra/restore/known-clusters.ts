/**
 * What all sources together know of each cluster. Marks only go up: whatever order the items
 * come in, and however often, the highest mark that any of them has is kept, with the head that
 * had it.
 */
import type { Head, Tombstone } from '../../functions/storage/head.ts';
import {
  HEAD_ATTRIBUTES,
  headFromItem,
  type Item,
  tombstoneFromItem,
  UnreadableHeadError,
} from '../../functions/storage/head-item.ts';
import { FLOOR_KEY, isHeadPartition, isRefusedPartition } from '../../functions/storage/tables.ts';

/** A cluster of which at least a mark is known. */
export interface KnownCluster {
  readonly clusterId: string;
  /** The highest counter that was accepted, as far as any source knows. */
  readonly highWater: bigint;
  /** The head with the highest mark; absent where none was readable. */
  readonly head?: Head;
  readonly retired?: Tombstone;
}

export class KnownClusters {
  readonly #clusters = new Map<string, KnownCluster>();
  readonly #unreadable = new Set<string>();
  #floor = 0n;

  /** Takes an item of ClusterHeads, from a table or out of a stream. */
  add(item: Item): void {
    const partition = item.shard?.S ?? '';
    if (partition === FLOOR_KEY.shard) {
      const floor = markOf(item) ?? 0n;
      this.#floor = higher(this.#floor, floor);
      return;
    }
    if (isRefusedPartition(partition)) return;
    try {
      if (isHeadPartition(partition)) this.#addHead(headFromItem(item));
      else this.#addTombstone(tombstoneFromItem(item));
    } catch (error) {
      if (!(error instanceof UnreadableHeadError)) throw error;
      this.#unreadable.add(error.clusterId);
      const highWater = markOf(item);
      if (highWater !== undefined) this.#raise({ clusterId: error.clusterId, highWater });
    }
  }

  /** In order of id. */
  get clusters(): readonly KnownCluster[] {
    return [...this.#clusters.values()].sort((a, b) => (a.clusterId < b.clusterId ? -1 : 1));
  }

  /** Clusters of which there is an item and no source knows a mark: what they may push cannot be told. */
  get lost(): readonly string[] {
    return [...this.#unreadable].filter((clusterId) => !this.#clusters.has(clusterId)).sort();
  }

  /** The highest floor that any source has. */
  get floor(): bigint {
    return this.#floor;
  }

  #addHead(head: Head): void {
    const known = this.#clusters.get(head.clusterId);
    const isNewer = known?.head === undefined || isAfter(head, known.head);
    this.#raise({ clusterId: head.clusterId, highWater: head.highWater, ...(isNewer ? { head } : {}) });
  }

  #addTombstone(retired: Tombstone): void {
    const known = this.#clusters.get(retired.clusterId)?.retired;
    const isHigher = known === undefined || retired.highWater > known.highWater;
    const { clusterId, highWater } = retired;
    this.#raise({ clusterId, highWater, ...(isHigher ? { retired } : {}) });
  }

  #raise(found: KnownCluster): void {
    const known = this.#clusters.get(found.clusterId);
    const highWater = higher(found.highWater, known?.highWater ?? 0n);
    this.#clusters.set(found.clusterId, { ...known, ...found, highWater });
  }
}

/** The larger of two counters, for which there is no Math.max. */
export function higher(a: bigint, b: bigint): bigint {
  if (a < b) return b;
  return a;
}

function isAfter(a: Head, b: Head): boolean {
  return a.highWater === b.highWater ? a.receivedAtMs > b.receivedAtMs : a.highWater > b.highWater;
}

function markOf(item: Item): bigint | undefined {
  const value = item[HEAD_ATTRIBUTES.highWater]?.N;
  return value !== undefined && /^\d+$/.test(value) ? BigInt(value) : undefined;
}
