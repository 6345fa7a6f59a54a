/** The model and the engines answer the same commands alike, whatever the commands. */
import {
  type AttributeValue,
  BatchGetItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { type Command, DynamoDbModel, STRICT } from './dynamodb-model.ts';
import type { Item } from './values.ts';

const engines = inject('engines');
const TABLE = 'Model';
const KEYS = ['a', 'b', 'c'].map((sort) => ({ p: { S: 'p' }, s: { S: sort } }));

const key = fc.constantFrom(...KEYS);
const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.bigInt({ min: -3n, max: 3n }).map((n) => ({ N: String(n) })),
  fc.constantFrom({ N: '18446744073709551615' }, { N: '18446744073709551614' }, { N: '100' }),
  fc.constantFrom({ S: '' }, { S: 'x' }, { S: 'ä' }),
  fc.constantFrom({ B: Uint8Array.of(1) }, { B: Uint8Array.of(1, 0) }),
);
const comparison = fc
  .record({
    left: fc.constantFrom('v', 'w', '#v'),
    operator: fc.constantFrom('=', '<>', '<', '<=', '>', '>='),
    right: fc.constantFrom(':v', ':w'),
  })
  .map(({ left, operator, right }) => `${left} ${operator} ${right}`);
const existence = fc.constantFrom(
  'attribute_exists(v)',
  'attribute_not_exists(v)',
  'attribute_exists(s)',
  'attribute_not_exists(#v)',
);
const condition = fc.letrec<{ node: string; leaf: string }>((tie) => ({
  leaf: fc.oneof(comparison, existence),
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc
      .tuple(tie('node'), fc.constantFrom('AND', 'OR'), tie('node'))
      .map(([a, op, b]) => `(${a}) ${op} (${b})`),
    fc.tuple(tie('leaf'), tie('leaf'), tie('leaf')).map(([a, b, c]) => `${a} AND ${b} OR ${c}`),
    tie('node').map((inner) => `NOT (${inner})`),
  ),
})).node;

/** Only names and values that an expression uses may be given, and all that it uses must be. */
function bound(expression: string | undefined, v: object, w: object) {
  if (expression === undefined) return {};
  const values = Object.entries({ ':v': v, ':w': w }).filter(([name]) => expression.includes(name));
  return {
    ConditionExpression: expression,
    ...(values.length === 0 ? {} : { ExpressionAttributeValues: Object.fromEntries(values) as never }),
    ...(expression.includes('#v') ? { ExpressionAttributeNames: { '#v': 'v' } } : {}),
  };
}

function itemOf(key: Item, v: AttributeValue | null, w: AttributeValue | null): Item {
  return { ...key, ...(v === null ? {} : { v }), ...(w === null ? {} : { w }) };
}

const command = fc.oneof(
  fc
    .record({
      key,
      v: fc.option(value),
      w: fc.option(value),
      condition: fc.option(condition),
      a: value,
      b: value,
    })
    .map(
      ({ key, v, w, condition, a, b }) =>
        new PutItemCommand({
          TableName: TABLE,
          Item: itemOf(key, v, w),
          ReturnValues: 'ALL_OLD',
          ReturnConsumedCapacity: 'TOTAL',
          ...bound(condition ?? undefined, a, b),
        }),
    ),
  fc.record({ key, condition: fc.option(condition), a: value, b: value }).map(
    ({ key, condition, a, b }) =>
      new DeleteItemCommand({
        TableName: TABLE,
        Key: key,
        ReturnValues: 'ALL_OLD',
        ReturnConsumedCapacity: 'TOTAL',
        ...bound(condition ?? undefined, a, b),
      }),
  ),
  fc.record({ key, consistent: fc.boolean() }).map(
    ({ key, consistent }) =>
      new GetItemCommand({
        TableName: TABLE,
        Key: key,
        ConsistentRead: consistent,
        ReturnConsumedCapacity: 'TOTAL',
      }),
  ),
  fc
    .record({ limit: fc.option(fc.integer({ min: 1, max: 4 })), from: fc.option(key), back: fc.boolean() })
    .map(
      ({ limit, from, back }) =>
        new QueryCommand({
          TableName: TABLE,
          ConsistentRead: true,
          KeyConditionExpression: '#p = :p',
          ExpressionAttributeNames: { '#p': 'p' },
          ExpressionAttributeValues: { ':p': { S: 'p' } },
          ScanIndexForward: !back,
          ReturnConsumedCapacity: 'TOTAL',
          ...(limit === null ? {} : { Limit: limit }),
          ...(from === null ? {} : { ExclusiveStartKey: from }),
        }),
    ),
  // Without its units, of which dynalite takes half for a consistent one.
  fc.constant(new ScanCommand({ TableName: TABLE, ConsistentRead: true })),
  fc
    .uniqueArray(key, { minLength: 1, selector: (k) => k.s.S })
    .map(
      (keys) => new BatchGetItemCommand({ RequestItems: { [TABLE]: { Keys: keys, ConsistentRead: true } } }),
    ),
);

