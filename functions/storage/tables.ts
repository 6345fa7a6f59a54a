/**
 * The two tables, their keys and how a cluster finds its shard. The infrastructure,
 * the local service and the tests all take them from here.
 */
import { createHash } from 'node:crypto';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';

/** Names of the two tables in one deployment, and the number of shards, which is set once. */
export interface Tables {
  readonly heads: string;
  readonly contents: string;
  /**
   * Partitions over which heads are spread. One partition serves 3,000 read units a
   * second; eight let a poll of 1,000 clusters (some 90 units) run 270 times a second.
   */
  readonly shards: number;
}

export const DEFAULT_SHARDS = 8;

export const HEADS_KEY = { partition: 'shard', sort: 'clusterId' } as const;
export const CONTENTS_KEY = { partition: 'bodyId', sort: 'part' } as const;
/** The attribute of a body's parts by which DynamoDB expires them. */
export const CONTENTS_TTL = 'expiresAt';

/** The partition of a cluster's head: the first four bytes of SHA-256 of its id, modulo the shards. */
export function shardOf(clusterId: string, shards: number): number {
  return createHash('sha256').update(clusterId, 'utf8').digest().readUInt32BE(0) % shards;
}

/** Partition key of live heads. */
export function headPartition(shard: number): string {
  return String(shard);
}

/** Partition key of retired marks, which no poll reads. */
export function retiredPartition(shard: number): string {
  return `retired#${shard}`;
}

/** Partition key of the last refused pushes, which no poll reads either. */
export function refusedPartition(shard: number): string {
  return `${REFUSED_PREFIX}${shard}`;
}

const REFUSED_PREFIX = 'refused#';

/** Whether a partition holds refusals, which say nothing of any mark. */
export function isRefusedPartition(partition: string): boolean {
  return partition.startsWith(REFUSED_PREFIX);
}

/** Whether a partition holds live heads, for a reader of the table's stream, which sees every item. */
export function isHeadPartition(partition: string): boolean {
  return /^\d+$/.test(partition);
}

/**
 * The key of the floor: of clusters that are unknown, no counter up to it is taken. A table that
 * was restored has one, where it is not known which clusters were new when the data was lost.
 */
export const FLOOR_KEY = { shard: 'floor', clusterId: 'floor' } as const;

/** For engines without infrastructure code of their own: the local service and the tests. */
export function tableDefinitions(tables: Tables): readonly CreateTableCommandInput[] {
  return [
    {
      ...tableOfStrings(tables.heads, HEADS_KEY),
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    },
    {
      TableName: tables.contents,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: CONTENTS_KEY.partition, AttributeType: 'B' },
        { AttributeName: CONTENTS_KEY.sort, AttributeType: 'N' },
      ],
      KeySchema: [
        { AttributeName: CONTENTS_KEY.partition, KeyType: 'HASH' },
        { AttributeName: CONTENTS_KEY.sort, KeyType: 'RANGE' },
      ],
    },
  ];
}

/** A table, paid for by use, whose keys are both strings. */
export function tableOfStrings(
  table: string,
  key: { readonly partition: string; readonly sort: string },
): CreateTableCommandInput {
  return {
    TableName: table,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: key.partition, AttributeType: 'S' },
      { AttributeName: key.sort, AttributeType: 'S' },
    ],
    KeySchema: [
      { AttributeName: key.partition, KeyType: 'HASH' },
      { AttributeName: key.sort, KeyType: 'RANGE' },
    ],
  };
}
