/**
 * DynamoDB in memory: the commands that the service sends, with conditions, consistent and stale
 * reads, pages, batch limits, unprocessed keys, late TTL, consumed units, size limits and a
 * stream. It has no clock and no chance of its own: whatever the real one leaves open, `choices`
 * decides. `model.test.ts` holds it to DynamoDB Local and dynalite.
 */
import {
  type AttributeValue,
  type BatchGetItemCommandInput,
  ConditionalCheckFailedException,
  type DeleteItemCommandInput,
  type GetItemCommandInput,
  type PutItemCommandInput,
  type QueryCommandInput,
  type ScanCommandInput,
} from '@aws-sdk/client-dynamodb';
import { type Bindings, parseCondition } from './expression.ts';
import { compareValues, copyItem, type Item, sizeOf, textOfKey } from './values.ts';

export interface TableShape {
  readonly partition: string;
  readonly sort: string;
  /** The attribute by which items expire. */
  readonly ttl?: string;
  /** Whether writes are recorded, with new and old images. */
  readonly stream?: boolean;
}

/** What the real one decides by circumstances; each has the strictest answer as its default. */
export interface Choices {
  /** By how many writes of the item an eventually consistent read may be behind. */
  staleBy(writes: number): number;
  /** How many keys of a batch are processed. */
  processed(keys: number): number;
  /** Whether an item that has expired is deleted by now. */
  expired(): boolean;
}

export const STRICT: Choices = { staleBy: () => 0, processed: (keys) => keys, expired: () => false };

/** One write as the stream has it. */
export interface StreamRecord {
  readonly table: string;
  readonly partition: string;
  readonly keys: Item;
  readonly before?: Item;
  readonly after?: Item;
  readonly sequence: bigint;
}

export class ModelValidationError extends Error {
  override readonly name = 'ValidationException';
}

/** Source: "Quotas in Amazon DynamoDB". */
const MAX_ITEM_BYTES = 400 * 1_024;
const MAX_PAGE_BYTES = 1_024 * 1_024;
const MAX_BATCH_KEYS = 100;
const MAX_BATCH_BYTES = 16 * 1_024 * 1_024;
const READ_UNIT_BYTES = 4_096;
const WRITE_UNIT_BYTES = 1_024;

interface Stored {
  /** Newest last; undefined where the item was deleted. Bounded: nobody reads further back. */
  versions: (Item | undefined)[];
}
const KEPT_VERSIONS = 8;

export interface Command {
  readonly constructor: { readonly name: string };
  readonly input: object;
}

export class DynamoDbModel {
  readonly records: StreamRecord[] = [];
  readonly #tables = new Map<string, { shape: TableShape; partitions: Map<string, Map<string, Stored>> }>();
  #sequence = 0n;
  #nowS = 0;

  constructor(
    tables: Readonly<Record<string, TableShape>>,
    private readonly choices: Choices = STRICT,
  ) {
    for (const [name, shape] of Object.entries(tables))
      this.#tables.set(name, { shape, partitions: new Map() });
  }

  /** Moves the time by which items expire; how late they go is a choice. */
  tick(nowMs: number): void {
    this.#nowS = Math.floor(nowMs / 1_000);
  }

  /**
   * Carries a command out, whole, at this moment.
   *
   * @throws ConditionalCheckFailedException, ModelValidationError
   */
  execute(command: Command): object {
    switch (command.constructor.name) {
      case 'GetItemCommand':
        return this.#get(command.input as GetItemCommandInput);
      case 'PutItemCommand':
        return this.#put(command.input as PutItemCommandInput);
      case 'DeleteItemCommand':
        return this.#delete(command.input as DeleteItemCommandInput);
      case 'QueryCommand':
        return this.#query(command.input as QueryCommandInput);
      case 'ScanCommand':
        return this.#scan(command.input as ScanCommandInput);
      case 'BatchGetItemCommand':
        return this.#batchGet(command.input as BatchGetItemCommandInput);
      default:
        throw new Error(`The model does not know ${command.constructor.name}: add it, with its conformance.`);
    }
  }

  /** Every item of a table, for checks; not a command. */
  items(table: string): Item[] {
    const { partitions } = this.#table(table);
    return [...partitions.values()].flatMap((items) =>
      [...items.values()].flatMap(({ versions }) => {
        const latest = versions.at(-1);
        return latest === undefined ? [] : [copyItem(latest)];
      }),
    );
  }

  /** Puts items in place of all that a table has, as a restoration of the table does: no record in its stream. */
  replace(table: string, items: readonly Item[]): void {
    const { shape, partitions } = this.#table(table);
    partitions.clear();
    for (const item of items) {
      const partition = textOfKey(item[shape.partition]);
      const stored = partitions.get(partition) ?? new Map<string, Stored>();
      partitions.set(partition, stored);
      stored.set(textOfKey(item[shape.sort]), { versions: [copyItem(item)] });
    }
  }

