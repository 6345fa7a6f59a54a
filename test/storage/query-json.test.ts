import { QueryCommand } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { itemOfText, queryPage, separateItems } from '../../functions/storage/query-json.ts';
import { commit, pushOf } from '../conformance/pushes.ts';
import { engines, freshStore } from '../engines/store.ts';

/** As DynamoDB writes it: members in any order, no spaces. */
function responseOf(items: readonly object[], itemsFirst: boolean): Buffer {
  const rest = { Count: items.length, ScannedCount: items.length };
  return Buffer.from(JSON.stringify(itemsFirst ? { Items: items, ...rest } : { ...rest, Items: items }));
}

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('}},{', '}},{"', '"Items":[', '\\', '"}}],"', 'x}},{"a":{"S":"', ']}', '{"', ''),
);
const item = fc.dictionary(
  fc.oneof(
    fc.constantFrom('clusterId', 'highWater', 'name'),
    hostile.filter((name) => name !== '__proto__'),
  ),
  fc.oneof(
    hostile.map((S) => ({ S })),
    fc.bigInt().map((n) => ({ N: String(n) })),
    fc.uint8Array().map((bytes) => ({ B: Buffer.from(bytes).toString('base64') })),
    fc.array(fc.record({ S: hostile })).map((L) => ({ L })),
  ),
  { minKeys: 1 },
);

describe('The items of a response', () => {
  it('are what a parser of JSON makes of it, whatever their texts hold and whichever are known', () => {
    fc.assert(
      fc.property(fc.array(item), fc.boolean(), fc.func(fc.boolean()), (items, itemsFirst, chance) => {
        const known = new Set(items.map((one) => JSON.stringify(one)).filter((text) => chance(text)));
        const { items: texts, rest } = separateItems(responseOf(items, itemsFirst), (text) =>
          known.has(text),
        );
        expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(items)));
        expect(rest).toEqual({ Count: items.length, ScannedCount: items.length });
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  it('are none of an empty page', () => {
    expect(separateItems(responseOf([], false), () => false)).toEqual({
      items: [],
      rest: { Count: 0, ScannedCount: 0 },
    });
  });
});

describe.each(engines)('On $name', (engine) => {
  it('a page has the items that the SDK gives, and a refusal is the one that the SDK throws', async () => {
    const store = await freshStore(engine, 1);
    for (const clusterId of ['a', 'b', 'c'])
      await commit(store, pushOf({ clusterId, counter: 1n, content: 'X' }));
    const input = {
      TableName: store.tables.heads,
      KeyConditionExpression: '#shard = :shard',
      ExpressionAttributeNames: { '#shard': 'shard' },
      ExpressionAttributeValues: { ':shard': { S: '0' } },
      Limit: 2,
    };
    const { Items, LastEvaluatedKey } = await store.client.send(new QueryCommand(input));
    const page = await queryPage(store.client, input, () => false);
    expect(page.items.map(itemOfText)).toEqual(
      Items?.map((one) =>
        Object.fromEntries(
          Object.entries(one).map(([name, value]) => [
            name,
            value.B === undefined ? value : { B: Buffer.from(value.B) },
          ]),
        ),
      ),
    );
    expect(page.lastKey).toEqual(LastEvaluatedKey);
    await expect(
      queryPage(store.client, { ...input, TableName: 'nothing' }, () => false),
    ).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
  });

  it('a head that is as it was is the same object, and one that moved is another', async () => {
    const store = await freshStore(engine, 1);
    for (const clusterId of ['a', 'b']) await commit(store, pushOf({ clusterId, counter: 1n, content: 'X' }));
    const [a, b] = (await store.heads.readAll()).heads;
    await commit(store, pushOf({ clusterId: 'b', counter: 2n, content: 'X' }));
    const [sameA, newB] = (await store.heads.readAll()).heads;
    expect(sameA).toBe(a);
    expect(newB).not.toBe(b);
    expect([b?.highWater, newB?.highWater]).toEqual([1n, 2n]);
  });
});
