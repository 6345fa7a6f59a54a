/**
 * Bundles that are kept placed, in a table of their own: one item a bundle, all in one partition, so that one strongly
 * consistent query reads them in the order of their ids. Each write replaces the item that was read, by its revision,
 * which never goes back: a new one begins at now in milliseconds, above any that was there.
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
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { MAX_STORED_BYTES } from '../core/bundle/live/limits.ts';
import { ResourceMapError } from '../core/errors.ts';
import { type StoredBundle, StoredBundleSchema } from '../gen/resourcemap/bundle/v1/stored_pb.ts';
import { tableOfStrings } from './tables.ts';

export const BUNDLES_KEY = { partition: 'kind', sort: 'bundleId' } as const;

const KIND = 'bundle';

type Item = Record<string, AttributeValue>;

/** A bundle as it was read. */
export interface KeptBundle {
  readonly bundleId: string;
  readonly rev: bigint;
  readonly item: StoredBundle;
}

export class BundleStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly table: string,
  ) {}

  /** Strongly consistent. */
  async read(bundleId: string): Promise<KeptBundle | undefined> {
    const { Item: item } = await this.client.send(
      new GetItemCommand({ TableName: this.table, Key: keyOf(bundleId), ConsistentRead: true }),
    );
    return item && bundleFromItem(item);
  }

  /** All bundles, in the order of their ids. Strongly consistent. */
  async list(): Promise<readonly KeptBundle[]> {
    const bundles: KeptBundle[] = [];
    let from: Item | undefined;
    do {
      const page = await this.client.send(
        new QueryCommand({
          TableName: this.table,
          ConsistentRead: true,
          KeyConditionExpression: '#kind = :kind',
          ExpressionAttributeNames: { '#kind': BUNDLES_KEY.partition },
          ExpressionAttributeValues: { ':kind': { S: KIND } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        }),
      );
      for (const item of page.Items ?? []) bundles.push(bundleFromItem(item));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return bundles;
  }

  /**
   * Writes `next` if what was read is still there.
   *
   * @param seen absent: there was none
   * @returns absent: another writer came first, and nothing was written
   * @throws ResourceMapError `body_too_large`
   */
  async replace(
    bundleId: string,
    seen: KeptBundle | undefined,
    next: StoredBundle,
    nowMs: number,
  ): Promise<KeptBundle | undefined> {
    const rev = seen === undefined ? BigInt(Math.max(1, Math.floor(nowMs))) : seen.rev + 1n;
    const body = toBinary(StoredBundleSchema, next);
    if (body.length > MAX_STORED_BYTES) {
      throw new ResourceMapError(
        'body_too_large',
        `The bundle with its placements has ${body.length} bytes; at most ${MAX_STORED_BYTES} are kept. Make several bundles of it.`,
      );
    }
    const Item = { ...keyOf(bundleId), body: { B: body }, rev: { N: String(rev) } };
    const written = await ifUnchanged(seen, (condition) =>
      this.client.send(new PutItemCommand({ TableName: this.table, Item, ...condition })),
    );
    return written ? { bundleId, rev, item: next } : undefined;
  }

  /** Removes a bundle that is still the one that was read. @returns whether it was */
  async remove(seen: KeptBundle): Promise<boolean> {
    return ifUnchanged(seen, (condition) =>
      this.client.send(
        new DeleteItemCommand({ TableName: this.table, Key: keyOf(seen.bundleId), ...condition }),
      ),
    );
  }
}

function keyOf(bundleId: string): Item {
  return { [BUNDLES_KEY.partition]: { S: KIND }, [BUNDLES_KEY.sort]: { S: bundleId } };
}

async function ifUnchanged(
  seen: KeptBundle | undefined,
  write: (condition: {
    readonly ConditionExpression: string;
    readonly ExpressionAttributeValues?: Item;
  }) => Promise<unknown>,
): Promise<boolean> {
  try {
    await write(
      seen === undefined
        ? { ConditionExpression: 'attribute_not_exists(bundleId)' }
        : {
            ConditionExpression: 'rev = :seen',
            ExpressionAttributeValues: { ':seen': { N: String(seen.rev) } },
          },
    );
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

/** @throws Error for an item that is no bundle: it must not be taken for one that is not there */
export function bundleFromItem(item: Item): KeptBundle {
  const body = item.body?.B;
  const rev = item.rev?.N;
  const bundleId = item.bundleId?.S;
  if (body === undefined || rev === undefined || bundleId === undefined) {
    throw new Error(`The bundle ${JSON.stringify(bundleId)} cannot be read.`);
  }
  return { bundleId, rev: BigInt(rev), item: fromBinary(StoredBundleSchema, body) };
}

/** For engines without infrastructure code of their own: the local service and the tests. */
export function bundlesTableDefinition(table: string): CreateTableCommandInput {
  return {
    ...tableOfStrings(table, BUNDLES_KEY),
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  };
}
