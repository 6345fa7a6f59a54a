/** Where marks are to be found after data was lost: tables, and the stream of the table that lost it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type Shard,
} from '@aws-sdk/client-dynamodb-streams';
import type { Item } from '../../functions/storage/head-item.ts';

/** All items of a table, as it is now. */
export async function* scanTable(dynamo: DynamoDBClient, table: string): AsyncGenerator<Item> {
  let from: Item | undefined;
  do {
    const page = await dynamo.send(
      new ScanCommand({
        TableName: table,
        ConsistentRead: true,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      }),
    );
    yield* page.Items ?? [];
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
}

/**
 * A shard that is still open has no end to be read to. DynamoDB answers with empty pages while it
 * looks for the next record, so one says nothing; so many in a row say that there is none.
 */
export const EMPTY_PAGES_TO_THE_END = 100;

/** DynamoDB allows five reads of a shard a second. */
const EMPTY_PAGE_PAUSE_MS = 200;

/** Both images of every record that a stream still has: 24 hours of them, of a deleted table too. */
export async function* readStream(
  streams: DynamoDBStreamsClient,
  streamArn: string,
  pauseMs = EMPTY_PAGE_PAUSE_MS,
): AsyncGenerator<Item> {
  for await (const { ShardId } of shardsOf(streams, streamArn)) {
    const { ShardIterator } = await streams.send(
      new GetShardIteratorCommand({ StreamArn: streamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }),
    );
    let iterator = ShardIterator;
    for (let empty = 0; iterator !== undefined && empty < EMPTY_PAGES_TO_THE_END; ) {
      const { Records = [], NextShardIterator } = await streams.send(
        new GetRecordsCommand({ ShardIterator: iterator }),
      );
      for (const { dynamodb } of Records) {
        if (dynamodb?.OldImage !== undefined) yield dynamodb.OldImage as Item;
        if (dynamodb?.NewImage !== undefined) yield dynamodb.NewImage as Item;
      }
      iterator = NextShardIterator;
      empty = Records.length > 0 ? 0 : empty + 1;
      if (Records.length === 0 && iterator !== undefined) await sleep(pauseMs);
    }
  }
}

async function* shardsOf(streams: DynamoDBStreamsClient, streamArn: string): AsyncGenerator<Shard> {
  let last: string | undefined;
  do {
    const { StreamDescription } = await streams.send(
      new DescribeStreamCommand({
        StreamArn: streamArn,
        ...(last === undefined ? {} : { ExclusiveStartShardId: last }),
      }),
    );
    yield* StreamDescription?.Shards ?? [];
    last = StreamDescription?.LastEvaluatedShardId;
  } while (last !== undefined);
}
