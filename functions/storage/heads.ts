/**
 * Heads in DynamoDB. Every read is strongly consistent: a counter that a reader was
 * given must never be followed by a lower one, on whichever instance it asks next.
 */
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { inIdOrder } from '../core/map/entry.ts';
import { HeadConflictError, TombstoneError } from './errors.ts';
import type { Head, Omission, Tombstone } from './head.ts';
import {
  HEAD_ATTRIBUTES,
  headFromItem,
  headToItem,
  type Item,
  tombstoneFromItem,
  tombstoneToItem,
  type UnreadableHeadError,
} from './head-item.ts';
import { ParsedHeads } from './parsed-heads.ts';
import { queryPage } from './query-json.ts';
import { RefusalStore } from './refusals.ts';
import { FLOOR_KEY, HEADS_KEY, headPartition, retiredPartition, shardOf, type Tables } from './tables.ts';

/** All heads of one read, and the ids of those that could not be read. */
export interface AllHeads {
  readonly heads: readonly Head[];
  readonly unreadable: readonly UnreadableHeadError[];
}

export class HeadStore {
  /** The last refused pushes, in partitions of the same table. */
  readonly refusals: RefusalStore;
  readonly #parsed = new ParsedHeads();

  constructor(
    private readonly client: DynamoDBClient,
    private readonly tables: Tables,
  ) {
    this.refusals = new RefusalStore(client, tables);
  }

  /** The head of one cluster, or nothing. One read unit. */
  async read(clusterId: string): Promise<Head | undefined> {
    const item = await this.#get(headPartition(this.#shard(clusterId)), clusterId);
    return item && headFromItem(item);
  }

  /**
   * The mark that a retired cluster left, or nothing. Ask only after {@link read} gave
   * nothing: retirement writes the mark before it deletes the head, so one of the two
   * is always there.
   */
  async readTombstone(clusterId: string): Promise<Tombstone | undefined> {
    const item = await this.#get(retiredPartition(this.#shard(clusterId)), clusterId);
    return item && tombstoneFromItem(item);
  }

  /** The counter that a cluster without head and mark must be above; 0 but in a restored table. */
  async readFloor(): Promise<bigint> {
    const item = await this.#get(FLOOR_KEY.shard, FLOOR_KEY.clusterId);
    return BigInt(item?.[HEAD_ATTRIBUTES.highWater]?.N ?? 0);
  }

  /** Every head, omitted ones too, in order of cluster id. Each shard is one consistent query, all at once. */
  async readAll(): Promise<AllHeads> {
    const shards = await Promise.all(
      Array.from({ length: this.tables.shards }, (_, shard) => this.readShard(shard)),
    );
    const heads = shards.flatMap((s) => s.heads);
    return { heads: inIdOrder(heads), unreadable: shards.flatMap((s) => s.unreadable) };
  }

