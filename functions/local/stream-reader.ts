/**
 * Reads a table's DynamoDB stream and hands every record to the handler, in each shard in its
 * order, a shard only after its parent. It stands in for Lambda's event source mapping where
 * the engine is DynamoDB Local (or DynamoDB) and the service runs locally.
 *
 * Where an iterator, a shard or the whole stream is gone, which DynamoDB Local brings about more
 * often than DynamoDB, it looks the shards up again and goes on after the last record that the
 * handler was done with.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type Shard,
  type _Record as StreamRecord,
  TrimmedDataAccessException,
} from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBRecord } from 'aws-lambda';
import type { StreamHandler } from '../lambdas/notify/announce.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { imageOf } from './change-feed.ts';
import { deliverRecords } from './event-source.ts';

/** DynamoDB allows five reads of a shard a second. */
const POLL_MS = 250;

/** New shards come about every four hours, and at once where the engine restarted. */
const DISCOVER_MS = 1_000;

/** What GetRecords gives at most. */
const MAX_RECORDS = 1_000;

/**
 * The last record of each shard, by its sequence number, that the handler was done with. In
 * memory the reader begins at the stream's oldest record, a day back at most; who keeps it
 * somewhere goes on where it was.
 */
export type Positions = Pick<Map<string, string>, 'get' | 'set'>;

export interface StreamReaderDeps {
  readonly dynamo: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly table: string;
  readonly handler: StreamHandler;
  readonly telemetry: Telemetry;
  readonly positions?: Positions;
}

/** A reader that runs. */
export interface StreamReader {
  /** Ends with the batches under way. */
  stop(): Promise<void>;
}

