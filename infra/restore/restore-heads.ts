/**
 * Restores ClusterHeads without a counter going back.
 *
 * A table restored from a point in time has the marks of then. What was published after it is
 * lost, but was served, so no counter up to it may be taken again: not from an agent's late
 * retry, not from an agent that lost its counter and asks us for the mark, and not from a
 * cluster that was new and is unknown now. So before anything is served:
 *
 * - **every mark is raised** to the highest that any source knows: the restored table, the table
 *   that is there, and the lost table's stream, which DynamoDB keeps for 24 hours, even when the
 *   table is deleted. Where the point in time is within these, the stream has every head that
 *   was ever served since, new clusters' too, and the marks are exact;
 * - where it is not, the operator names a **floor**, a counter that no cluster had reached. Every
 *   mark is raised to it, and so is every cluster's of which nothing is known;
 * - **every cluster is omitted.** What it last said may be lost, so it is unknown until it says
 *   it again: its agent's next push is above the mark, or is told the mark and then is;
 * - **every body is taken for lost**, so that this push writes its body again.
 *
 * May be repeated, at any point.
 */
import { DeleteItemCommand, type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { Head, Tombstone } from '../../functions/storage/head.ts';
import {
  HEAD_ATTRIBUTES,
  headToItem,
  type Item,
  tombstoneToItem,
} from '../../functions/storage/head-item.ts';
import { forEachConcurrently } from '../../functions/storage/retry.ts';
import {
  FLOOR_KEY,
  headPartition,
  isHeadPartition,
  retiredPartition,
  shardOf,
} from '../../functions/storage/tables.ts';
import { higher, type KnownCluster, KnownClusters } from './known-clusters.ts';
import { readStream, scanTable } from './sources.ts';

/** The reason in the heads of restored clusters. */
export const RESTORED = 'restored';

/** DynamoDB keeps a stream's records for 24 hours; the last of them is for reading it. */
const STREAM_HOURS = 23;

const CONCURRENCY = 8;

/** No snapshot has this body, so whatever is pushed is new content. */
const NO_BODY = '00'.repeat(32);

/** What tells of the time between the point that was restored and the loss. */
export type Since =
  | { readonly kind: 'stream'; readonly streamArn: string; readonly restoredToMs: number }
  | { readonly kind: 'floor'; readonly floor: bigint }
  /** Nothing was written since: the table is another stage's, or an earlier one's, that is paused or gone. */
  | { readonly kind: 'nothing' };

export interface RestoreOptions {
  readonly dynamo: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  /** The restored table. */
  readonly from: string;
  /** The stage's own table, which nothing else writes meanwhile. */
  readonly into: string;
  /** Of the stage of `into`. */
  readonly shards: number;
  readonly since: Since;
  readonly dryRun?: boolean;
  readonly now?: () => number;
  /** Between empty pages of the stream, milliseconds. */
  readonly pauseMs?: number;
}

export interface RestoreReport {
  /** Clusters that are omitted now, to come back with their next push. */
  readonly omitted: number;
  /** Clusters of which the mark alone is known, as of those that had been retired. */
  readonly marksOnly: number;
  /** Clusters whose mark is above the restored table's. */
  readonly raised: number;
  readonly floor: bigint;
  /** Items without a mark in any source; what these clusters push is refused until somebody looks at them. */
  readonly lost: readonly string[];
}

/** A restoration that could let a counter go back. Nothing was written. */
export class UnsafeRestoreError extends Error {
  override readonly name = 'UnsafeRestoreError';
}

/** @throws UnsafeRestoreError */
export async function restoreHeads(options: RestoreOptions): Promise<RestoreReport> {
  const { dynamo, streams, from, into, since, now = Date.now } = options;
  const restored = await collect(scanTable(dynamo, from));
  const standing = await collect(scanTable(dynamo, into));
  refuseOtherShards(standing, options);
  const known = new KnownClusters();
  for (const item of [...restored, ...standing]) known.add(item);
  if (since.kind === 'stream') {
    refuseGap(since, now());
    for await (const image of readStream(streams, since.streamArn, options.pauseMs)) known.add(image);
    // What was trimmed while it was read is missing.
    refuseGap(since, now());
  }
  const floor = higher(known.floor, since.kind === 'floor' ? since.floor : 0n);
  const clusters = known.clusters.map((cluster) => ({
    ...cluster,
    highWater: higher(cluster.highWater, floor),
  }));
  const lost = floor > 0n ? [] : known.lost;
  if (options.dryRun !== true) {
    await forEachConcurrently(clusters, CONCURRENCY, (cluster) => write(options, cluster, now()));
    if (floor > 0n) {
      await put(dynamo, into, floorItem(floor));
      // Below the floor nothing is taken of them, so their unreadable heads are in nobody's way.
      await forEachConcurrently(known.lost, CONCURRENCY, (clusterId) => removeHead(options, clusterId));
    }
  }
  const before = new KnownClusters();
  for (const item of restored) before.add(item);
  const marksBefore = new Map(before.clusters.map((cluster) => [cluster.clusterId, cluster.highWater]));
  return {
    omitted: clusters.filter(({ head }) => head !== undefined).length,
    marksOnly: clusters.filter(({ head }) => head === undefined).length,
    raised: clusters.filter(({ clusterId, highWater }) => highWater > (marksBefore.get(clusterId) ?? 0n))
      .length,
    floor,
    lost,
  };
}

function refuseGap({ restoredToMs }: Since & { kind: 'stream' }, nowMs: number): void {
  const hours = (nowMs - restoredToMs) / 3_600_000;
  if (hours >= 0 && hours <= STREAM_HOURS) return;
  throw new UnsafeRestoreError(
    hours < 0
      ? `The table was restored to ${new Date(restoredToMs).toISOString()}, which is yet to come; give the time that it was restored to.`
      : `The table was restored to ${new Date(restoredToMs).toISOString()}, ${hours.toFixed(1)} hours ago, and its stream can be relied on for ${STREAM_HOURS}. ` +
          'What was published before that is not in it, so give --floor with a counter that no cluster had reached.',
  );
}

/** A table whose items lie elsewhere was made with another number of shards. */
function refuseOtherShards(items: readonly Item[], { into, shards }: RestoreOptions): void {
  for (const { shard, clusterId } of items) {
    const [partition = '', id = ''] = [shard?.S, clusterId?.S];
    const expected = headPartition(shardOf(id, shards));
    if (!isHeadPartition(partition) || partition === expected) continue;
    throw new UnsafeRestoreError(
      `Cluster ${JSON.stringify(id)} lies in partition ${partition} of ${into}, and with ${shards} shards it would be in ${expected}; ` +
        'give --shards as the stage was deployed with it.',
    );
  }
}

async function write(options: RestoreOptions, cluster: KnownCluster, nowMs: number): Promise<void> {
  const { dynamo, into, shards } = options;
  const shard = shardOf(cluster.clusterId, shards);
  if (cluster.head !== undefined) {
    return put(
      dynamo,
      into,
      headToItem(omitted(cluster.head, cluster.highWater, nowMs), headPartition(shard)),
    );
  }
  await put(dynamo, into, tombstoneToItem(markOf(cluster), retiredPartition(shard)));
  await removeHead(options, cluster.clusterId);
}

function omitted(head: Head, highWater: bigint, nowMs: number): Head {
  const isRaised = highWater > head.highWater;
  return {
    ...head,
    highWater,
    omission: { reason: RESTORED, atMs: nowMs },
    // A reader that has what was lost must not take what comes for the same.
    contentSince: isRaised ? { counter: highWater, atMs: nowMs } : head.contentSince,
    body: { ...head.body, expiresAtS: 0 },
  };
}

function markOf({ clusterId, highWater, retired }: KnownCluster): Tombstone {
  if (retired?.highWater === highWater) return retired;
  return { clusterId, highWater, collectedAtNanos: retired?.collectedAtNanos ?? 0n, contentId: NO_BODY };
}

function floorItem(floor: bigint): Item {
  return {
    shard: { S: FLOOR_KEY.shard },
    clusterId: { S: FLOOR_KEY.clusterId },
    [HEAD_ATTRIBUTES.highWater]: { N: String(floor) },
  };
}

/** Never over a higher mark: what is there was read, but a stage that was not paused has moved on. */
async function put(dynamo: DynamoDBClient, table: string, item: Item): Promise<void> {
  const mark = item[HEAD_ATTRIBUTES.highWater];
  if (mark === undefined) throw new Error('An item without a mark was to be written.');
  await dynamo.send(
    new PutItemCommand({
      TableName: table,
      Item: item,
      ConditionExpression: `NOT ${HEAD_ATTRIBUTES.highWater} > :mark`,
      ExpressionAttributeValues: { ':mark': mark },
    }),
  );
}

async function removeHead({ dynamo, into, shards }: RestoreOptions, clusterId: string): Promise<void> {
  const partition = headPartition(shardOf(clusterId, shards));
  await dynamo.send(
    new DeleteItemCommand({ TableName: into, Key: { shard: { S: partition }, clusterId: { S: clusterId } } }),
  );
}

async function collect(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