  /** The heads of one shard. A head that is as it was at the last read is the same object. */
  async readShard(shard: number): Promise<AllHeads> {
    const items: string[] = [];
    let from: Item | undefined;
    do {
      const page = await queryPage(
        this.client,
        {
          TableName: this.tables.heads,
          ConsistentRead: true,
          // "shard" is one of DynamoDB's reserved words.
          KeyConditionExpression: '#shard = :shard',
          ExpressionAttributeNames: { '#shard': HEADS_KEY.partition },
          ExpressionAttributeValues: { ':shard': { S: headPartition(shard) } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        },
        (text) => this.#parsed.isKnown(shard, text),
      );
      items.push(...page.items);
      from = page.lastKey;
    } while (from !== undefined);
    return this.#parsed.parse(shard, items);
  }

  /**
   * Writes `next` if the head is still `seen`, the one that the caller's decision was
   * made on (absent: if there is none).
   *
   * ```text
   *  writer A   reads (9, X) ──────────────── refreshes X at 11 ──> must fail:
   *  writer B          └─ publishes Y at 10 ─┘
   * ```
   *
   * That the counter advances is not enough: A would put X, with X's contentSince,
   * over B's Y, and a scheduler that holds Y at 10 would read that its content
   * still stands. So the head must be the very one that was read, and as a second
   * belt the counter must advance, or the push be the one that set the mark.
   *
   * @throws HeadConflictError
   */
  async replace(seen: Head | undefined, next: Head): Promise<void> {
    const a = HEAD_ATTRIBUTES;
    const noHeadYet = 'attribute_not_exists(clusterId)';
    const headIsTheOneRead = [
      `${a.highWater} = :seenHighWater`,
      seen?.omission === undefined
        ? `attribute_not_exists(${a.omittedReason})`
        : `attribute_exists(${a.omittedReason})`,
      `${a.contentId} = :seenBodyId`,
    ].join(' AND ');
    const counterAdvances = `${a.highWater} < :highWater`;
    const samePushAgain = `${a.highWater} = :highWater AND ${a.contentId} = :bodyId AND ${a.collectedAt} = :collectedAt`;

    const item = headToItem(next, headPartition(this.#shard(next.clusterId)));
    await this.#putIf(
      item,
      seen === undefined ? noHeadYet : `${headIsTheOneRead} AND (${counterAdvances} OR (${samePushAgain}))`,
      seen === undefined
        ? undefined
        : {
            ':seenHighWater': { N: String(seen.highWater) },
            ':seenBodyId': { B: Buffer.from(seen.body.contentId, 'hex') },
            ':highWater': { N: String(next.highWater) },
            ':bodyId': { B: Buffer.from(next.body.contentId, 'hex') },
            ':collectedAt': { N: String(next.collectedAtNanos) },
          },
      next.clusterId,
    );
  }

  /**
   * Takes the cluster out of the map if its head is still `seen`, received time
   * included: a push that came meanwhile keeps it in.
   *
   * @throws HeadConflictError
   */
  async omit(seen: Head, reason: string, nowMs: number): Promise<Head> {
    const a = HEAD_ATTRIBUTES;
    const next: Head = { ...seen, omission: { reason, atMs: nowMs } };
    const noPushSince = `${a.highWater} = :seenHighWater AND ${a.receivedAt} = :seenReceivedAt`;
    const stillIncluded = `attribute_not_exists(${a.omittedReason})`;
    await this.#putIf(
      headToItem(next, headPartition(this.#shard(seen.clusterId))),
      `${noPushSince} AND ${stillIncluded}`,
      {
        ':seenHighWater': { N: String(seen.highWater) },
        ':seenReceivedAt': { N: String(seen.receivedAtMs) },
      },
      seen.clusterId,
    );
    return next;
  }

  /**
   * Keeps the mark of a head in its own partition, where it never expires. Writing it again
   * changes nothing, and it never lowers a mark that stands there.
   *
   * @throws RetiredMarkError if a higher mark is there
   */
  async putTombstone(mark: Tombstone): Promise<void> {
    const noTombstoneYet = 'attribute_not_exists(clusterId)';
    const tombstoneIsNotHigher = `${HEAD_ATTRIBUTES.highWater} <= :highWater`;
    try {
      await this.client.send(
        new PutItemCommand({
          TableName: this.tables.heads,
          Item: tombstoneToItem(mark, retiredPartition(this.#shard(mark.clusterId))),
          ConditionExpression: `${noTombstoneYet} OR ${tombstoneIsNotHigher}`,
          ExpressionAttributeValues: { ':highWater': { N: String(mark.highWater) } },
        }),
      );
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      throw new TombstoneError(mark.clusterId, mark.highWater, { cause: error });
    }
  }

  /**
   * Deletes a head that is out of the map and is still `seen`, the one whose mark was kept.
   * Only {@link retireHead} may call it, in the order that it explains.
   *
   * @throws HeadConflictError
   */
  async remove(seen: Head & { readonly omission: Omission }): Promise<void> {
    const a = HEAD_ATTRIBUTES;
    const noPushSince = `${a.highWater} = :seenHighWater AND ${a.receivedAt} = :seenReceivedAt`;
    // A head that came back and was omitted again is another one, though its push may be the same.
    const sameOmission = `${a.omittedAt} = :seenOmittedAt`;
    try {
      await this.client.send(
        new DeleteItemCommand({
          TableName: this.tables.heads,
          Key: {
            shard: { S: headPartition(this.#shard(seen.clusterId)) },
            clusterId: { S: seen.clusterId },
          },
          ConditionExpression: `${noPushSince} AND ${sameOmission}`,
          ExpressionAttributeValues: {
            ':seenHighWater': { N: String(seen.highWater) },
            ':seenReceivedAt': { N: String(seen.receivedAtMs) },
            ':seenOmittedAt': { N: String(seen.omission.atMs) },
          },
        }),
      );
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      throw new HeadConflictError(seen.clusterId, undefined, { cause: error });
    }
  }

  async #putIf(item: Item, condition: string, values: Item | undefined, clusterId: string): Promise<void> {
    try {
      await this.client.send(
        new PutItemCommand({
          TableName: this.tables.heads,
          Item: item,
          ConditionExpression: condition,
          ...(values === undefined ? {} : { ExpressionAttributeValues: values }),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      );
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      // Not every engine returns the item; who needs it then reads it.
      throw new HeadConflictError(clusterId, error.Item && headFromItem(error.Item), { cause: error });
    }
  }

  async #get(partition: string, clusterId: string): Promise<Item | undefined> {
    const response = await this.client.send(
      new GetItemCommand({
        TableName: this.tables.heads,
        Key: { shard: { S: partition }, clusterId: { S: clusterId } },
        ConsistentRead: true,
      }),
    );
    return response.Item;
  }

  #shard(clusterId: string): number {
    return shardOf(clusterId, this.tables.shards);
  }
}