export function startStreamReader(deps: StreamReaderDeps): StreamReader {
  const stopping = new AbortController();
  const running = new Reader(deps, stopping.signal).run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

class Reader {
  readonly #positions: Positions;
  /** Shards that are read at the moment. */
  readonly #lanes = new Map<string, Promise<void>>();
  /** Shards that were read to their end. */
  readonly #finished = new Set<string>();
  /** Shards whose position is older than what the stream still has. */
  readonly #trimmed = new Set<string>();

  constructor(
    private readonly deps: StreamReaderDeps,
    private readonly signal: AbortSignal,
  ) {
    this.#positions = deps.positions ?? new Map();
  }

  async run(): Promise<void> {
    while (!this.signal.aborted) {
      try {
        await this.#startLanes();
      } catch (error) {
        this.deps.telemetry.error('stream not found, trying again', {
          table: this.deps.table,
          cause: error,
        });
      }
      // A shard that ended, or was interrupted, is a reason to look earlier.
      await Promise.race([this.#pause(DISCOVER_MS), ...this.#lanes.values()]);
      await this.#pause(POLL_MS);
    }
    await Promise.all(this.#lanes.values());
  }

  async #startLanes(): Promise<void> {
    const { streamArn, shards } = await this.#describe();
    const listed = new Set(shards.map((shard) => shard.ShardId));
    for (const shard of shards) {
      const { ShardId: shardId, ParentShardId: parent } = shard;
      if (shardId === undefined || this.#lanes.has(shardId) || this.#finished.has(shardId)) continue;
      // A parent that is not listed any more was trimmed, so there is nothing left to read of it.
      if (parent !== undefined && listed.has(parent) && !this.#finished.has(parent)) continue;
      const lane = this.#read(streamArn, shardId, shard).finally(() => this.#lanes.delete(shardId));
      this.#lanes.set(shardId, lane);
    }
  }

  async #describe(): Promise<{ readonly streamArn: string; readonly shards: readonly Shard[] }> {
    const { dynamo, streams, table } = this.deps;
    // Asked each time: a table that was made again has a stream of another name.
    const streamArn = (await dynamo.send(new DescribeTableCommand({ TableName: table }))).Table
      ?.LatestStreamArn;
    if (streamArn === undefined) throw new Error(`The table ${table} has no stream.`);
    const shards: Shard[] = [];
    let from: string | undefined;
    do {
      const { StreamDescription: page } = await streams.send(
        new DescribeStreamCommand({
          StreamArn: streamArn,
          ...(from === undefined ? {} : { ExclusiveStartShardId: from }),
        }),
      );
      shards.push(...(page?.Shards ?? []));
      from = page?.LastEvaluatedShardId;
    } while (from !== undefined);
    return { streamArn, shards };
  }

  /** Reads one shard until its end, or until something about it must be looked up again. */
  async #read(streamArn: string, shardId: string, { SequenceNumberRange: range }: Shard): Promise<void> {
    const { streams, handler, telemetry } = this.deps;
    const end = range?.EndingSequenceNumber;
    try {
      let iterator = await this.#iterator(streamArn, shardId);
      while (iterator !== undefined && !this.signal.aborted) {
        const page = await streams.send(
          new GetRecordsCommand({ ShardIterator: iterator, Limit: MAX_RECORDS }),
        );
        const records = (page.Records ?? []).map(lambdaRecord);
        const all = await deliverRecords({ handler, telemetry, signal: this.signal }, records, (last) => {
          this.#positions.set(shardId, last.dynamodb?.SequenceNumber ?? '');
          this.#trimmed.delete(shardId);
        });
        if (!all) return;
        iterator = page.NextShardIterator;
        if (this.#hasReached(shardId, end)) break;
        if (records.length === 0) await this.#pause(POLL_MS);
      }
      // Without an iterator a closed shard has ended. An open one, DynamoDB Local's, is looked up again.
      if (end !== undefined && !this.signal.aborted) this.#finished.add(shardId);
    } catch (error) {
      if (error instanceof TrimmedDataAccessException) this.#loseTrimmed(shardId);
      else telemetry.warn('shard interrupted, looking it up again', { shardId, cause: error });
    }
  }

  /** A closed shard may go on giving iterators after its last record. */
  #hasReached(shardId: string, end: string | undefined): boolean {
    const position = this.#positions.get(shardId);
    return end !== undefined && position !== undefined && BigInt(position) >= BigInt(end);
  }

  #loseTrimmed(shardId: string): void {
    this.#trimmed.add(shardId);
    this.deps.telemetry.error('records were lost: the stream keeps a day, and the position is older', {
      shardId,
      position: this.#positions.get(shardId),
    });
  }

  async #iterator(streamArn: string, shardId: string): Promise<string | undefined> {
    const after = this.#trimmed.has(shardId) ? undefined : this.#positions.get(shardId);
    const response = await this.deps.streams.send(
      new GetShardIteratorCommand({
        StreamArn: streamArn,
        ShardId: shardId,
        ...(after === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: after }),
      }),
    );
    return response.ShardIterator;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
  }
}

/** A record of the streams API as Lambda delivers it. */
function lambdaRecord({ dynamodb, eventID, eventName, ...record }: StreamRecord): DynamoDBRecord {
  const { Keys, OldImage, NewImage, SequenceNumber, ApproximateCreationDateTime } = dynamodb ?? {};
  return {
    ...(eventID === undefined ? {} : { eventID }),
    ...(eventName === undefined ? {} : { eventName }),
    ...(record.awsRegion === undefined ? {} : { awsRegion: record.awsRegion }),
    eventSource: 'aws:dynamodb',
    dynamodb: {
      ...(ApproximateCreationDateTime === undefined
        ? {}
        : { ApproximateCreationDateTime: ApproximateCreationDateTime.getTime() / 1_000 }),
      ...(Keys === undefined ? {} : { Keys: imageOf(Keys) }),
      ...(OldImage === undefined ? {} : { OldImage: imageOf(OldImage) }),
      ...(NewImage === undefined ? {} : { NewImage: imageOf(NewImage) }),
      ...(SequenceNumber === undefined ? {} : { SequenceNumber }),
      StreamViewType: 'NEW_AND_OLD_IMAGES',
    },
  };
}
