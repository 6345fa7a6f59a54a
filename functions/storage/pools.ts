/**
 * The configured pools, in a table of their own: one item a pool, all in one partition, so
 * that one strongly consistent query reads them all in the order of their names.
 *
 * A pool's version is the digest of what it says. So a writer that expects a version expects
 * a content, and the same change again, after a response that was lost, finds itself done.
 */
import { createHash } from 'node:crypto';
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type CreateTableCommandInput,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandOutput,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { ResourceMapError } from '../core/errors.ts';
import { type Pool, PoolSchema } from '../gen/resourcemap/bundle/v1/pool_pb.ts';
import { MAX_LISTED_POOL_BYTES, MAX_POOL_BYTES } from './limits.ts';
import { tableOfStrings } from './tables.ts';

export const POOLS_KEY = { partition: 'kind', sort: 'poolName' } as const;

/** A pool as it is. */
export interface KeptPool {
  readonly pool: Pool;
  readonly version: string;
}

/**
 * What must stand there for a write to happen. `new`: nothing, or the very pool that is to be
 * written, so that nobody's pool is overwritten unseen.
 */
export type PoolCondition =
  | { readonly kind: 'new' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'present' }
  | { readonly kind: 'version'; readonly versions: readonly string[] };

export type PutOutcome =
  | { readonly outcome: 'created' | 'replaced'; readonly version: string }
  /** The condition does not hold, and nothing was changed. */
  | { readonly outcome: 'refused' };

/** DynamoDB takes as many values in one IN. */
const MAX_IN_VALUES = 100;

const NOTHING_THERE = 'attribute_not_exists(poolName)';
const SOMETHING_THERE = 'attribute_exists(poolName)';
const DONE_BEFORE = 'version = :new';

type ResponseMetadata = PutItemCommandOutput['$metadata'];

type Item = Record<string, AttributeValue>;