  /** Loses an item outside of any command, as a fault of storage or of an operator would. */
  lose(table: string, key: Item): void {
    this.#stored(table, key)?.versions.push(undefined);
  }

  #get({ TableName, Key = {}, ConsistentRead }: GetItemCommandInput): object {
    const table = TableName ?? '';
    const item = this.#read(table, this.#keyOf(table, Key), ConsistentRead === true);
    return {
      ...(item === undefined ? {} : { Item: copyItem(item) }),
      ...consumed(table, readUnits(item === undefined ? 0 : sizeOf(item), ConsistentRead === true)),
    };
  }

  #put(input: PutItemCommandInput): object {
    const table = input.TableName ?? '';
    const item = copyItem(input.Item ?? {});
    const bytes = sizeOf(item);
    if (bytes > MAX_ITEM_BYTES)
      throw new ModelValidationError('Item size has exceeded the maximum allowed size');
    const key = this.#keyOf(table, item);
    const before = this.#latest(table, key);
    this.#check(
      input.ConditionExpression,
      bindingsOf(input),
      before,
      input.ReturnValuesOnConditionCheckFailure,
    );
    this.#write(table, key, item);
    return {
      ...(input.ReturnValues === 'ALL_OLD' && before !== undefined ? { Attributes: copyItem(before) } : {}),
      ...consumed(table, writeUnits(Math.max(bytes, before === undefined ? 0 : sizeOf(before)))),
    };
  }

  #delete(input: DeleteItemCommandInput): object {
    const table = input.TableName ?? '';
    const key = this.#keyOf(table, input.Key ?? {});
    const before = this.#latest(table, key);
    this.#check(
      input.ConditionExpression,
      bindingsOf(input),
      before,
      input.ReturnValuesOnConditionCheckFailure,
    );
    if (before !== undefined) this.#write(table, key, undefined);
    return {
      ...(input.ReturnValues === 'ALL_OLD' && before !== undefined ? { Attributes: copyItem(before) } : {}),
      ...consumed(table, writeUnits(before === undefined ? 0 : sizeOf(before))),
    };
  }

  #query(input: QueryCommandInput): object {
    const table = input.TableName ?? '';
    const { shape, partitions } = this.#table(table);
    if (input.IndexName !== undefined || input.FilterExpression !== undefined)
      throw new Error('The model knows neither indexes nor filters: add them, with their conformance.');
    const bindings = bindingsOf(input);
    const matches = parseCondition(input.KeyConditionExpression ?? '', bindings);
    const from = input.ExclusiveStartKey?.[shape.sort];
    const backwards = input.ScanIndexForward === false;
    const items = [...partitions.values()]
      .flatMap((partition) => [...partition.values()])
      .flatMap(({ versions }) => {
        const item = this.#version(table, versions, input.ConsistentRead === true);
        return item !== undefined && matches(item) ? [item] : [];
      })
      .sort((a, b) => (backwards ? -1 : 1) * (order(a[shape.sort], b[shape.sort]) ?? 0))
      .filter(
        (item) => from === undefined || (backwards ? -1 : 1) * (order(item[shape.sort], from) ?? 0) > 0,
      );
    const page: Item[] = [];
    let bytes = 0;
    for (const item of items) {
      if (page.length === input.Limit || bytes > MAX_PAGE_BYTES) break;
      page.push(item);
      bytes += sizeOf(item);
    }
    const last = page.at(-1);
    const more = page.length < items.length || page.length === input.Limit;
    return {
      Items: page.map(copyItem),
      Count: page.length,
      ...(more && last !== undefined ? { LastEvaluatedKey: this.#keyOf(table, last) } : {}),
      ...consumed(table, bytes === 0 ? 0 : readUnits(bytes, input.ConsistentRead === true)),
    };
  }

  /** In one page: the tables of the simulation are far below a megabyte. */
  #scan({ TableName = '', ...rest }: ScanCommandInput): object {
    if (
      rest.FilterExpression !== undefined ||
      rest.ExclusiveStartKey !== undefined ||
      rest.Limit !== undefined
    )
      throw new Error('The model scans tables whole: add filters and pages, with their conformance.');
    const { shape, partitions } = this.#table(TableName);
    const items = [...partitions.values()]
      .flatMap((partition) => [...partition.values()])
      .flatMap(({ versions }) => {
        const item = this.#version(TableName, versions, rest.ConsistentRead === true);
        return item === undefined ? [] : [item];
      })
      // Within a partition; the order of partitions is left open.
      .sort((a, b) => order(a[shape.sort], b[shape.sort]) ?? 0);
    const bytes = items.reduce((sum, item) => sum + sizeOf(item), 0);
    if (bytes > MAX_PAGE_BYTES)
      throw new Error('A scan of more than a page: add pages, with their conformance.');
    return { Items: items.map(copyItem), Count: items.length };
  }

  #batchGet({ RequestItems = {} }: BatchGetItemCommandInput): object {
    const keys = Object.entries(RequestItems).flatMap(([table, { Keys = [], ConsistentRead }]) =>
      Keys.map((key) => ({ table, key: this.#keyOf(table, key), consistent: ConsistentRead === true })),
    );
    if (keys.length > MAX_BATCH_KEYS)
      throw new ModelValidationError('Too many items requested for the BatchGetItem call');
    const texts = keys.map(({ table, key }) => JSON.stringify([table, ...Object.values(key).map(textOfKey)]));
    if (new Set(texts).size < texts.length)
      throw new ModelValidationError('Provided list of item keys contains duplicates');
    const Responses: Record<string, Item[]> = Object.fromEntries(
      Object.keys(RequestItems).map((table) => [table, []]),
    );
    const UnprocessedKeys: Record<string, { Keys: Item[]; ConsistentRead: boolean }> = {};
    const processed = this.choices.processed(keys.length);
    let bytes = 0;
    for (const [index, { table, key, consistent }] of keys.entries()) {
      const item = this.#read(table, key, consistent);
      const size = item === undefined ? 0 : sizeOf(item);
      if (index >= processed || (bytes > 0 && bytes + size > MAX_BATCH_BYTES)) {
        UnprocessedKeys[table] ??= { Keys: [], ConsistentRead: consistent };
        UnprocessedKeys[table].Keys.push(key);
        continue;
      }
      bytes += size;
      if (item !== undefined) Responses[table]?.push(copyItem(item));
    }
    return { Responses, UnprocessedKeys };
  }

  #check(
    condition: string | undefined,
    bindings: Bindings,
    before: Item | undefined,
    returned: string | undefined,
  ): void {
    if (condition === undefined || parseCondition(condition, bindings)(before)) return;
    throw new ConditionalCheckFailedException({
      message: 'The conditional request failed',
      $metadata: {},
      ...(returned === 'ALL_OLD' && before !== undefined ? { Item: copyItem(before) } : {}),
    });
  }

  #write(table: string, key: Item, after: Item | undefined): void {
    const { shape, partitions } = this.#table(table);
    const partition = textOfKey(key[shape.partition]);
    const items = partitions.get(partition) ?? new Map<string, Stored>();
    partitions.set(partition, items);
    const sort = textOfKey(key[shape.sort]);
    const stored = items.get(sort) ?? { versions: [] };
    items.set(sort, stored);
    const before = this.#alive(table, stored.versions.at(-1));
    stored.versions = [...stored.versions.slice(1 - KEPT_VERSIONS), after];
    if (shape.stream !== true || (before === undefined && after === undefined)) return;
    this.records.push({
      table,
      partition,
      keys: key,
      ...(before === undefined ? {} : { before: copyItem(before) }),
      ...(after === undefined ? {} : { after: copyItem(after) }),
      sequence: ++this.#sequence,
    });
  }

  #read(table: string, key: Item, consistent: boolean): Item | undefined {
    return this.#version(table, this.#stored(table, key)?.versions ?? [], consistent);
  }

  #latest(table: string, key: Item): Item | undefined {
    return this.#alive(table, this.#stored(table, key)?.versions.at(-1));
  }

  #version(table: string, versions: readonly (Item | undefined)[], consistent: boolean): Item | undefined {
    const back = consistent ? 0 : this.choices.staleBy(versions.length);
    return this.#alive(table, versions[versions.length - 1 - back]);
  }

  /** An expired item is there until it is deleted, which may take days. */
  #alive(table: string, item: Item | undefined): Item | undefined {
    const { ttl } = this.#table(table).shape;
    const expiresAt = ttl === undefined ? undefined : item?.[ttl]?.N;
    if (expiresAt === undefined || Number(expiresAt) > this.#nowS) return item;
    return this.choices.expired() ? undefined : item;
  }

  #stored(table: string, key: Item): Stored | undefined {
    const { shape, partitions } = this.#table(table);
    return partitions.get(textOfKey(key[shape.partition]))?.get(textOfKey(key[shape.sort]));
  }

  #keyOf(table: string, item: Item): Item {
    const { partition, sort } = this.#table(table).shape;
    const [p, s] = [item[partition], item[sort]];
    if (p === undefined || s === undefined)
      throw new ModelValidationError('The provided key element does not match the schema');
    return { [partition]: p, [sort]: s };
  }

  #table(name: string): { shape: TableShape; partitions: Map<string, Map<string, Stored>> } {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`Requested resource not found: table ${name}`);
    return table;
  }
}

function bindingsOf(input: {
  readonly ExpressionAttributeNames?: Record<string, string> | undefined;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue> | undefined;
}): Bindings {
  return { names: input.ExpressionAttributeNames ?? {}, values: input.ExpressionAttributeValues ?? {} };
}

function order(a: AttributeValue | undefined, b: AttributeValue | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : compareValues(a, b);
}

function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (consistent ? 1 : 0.5);
}

function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
}

function consumed(TableName: string, CapacityUnits: number): object {
  return { ConsumedCapacity: { TableName, CapacityUnits } };
}
