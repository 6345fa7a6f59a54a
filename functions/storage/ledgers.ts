/**
 * Ledgers of claims, in a table of their own: one item a cluster. A write replaces the ledger that was read,
 * by its version, which never goes back: a new ledger begins at now in milliseconds, above any that was there.
 */
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type CreateTableCommandInput,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { isLive } from '../core/claims/evaluate.ts';
import { type Ledger, LedgerSchema } from '../gen/resourcemap/v1/ledger_pb.ts';
import { shardOf, tableOfStrings } from './tables.ts';

export const CLAIMS_KEY = { partition: 'shard', sort: 'clusterId' } as const;

/** Attribute names of a ledger. */
export const LEDGER_ATTRIBUTES = { version: 'version', holds: 'holds', until: 'until' } as const;

/** Where ledgers are. */
export interface ClaimsTable {
  readonly name: string;
  /** As of the heads. */
  readonly shards: number;
}

/** A ledger as it was read, or none. */
export interface StoredLedger {
  readonly clusterId: string;
  /** 0: there is none. */
  readonly version: bigint;
  readonly ledger: Ledger;
  /** Attributes that this version does not know, which a write keeps. */
  readonly others: Readonly<Record<string, AttributeValue>>;
}

type Item = Record<string, AttributeValue>;

export class LedgerStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly table: ClaimsTable,
  ) {}

  /** The ledger of a cluster. Strongly consistent; one read unit per 4 KB. */
  async read(clusterId: string): Promise<StoredLedger> {
    const { Item: item } = await this.client.send(
      new GetItemCommand({ TableName: this.table.name, Key: this.#keyOf(clusterId), ConsistentRead: true }),
    );
    return ledgerFromItem(clusterId, item);
  }

  /** Every ledger. Strongly consistent. */
  async readAll(): Promise<readonly StoredLedger[]> {
    const shards = await Promise.all(
      Array.from({ length: this.table.shards }, (_, shard) => this.readShard(shard)),
    );
    return shards.flat();
  }

  async readShard(shard: number): Promise<readonly StoredLedger[]> {
    const ledgers: StoredLedger[] = [];
    let from: Item | undefined;
    do {
      const page = await this.client.send(
        new QueryCommand({
          TableName: this.table.name,
          ConsistentRead: true,
          KeyConditionExpression: '#shard = :shard',
          ExpressionAttributeNames: { '#shard': CLAIMS_KEY.partition },
          ExpressionAttributeValues: { ':shard': { S: String(shard) } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        }),
      );
      for (const item of page.Items ?? []) ledgers.push(ledgerFromItem(item.clusterId?.S ?? '', item));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return ledgers;
  }

  /**
   * Writes `next` if the ledger is still the one that was read.
   *
   * @returns the new version; absent: another writer came first, and nothing was written
   */
  async replace(seen: StoredLedger, next: Ledger, nowMs: number): Promise<bigint | undefined> {
    const version = nextVersion(seen, nowMs);
    const a = LEDGER_ATTRIBUTES;
    const until = Math.min(...next.holds.filter(isLive).map(({ expiresAtMs }) => expiresAtMs));
    const item: Item = {
      ...seen.others,
      ...this.#keyOf(seen.clusterId),
      [a.version]: { N: String(version) },
      ...(next.holds.length === 0 && next.endedFloorMs === 0
        ? {}
        : { [a.holds]: { B: toBinary(LedgerSchema, next) } }),
      ...(Number.isFinite(until) ? { [a.until]: { N: String(Math.ceil(until / 1_000)) } } : {}),
    };
    return (await this.#ifUnchanged(seen, (condition) =>
      this.client.send(new PutItemCommand({ TableName: this.table.name, Item: item, ...condition })),
    ))
      ? version
      : undefined;
  }

  /** Removes a ledger that is still the one that was read. @returns whether it was */
  async remove(seen: StoredLedger): Promise<boolean> {
    return this.#ifUnchanged(seen, (condition) =>
      this.client.send(
        new DeleteItemCommand({ TableName: this.table.name, Key: this.#keyOf(seen.clusterId), ...condition }),
      ),
    );
  }

  async #ifUnchanged(
    { version }: StoredLedger,
    write: (condition: {
      readonly ConditionExpression: string;
      readonly ExpressionAttributeNames?: Record<string, string>;
      readonly ExpressionAttributeValues?: Item;
    }) => Promise<unknown>,
  ): Promise<boolean> {
    try {
      await write(
        version === 0n
          ? { ConditionExpression: 'attribute_not_exists(clusterId)' }
          : {
              ConditionExpression: '#version = :seen',
              ExpressionAttributeNames: { '#version': LEDGER_ATTRIBUTES.version },
              ExpressionAttributeValues: { ':seen': { N: String(version) } },
            },
      );
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  #keyOf(clusterId: string): Item {
    return {
      [CLAIMS_KEY.partition]: { S: String(shardOf(clusterId, this.table.shards)) },
      [CLAIMS_KEY.sort]: { S: clusterId },
    };
  }
}

/** The number of the next write, which is the fence of a claim that it accepts. */
export function nextVersion({ version }: StoredLedger, nowMs: number): bigint {
  if (version > 0n) return version + 1n;
  return BigInt(Math.max(1, Math.floor(nowMs)));
}

/** @throws Error for an item that is no ledger: it must not be taken for one without claims */
function ledgerFromItem(clusterId: string, item: Item | undefined): StoredLedger {
  if (item === undefined) return { clusterId, version: 0n, ledger: create(LedgerSchema), others: {} };
  const a = LEDGER_ATTRIBUTES;
  const version = item[a.version]?.N;
  if (version === undefined)
    throw new Error(`The ledger of cluster ${JSON.stringify(clusterId)} has no version.`);
  const holds = item[a.holds]?.B;
  const known = new Set<string>([...Object.values(a), CLAIMS_KEY.partition, CLAIMS_KEY.sort]);
  return {
    clusterId,
    version: BigInt(version),
    ledger: holds === undefined ? create(LedgerSchema) : fromBinary(LedgerSchema, holds),
    others: Object.fromEntries(Object.entries(item).filter(([name]) => !known.has(name))),
  };
}

/** For engines without infrastructure code of their own: the local service and the tests. */
export function claimsTableDefinition(table: string): CreateTableCommandInput {
  return {
    ...tableOfStrings(table, CLAIMS_KEY),
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  };
}