export class PoolStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly table: string,
    private readonly maxListedBytes = MAX_LISTED_POOL_BYTES,
  ) {}

  /** The pool of this name, or nothing. Strongly consistent. */
  async read(poolName: string): Promise<KeptPool | undefined> {
    const { Item: item } = await this.client.send(
      new GetItemCommand({ TableName: this.table, Key: keyOf(poolName), ConsistentRead: true }),
    );
    return item && poolFromItem(item);
  }

  /**
   * All pools, in the order of their names. Strongly consistent.
   *
   * @throws ResourceMapError `map_too_large`, as soon as more than the bound was read
   */
  async list(): Promise<readonly KeptPool[]> {
    const pools: KeptPool[] = [];
    let bytes = 0;
    let from: Item | undefined;
    do {
      const page = await this.client.send(
        new QueryCommand({
          TableName: this.table,
          ConsistentRead: true,
          KeyConditionExpression: 'kind = :kind',
          ExpressionAttributeValues: { ':kind': { S: KIND } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        }),
      );
      for (const item of page.Items ?? []) {
        bytes += item.body?.B?.length ?? 0;
        if (bytes > this.maxListedBytes) throw tooManyPools(this.maxListedBytes);
        pools.push(poolFromItem(item));
      }
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return pools;
  }

  /**
   * Writes the pool under its name, in one conditional write.
   *
   * @throws ResourceMapError `body_too_large`
   */
  async put(pool: Pool, condition: PoolCondition): Promise<PutOutcome> {
    const body = toBinary(PoolSchema, pool);
    if (body.length > MAX_POOL_BYTES) {
      throw new ResourceMapError(
        'body_too_large',
        `The pool has ${body.length} bytes in Protobuf; at most ${MAX_POOL_BYTES} are kept. Leave profiles to the instance-type catalogue, or make two pools of it.`,
        { limit: MAX_POOL_BYTES },
      );
    }
    const version = versionOf(pool);
    const { expression, values } = clauseOf(condition, version);
    try {
      const { Attributes: before } = await this.client.send(
        new PutItemCommand({
          TableName: this.table,
          Item: { ...keyOf(pool.poolName), body: { B: body }, version: { S: version } },
          ConditionExpression: expression,
          ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
          ReturnValues: 'ALL_OLD',
        }),
      );
      return { outcome: before === undefined ? 'created' : 'replaced', version };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      if (wasRepeated(error) && (await this.read(pool.poolName))?.version === version) {
        return { outcome: condition.kind === 'absent' ? 'created' : 'replaced', version };
      }
      return { outcome: 'refused' };
    }
  }

  /**
   * Removes a pool.
   *
   * @param versions that it may have; whatever it has, where not given
   */
  async remove(poolName: string, versions?: readonly string[]): Promise<'removed' | 'absent' | 'refused'> {
    const expected = versions === undefined ? undefined : oneOf(versions);
    try {
      const { Attributes: before, $metadata } = await this.client.send(
        new DeleteItemCommand({
          TableName: this.table,
          Key: keyOf(poolName),
          ...(expected === undefined
            ? {}
            : {
                ConditionExpression: expected.expression,
                ExpressionAttributeValues: expected.values,
              }),
          ReturnValues: 'ALL_OLD',
        }),
      );
      return before === undefined && !wasRepeated({ $metadata }) ? 'absent' : 'removed';
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return wasRepeated(error) && (await this.read(poolName)) === undefined ? 'removed' : 'refused';
    }
  }
}

/** Whether the SDK sent a command more than once, so that an earlier attempt may have been carried out. */
function wasRepeated({ $metadata }: { readonly $metadata: ResponseMetadata }): boolean {
  return ($metadata.attempts ?? 1) > 1;
}

function tooManyPools(maxBytes: number): ResourceMapError {
  return new ResourceMapError(
    'map_too_large',
    `The configured pools have more than ${maxBytes} bytes together, which is the most that is read at once; ` +
      'read them one by one, send the pools along with a question about bundles, or remove those that nobody needs.',
    { limit: maxBytes },
  );
}

const KIND = 'pool';

function keyOf(poolName: string): Item {
  return { kind: { S: KIND }, poolName: { S: poolName } };
}

interface Clause {
  readonly expression: string;
  readonly values: Item;
}

function clauseOf(condition: PoolCondition, version: string): Clause {
  const own: Item = { ':new': { S: version } };
  switch (condition.kind) {
    case 'absent':
      return { expression: NOTHING_THERE, values: {} };
    case 'present':
      return { expression: SOMETHING_THERE, values: {} };
    case 'new':
      return { expression: `${NOTHING_THERE} OR ${DONE_BEFORE}`, values: own };
    case 'version': {
      const { expression, values } = oneOf(condition.versions);
      return { expression: `${expression} OR ${DONE_BEFORE}`, values: { ...values, ...own } };
    }
  }
}

/**
 * DynamoDB takes 4 KB of expression, which is over 600 versions; the headers of a request, which end
 * at 16 KB, have room for 430.
 */
function oneOf(versions: readonly string[]): Clause {
  // No version is empty, so an empty list expects what never is.
  const asked = versions.length === 0 ? [''] : [...new Set(versions)];
  const names = asked.map((_, i) => `:${i}`);
  const clauses = Array.from({ length: Math.ceil(names.length / MAX_IN_VALUES) }, (_, i) => {
    const some = names.slice(i * MAX_IN_VALUES, (i + 1) * MAX_IN_VALUES);
    return `version IN (${some.join(', ')})`;
  });
  return {
    expression: clauses.join(' OR '),
    values: Object.fromEntries(asked.map((version, i) => [`:${i}`, { S: version }])),
  };
}

/** The digest of what the pool says, whatever the order in which a client writes the entries of a map. */
function versionOf(pool: Pool): string {
  const inOrder = (_: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const said = JSON.stringify(toJson(PoolSchema, pool), inOrder);
  return createHash('sha256').update(said).digest('hex').slice(0, 32);
}

/** @throws Error for an item that is no pool: it must not be taken for one that is not there */
function poolFromItem(item: Item): KeptPool {
  const body = item.body?.B;
  const version = item.version?.S;
  if (body === undefined || version === undefined) {
    throw new Error(`The pool ${JSON.stringify(item.poolName?.S)} cannot be read.`);
  }
  return { pool: fromBinary(PoolSchema, body), version };
}

/** For engines without infrastructure code of their own: the local service and the tests. */
export function poolsTableDefinition(table: string): CreateTableCommandInput {
  return tableOfStrings(table, POOLS_KEY);
}