/** What matters of a response, in an order of its own. */
function essence(output: Record<string, unknown>): unknown {
  const plain = JSON.parse(
    JSON.stringify(output, (_, v) => (v instanceof Uint8Array ? [...v] : v)),
  ) as Record<string, never>;
  const { Item, Items, Attributes, LastEvaluatedKey, Responses, ConsumedCapacity } = plain as Record<
    string,
    unknown
  >;
  const sorted = (Responses as Record<string, { s: { S: string } }[]> | undefined)?.[TABLE]?.sort((a, b) =>
    a.s.S < b.s.S ? -1 : 1,
  );
  return {
    Item,
    Items,
    Attributes,
    LastEvaluatedKey,
    batch: sorted,
    units: (ConsumedCapacity as { CapacityUnits?: number } | undefined)?.CapacityUnits,
  };
}

async function outcome(run: () => Promise<object> | object): Promise<unknown> {
  try {
    return essence((await run()) as Record<string, unknown>);
  } catch (error) {
    if (error instanceof Error && /^(ConditionalCheckFailed|Validation)Exception$/.test(error.name))
      return error.name;
    throw error;
  }
}

describe.each(engines)('The model beside $name', (engine) => {
  const client = new DynamoDBClient({
    endpoint: engine.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: `model${process.pid}`, secretAccessKey: 'local' },
  });
  afterAll(() => client.destroy());
  /** The overloads of `send` have no case for one of several commands. */
  const send = (command: Command): Promise<object> => client.send(command as GetItemCommand);
  let created: Promise<unknown> | undefined;
  const create = () => {
    created ??= client.send(
      new CreateTableCommand({
        TableName: TABLE,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [
          { AttributeName: 'p', AttributeType: 'S' },
          { AttributeName: 's', AttributeType: 'S' },
        ],
        KeySchema: [
          { AttributeName: 'p', KeyType: 'HASH' },
          { AttributeName: 's', KeyType: 'RANGE' },
        ],
      }),
    );
    return created;
  };

  it('answers random commands alike: items, conditions, pages, consumed units', async () => {
    await create();
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 25 }), async (commands) => {
        for (const each of KEYS) await client.send(new DeleteItemCommand({ TableName: TABLE, Key: each }));
        const model = new DynamoDbModel({ [TABLE]: { partition: 'p', sort: 's' } }, STRICT);
        for (const each of commands) {
          const real = await outcome(() => send(each));
          expect(await outcome(() => model.execute(each)), JSON.stringify(each.input)).toEqual(real);
        }
      }),
      { numRuns: 40, seed: 1 },
    );
  });

  it('refuses an item above 400 KB, a batch with a key twice, and one of more than 100 keys', async () => {
    await create();
    const model = new DynamoDbModel({ [TABLE]: { partition: 'p', sort: 's' } }, STRICT);
    const batch = (keys: readonly { p: { S: string }; s: { S: string } }[]) =>
      new BatchGetItemCommand({ RequestItems: { [TABLE]: { Keys: [...keys] } } });
    const [first] = KEYS;
    if (first === undefined) throw new Error('no key');
    for (const each of [
      new PutItemCommand({ TableName: TABLE, Item: { ...first, v: { B: Buffer.alloc(410_000) } } }),
      batch([first, first]),
      batch(Array.from({ length: 101 }, (_, i) => ({ p: { S: 'p' }, s: { S: String(i) } }))),
    ]) {
      expect(await outcome(() => send(each))).toBe('ValidationException');
      expect(await outcome(() => model.execute(each))).toBe('ValidationException');
    }
  });

  it('gives pages of one megabyte', async () => {
    await create();
    const model = new DynamoDbModel({ [TABLE]: { partition: 'p', sort: 's' } }, STRICT);
    for (let i = 0; i < 5; i++) {
      const put = new PutItemCommand({
        TableName: TABLE,
        Item: { p: { S: 'pages' }, s: { S: String(i) }, v: { B: Buffer.alloc(300_000) } },
      });
      await client.send(put);
      model.execute(put);
    }
    let from: Record<string, { S: string }> | undefined;
    const sizes: number[] = [];
    do {
      const query = new QueryCommand({
        TableName: TABLE,
        ConsistentRead: true,
        KeyConditionExpression: 'p = :p',
        ExpressionAttributeValues: { ':p': { S: 'pages' } },
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const real = await client.send(query);
      const mine = model.execute(query) as typeof real;
      expect(mine.Items?.map((item) => item.s)).toEqual(real.Items?.map((item) => item.s));
      expect(mine.LastEvaluatedKey).toEqual(real.LastEvaluatedKey);
      sizes.push(real.Items?.length ?? 0);
      from = real.LastEvaluatedKey as typeof from;
    } while (from !== undefined);
    // Otherwise nothing was divided, and this test would say nothing.
    expect(sizes.length).toBeGreaterThan(1);
  });
});
