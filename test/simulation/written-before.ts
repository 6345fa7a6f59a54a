/**
 * Items that the code of e34a89b wrote (test/data/written-by-e34a89b), for worlds that begin with a
 * table of that time.
 */
import { readFileSync } from 'node:fs';
import { headFromItem, type Item, tombstoneFromItem } from '../../functions/storage/head-item.ts';
import { headPartition, isHeadPartition, retiredPartition, shardOf } from '../../functions/storage/tables.ts';
import type { DynamoDbModel } from './dynamodb-model.ts';
import type { PushAttempt } from './history.ts';
import { TABLES } from './service.ts';

/** Its clusters, but for the one whose counter is the last that there is. */
export const CLUSTERS = ['published', 'refreshed', 'omitted', 'returned', 'retired'] as const;

interface Fixture {
  readonly tables: { readonly ClusterHeads: readonly Item[]; readonly SnapshotBodies: readonly Item[] };
}

let fixture: Fixture | undefined;

function load(): Fixture {
  fixture ??= JSON.parse(
    // From the root: bundled with a mutation, this module lies elsewhere.
    readFileSync('test/data/written-by-e34a89b/items.json', 'utf8'),
    (_key, value) => (typeof value?.base64 === 'string' ? Buffer.from(value.base64, 'base64') : value),
  ) as Fixture;
  return fixture;
}

/**
 * Fills the tables, and says what was pushed, as the history has it: the sample has one node of its first
 * type, which is variant 0.
 */
export function writeBefore(model: DynamoDbModel, clusterIds: readonly string[]): PushAttempt[] {
  const { ClusterHeads, SnapshotBodies } = load().tables;
  const heads = ClusterHeads.filter((item) => clusterIds.includes(item.clusterId?.S ?? ''));
  model.replace(
    TABLES.heads,
    heads.map((item) => {
      const shard = shardOf(item.clusterId?.S ?? '', TABLES.shards);
      return { ...item, shard: { S: isLive(item) ? headPartition(shard) : retiredPartition(shard) } };
    }),
  );
  model.replace(TABLES.contents, SnapshotBodies);
  return heads.map((item) => {
    const { clusterId, highWater, collectedAtNanos } = isLive(item)
      ? headFromItem(item)
      : tombstoneFromItem(item);
    return {
      kind: 'push attempt',
      clusterId,
      counter: highWater,
      variant: 0,
      collectedAtMs: Number(collectedAtNanos / 1_000_000n),
      atMs: 0,
    };
  });
}

function isLive(item: Item): boolean {
  return isHeadPartition(item.shard?.S ?? '');
}
