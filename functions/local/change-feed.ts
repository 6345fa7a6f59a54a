/**
 * A stream for an engine that has none: every write to ClusterHeads that goes through the
 * client becomes a record as DynamoDB's stream would have it, old and new image included.
 * The record is in memory alone, so a crash between a write and its event loses the event,
 * as it loses the bus and everybody who listens to it.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord, AttributeValue as StreamValue } from 'aws-lambda';
import type { StreamHandler } from '../lambdas/notify/announce.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Item } from '../storage/head-item.ts';
import { HEADS_KEY } from '../storage/tables.ts';
import { deliverRecords } from './event-source.ts';

/** Commands that change no item; any other that is not known here would be missed. */
const READS = new Set(['GetItemCommand', 'QueryCommand', 'DescribeTableCommand', 'CreateTableCommand']);

interface Input {
  readonly TableName?: string;
  readonly Item?: Item;
  readonly Key?: Item;
}

export class ChangeFeed {
  readonly #queue: DynamoDBRecord[] = [];
  readonly #stopping = new AbortController();
  #pump: Promise<void> = Promise.resolve();
  #pumping = false;
  #deliver: ((records: readonly DynamoDBRecord[]) => Promise<boolean>) | undefined;
  #lastSequence = 0n;
  /** The last write of each head that is under way. */
  readonly #writing = new Map<string, Promise<unknown>>();

  /** Follows all that `client` writes to the table from now on. */
  constructor(client: DynamoDBClient, table: string) {
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const input = args.input as Input;
        const command = context.commandName ?? '';
        if (input.TableName !== table || READS.has(command)) return next(args);
        const key = input.Item ?? input.Key;
        if (key === undefined || (command !== 'PutItemCommand' && command !== 'DeleteItemCommand')) {
          throw new Error(`${command} on ${table} would change heads without a record of it.`);
        }
        return this.#inTurn(`${key.shard?.S}/${key.clusterId?.S}`, async () => {
          const response = await next({ ...args, input: { ...args.input, ReturnValues: 'ALL_OLD' } });
          this.#add(key, (response.output as { Attributes?: Item }).Attributes, input.Item);
          return response;
        });
      },
      { step: 'initialize', name: `resourceMapChangeFeed:${table}` },
    );
  }

  /** Hands records to the handler, those from before too. */
  start(handler: StreamHandler, telemetry: Telemetry): void {
    this.#deliver = (records) =>
      deliverRecords({ handler, telemetry, signal: this.#stopping.signal }, records);
    this.#wake();
  }

  /** Ends with the batch under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#pump;
  }

  #wake(): void {
    if (this.#pumping || this.#deliver === undefined) return;
    this.#pumping = true;
    this.#pump = this.#drain(this.#deliver);
  }

  async #drain(deliver: (records: readonly DynamoDBRecord[]) => Promise<boolean>): Promise<void> {
    while (this.#queue.length > 0 && !this.#stopping.signal.aborted) {
      await deliver(this.#queue.splice(0));
    }
    // Here, without a tick in between, or a record that comes in that tick would wake nobody.
    this.#pumping = false;
  }

  /**
   * One write of a head at a time: the engine has an order for two that meet, but their answers
   * may come in the other.
   */
  async #inTurn<T>(key: string, write: () => Promise<T>): Promise<T> {
    const before = this.#writing.get(key) ?? Promise.resolve();
    const mine = before.then(write, write);
    this.#writing.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#writing.get(key) === mine) this.#writing.delete(key);
    }
  }

  #add(key: Item, before: Item | undefined, after: Item | undefined): void {
    if (before === undefined && after === undefined) return;
    const { [HEADS_KEY.partition]: partition, [HEADS_KEY.sort]: clusterId } = key;
    this.#queue.push({
      eventName: before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
      eventSource: 'resource-map:local',
      dynamodb: {
        ApproximateCreationDateTime: Math.floor(Date.now() / 1_000),
        Keys: imageOf({
          ...(partition === undefined ? {} : { [HEADS_KEY.partition]: partition }),
          ...(clusterId === undefined ? {} : { [HEADS_KEY.sort]: clusterId }),
        }),
        ...(before === undefined ? {} : { OldImage: imageOf(before) }),
        ...(after === undefined ? {} : { NewImage: imageOf(after) }),
        SequenceNumber: this.#nextSequence(),
        StreamViewType: 'NEW_AND_OLD_IMAGES',
      },
    });
    this.#wake();
  }

  /** Rises through restarts as well, as long as the clock does. */
  #nextSequence(): string {
    const byClock = BigInt(Date.now()) * 1_000_000n;
    this.#lastSequence = byClock > this.#lastSequence ? byClock : this.#lastSequence + 1n;
    return String(this.#lastSequence);
  }
}

/** An item as Lambda delivers it, binary in Base64; of the types that heads have. */
export function imageOf(item: Item): Record<string, StreamValue> {
  const image: Record<string, StreamValue> = {};
  for (const [name, value] of Object.entries(item)) {
    if (value.S !== undefined) image[name] = { S: value.S };
    else if (value.N !== undefined) image[name] = { N: value.N };
    else if (value.B !== undefined) image[name] = { B: Buffer.from(value.B).toString('base64') };
  }
  return image;
}
