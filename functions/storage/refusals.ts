/**
 * The last refused push of each cluster, an item of its own beside the heads. An accepted push
 * does not touch it: a refusal is void once the head was received later, so clearing it costs
 * nothing.
 */
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { inIdOrder } from '../core/map/entry.ts';
import type { Head } from './head.ts';
import type { Item } from './head-item.ts';
import { HEADS_KEY, refusedPartition, shardOf, type Tables } from './tables.ts';

/** The last refused push of a cluster, whether or not one was ever accepted. */
export interface Refusal {
  readonly clusterId: string;
  /** Milliseconds since the epoch by our clock. */
  readonly atMs: number;
  /** Of the first refused push that `count` includes. */
  readonly sinceMs: number;
  /** A rule's code for a snapshot that breaks rules, else the problem's. */
  readonly code: string;
  readonly message: string;
  /** Refused pushes since `sinceMs` that one process saw: there may have been more. */
  readonly count: number;
}

/** Attribute names of a refusal. */
const REFUSAL_ATTRIBUTES = {
  at: 'at',
  since: 'since',
  code: 'code',
  message: 'message',
  count: 'count',
} as const;

/**
 * The refusal as it is to be shown beside `head`: nothing if a push was accepted later, and a
 * count of 1 if one was accepted between the first and the last of those that were counted.
 */
export function standingRefusal(
  refusal: Refusal | undefined,
  head: Pick<Head, 'receivedAtMs'> | undefined,
): Refusal | undefined {
  if (refusal === undefined || head === undefined) return refusal;
  if (head.receivedAtMs >= refusal.atMs) return undefined;
  return head.receivedAtMs < refusal.sinceMs ? refusal : { ...refusal, sinceMs: refusal.atMs, count: 1 };
}

export class RefusalStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly tables: Tables,
  ) {}

  /** Keeps a refusal in place of the one before. One write unit. */
  async put(refusal: Refusal): Promise<void> {
    const a = REFUSAL_ATTRIBUTES;
    await this.client.send(
      new PutItemCommand({
        TableName: this.tables.heads,
        Item: {
          ...this.#key(refusal.clusterId),
          [a.at]: { N: String(refusal.atMs) },
          [a.since]: { N: String(refusal.sinceMs) },
          [a.code]: { S: refusal.code },
          [a.message]: { S: refusal.message },
          [a.count]: { N: String(refusal.count) },
        },
      }),
    );
  }

  /** The last refusal of one cluster, or nothing. One read unit. */
  async read(clusterId: string): Promise<Refusal | undefined> {
    const { Item } = await this.client.send(
      new GetItemCommand({
        TableName: this.tables.heads,
        Key: this.#key(clusterId),
        ConsistentRead: true,
      }),
    );
    return Item && refusalFromItem(Item);
  }

  /** The refusals of every shard, in order of cluster id. */
  async readAll(): Promise<readonly Refusal[]> {
    const shards = await Promise.all(
      Array.from({ length: this.tables.shards }, (_, shard) => this.readShard(shard)),
    );
    return inIdOrder(shards.flat());
  }

  /** The refusals of one shard. */
  async readShard(shard: number): Promise<readonly Refusal[]> {
    const refusals: Refusal[] = [];
    let from: Item | undefined;
    do {
      const page = await this.client.send(
        new QueryCommand({
          TableName: this.tables.heads,
          ConsistentRead: true,
          KeyConditionExpression: '#shard = :shard',
          ExpressionAttributeNames: { '#shard': HEADS_KEY.partition },
          ExpressionAttributeValues: { ':shard': { S: refusedPartition(shard) } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        }),
      );
      for (const item of page.Items ?? []) {
        const refusal = refusalFromItem(item);
        if (refusal !== undefined) refusals.push(refusal);
      }
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return refusals;
  }

  /** Deletes the refusal if it is still `seen`; one that came meanwhile stays. */
  async remove(seen: Refusal): Promise<void> {
    try {
      await this.client.send(
        new DeleteItemCommand({
          TableName: this.tables.heads,
          Key: this.#key(seen.clusterId),
          ConditionExpression: '#at = :seenAt',
          ExpressionAttributeNames: { '#at': REFUSAL_ATTRIBUTES.at },
          ExpressionAttributeValues: { ':seenAt': { N: String(seen.atMs) } },
        }),
      );
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  }

  #key(clusterId: string): Item {
    return {
      shard: { S: refusedPartition(shardOf(clusterId, this.tables.shards)) },
      clusterId: { S: clusterId },
    };
  }
}

/** Nothing for an item that was edited by hand: a refusal is a hint, and must not hide the cluster's status. */
function refusalFromItem(item: Item): Refusal | undefined {
  const a = REFUSAL_ATTRIBUTES;
  const [atMs, sinceMs, count] = [a.at, a.since, a.count].map((name) => Number(item[name]?.N));
  const [clusterId, code, message] = ['clusterId', a.code, a.message].map((name) => item[name]?.S);
  if (!isInteger(atMs) || !isInteger(sinceMs) || !isInteger(count)) return undefined;
  if (clusterId === undefined || code === undefined || message === undefined) return undefined;
  return { clusterId, atMs, sinceMs, code, message, count };
}

function isInteger(value: number | undefined): value is number {
  return Number.isSafeInteger(value);
}
