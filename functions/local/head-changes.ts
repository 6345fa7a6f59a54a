/** Where the local service learns that heads changed: the engine's stream, or what stands for one. */
import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { StreamHandler } from '../lambdas/notify/announce.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { ChangeFeed } from './change-feed.ts';
import { type StreamReader, startStreamReader } from './stream-reader.ts';

/** A source of records for the notify handler. */
export interface HeadChanges {
  /** Begins to hand records over; none of this process's writes before it is missed. */
  start(handler: StreamHandler, telemetry: Telemetry): void;
  /** Ends with the batch under way. */
  stop(): Promise<void>;
}

/** Of the engine that the service brought along, which has no stream. */
export function changesOfOwnEngine(client: DynamoDBClient, table: string): HeadChanges {
  return new ChangeFeed(client, table);
}

/**
 * Of an engine that others write to as well: its stream, from the oldest record on, since what
 * was told before is not known. Where it has none, only this process's own writes are seen.
 */
export async function changesOfEndpoint(
  client: DynamoDBClient,
  endpoint: string,
  table: string,
  telemetry: Telemetry,
): Promise<HeadChanges> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
  if (Table?.LatestStreamArn === undefined) {
    telemetry.warn('the table has no stream, so changes by other processes bring no event', {
      endpoint,
      table,
    });
    return new ChangeFeed(client, table);
  }
  const streams = new DynamoDBStreamsClient({
    endpoint,
    region: client.config.region,
    credentials: client.config.credentials,
  });
  let reader: StreamReader | undefined;
  return {
    start: (handler, telemetry) => {
      reader = startStreamReader({ dynamo: client, streams, table, handler, telemetry });
    },
    stop: async () => {
      await reader?.stop();
      streams.destroy();
    },
  };
}
