import { randomUUID } from 'node:crypto';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pool, PoolSchema } from '../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { createTable } from '../../functions/storage/create-tables.ts';
import { PoolStore, poolsTableDefinition } from '../../functions/storage/pools.ts';
import { localClient } from '../engines/dynamodb-local.ts';
import { engines } from '../engines/store.ts';

/** A pool whose content is one word. */
function pool(poolName: string, word: string): Pool {
  return create(PoolSchema, {
    poolName,
    tiers: [{ tierName: word, source: { case: 'cluster', value: {} } }],
  });
}

const VERSION = /^[0-9a-f]{32}$/;
const NEW = { kind: 'new' } as const;
const ABSENT = { kind: 'absent' } as const;
const PRESENT = { kind: 'present' } as const;
const expecting = (...versions: readonly string[]) => ({ kind: 'version', versions }) as const;

describe.each(engines)('pools on $name', ({ endpoint }) => {
  const client = localClient(endpoint);
  const table = `pools-${randomUUID()}`;
  const store = new PoolStore(client, table);

  /** Creates a pool of its own and gives its name and version. */
  async function created(word: string): Promise<{ readonly name: string; readonly version: string }> {
    const name = randomUUID();
    const put = await store.put(pool(name, word), NEW);
    if (put.outcome !== 'created') throw new Error(`The pool was ${put.outcome}.`);
    return { name, version: put.version };
  }
  const wordOf = async (name: string) => (await store.read(name))?.pool.tiers[0]?.tierName;

  beforeAll(() => createTable(client, poolsTableDefinition(table)));
  afterAll(() => client.destroy());

  it.each(['gpu', 'a b', 'ä漢😀', 'constructor', '__proto__', 'x'.repeat(253), 'ä'.repeat(126)])(
    'keep what was put under the name %j, and give nothing where nothing was',
    async (name) => {
      expect(await store.read(name)).toBeUndefined();
      const { outcome, version } = (await store.put(pool(name, 'w'), NEW)) as {
        outcome: string;
        version: string;
      };
      expect(outcome).toBe('created');
      expect(version).toMatch(VERSION);
      expect(await store.read(name)).toEqual({ pool: pool(name, 'w'), version });
    },
  );

  it('have the same version for the same content, in whatever order a client writes a map', async () => {
    const withAttributes = (attributes: Record<string, string>, totalCapacity: number) =>
      create(PoolSchema, {
        poolName: 'ordered',
        tiers: [
          {
            source: {
              case: 'elastic',
              value: {
                instanceTypes: [
                  {
                    instanceType: 't',
                    profile: { totalCapacity, capabilities: [{ name: 'n', count: 1, attributes }] },
                  },
                ],
              },
            },
          },
        ],
      });
    const first = await store.put(withAttributes({ a: '1', b: '2' }, 0), NEW);
    const again = await store.put(withAttributes({ b: '2', a: '1' }, -0), NEW);
    expect(again).toEqual({ ...first, outcome: 'replaced' });
  });

  it('have another version for another content, and the old one for the old content', async () => {
    const { name, version } = await created('a');
    const other = await store.put(pool(name, 'b'), PRESENT);
    const again = await store.put(pool(name, 'a'), PRESENT);
    expect([other, again]).toEqual([
      { outcome: 'replaced', version: expect.not.stringMatching(version) },
      { outcome: 'replaced', version },
    ]);
  });

  it('are replaced only where the version is one of those that are expected', async () => {
    const { name, version } = await created('a');
    expect(await store.put(pool(name, 'b'), expecting('f'.repeat(32)))).toEqual({ outcome: 'refused' });
    expect(await store.put(pool(name, 'b'), expecting())).toEqual({ outcome: 'refused' });
    expect(await wordOf(name)).toBe('a');
    expect(await store.put(pool(name, 'b'), expecting('f'.repeat(32), version))).toMatchObject({
      outcome: 'replaced',
    });
    expect(await store.put(pool(name, 'c'), expecting(version))).toEqual({ outcome: 'refused' });
    expect(await wordOf(name)).toBe('b');
  });

  it('are replaced and removed by who expects one of many versions, the last of them as well', async () => {
    const { name, version } = await created('a');
    const others = Array.from({ length: 430 }, (_, n) => String(n).padStart(32, '0'));
    expect(await store.put(pool(name, 'b'), expecting(...others))).toEqual({ outcome: 'refused' });
    const put = await store.put(pool(name, 'b'), expecting(...others, version, version));
    if (put.outcome !== 'replaced') throw new Error(`The pool was ${put.outcome}.`);
    expect(await store.remove(name, others)).toBe('refused');
    expect(await store.remove(name, [...others, put.version])).toBe('removed');
  });

  it('take a change that was made before for made, since its client may not know', async () => {
    const { name, version } = await created('a');
    await store.put(pool(name, 'b'), expecting(version));
    expect(await store.put(pool(name, 'b'), expecting(version))).toMatchObject({ outcome: 'replaced' });
    expect(await store.put(pool(name, 'b'), NEW)).toMatchObject({ outcome: 'replaced' });
  });

  it('are not overwritten by who expects nothing there, or says nothing', async () => {
    const { name } = await created('a');
    expect(await store.put(pool(name, 'b'), NEW)).toEqual({ outcome: 'refused' });
    expect(await store.put(pool(name, 'a'), ABSENT)).toEqual({ outcome: 'refused' });
    expect(await wordOf(name)).toBe('a');
  });

  it('are not created by who expects one there', async () => {
    const name = randomUUID();
    expect(await store.put(pool(name, 'a'), PRESENT)).toEqual({ outcome: 'refused' });
    expect(await store.put(pool(name, 'a'), expecting('f'.repeat(32)))).toEqual({ outcome: 'refused' });
    expect(await store.read(name)).toBeUndefined();
    expect(await store.put(pool(name, 'a'), ABSENT)).toMatchObject({ outcome: 'created' });
  });

  it('let one of many writers of one version win, and tell the others', async () => {
    const { name, version } = await created('start');
    const words = Array.from({ length: 8 }, (_, i) => `writer ${i}`);
    const outcomes = await Promise.all(
      words.map(async (word) => ({ word, ...(await store.put(pool(name, word), expecting(version))) })),
    );
    const winners = outcomes.filter(({ outcome }) => outcome === 'replaced');
    expect(winners.length).toBe(1);
    expect(await wordOf(name)).toBe(winners[0]?.word);
  });

  it('let one of many creators win', async () => {
    const name = randomUUID();
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => store.put(pool(name, `creator ${i}`), NEW)),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'created').length).toBe(1);
  });

  it('are removed, on a version or on none', async () => {
    const { name, version } = await created('a');
    expect(await store.remove(name, ['f'.repeat(32)])).toBe('refused');
    expect(await store.remove(name, [])).toBe('refused');
    expect(await wordOf(name)).toBe('a');
    expect(await store.remove(name, ['f'.repeat(32), version])).toBe('removed');
    expect(await store.remove(name, [version])).toBe('refused');
    expect(await store.remove(name)).toBe('absent');
    const { name: other } = await created('a');
    expect(await store.remove(other)).toBe('removed');
  });

  it('are as large as an item holds, and refused beyond', async () => {
    const large = (bytes: number) => pool('large', 'x'.repeat(bytes));
    await expect(store.put(large(380_000), NEW)).rejects.toThrow(
      '[body_too_large] The pool has 380017 bytes in Protobuf; at most 380000 are kept. Leave profiles to the instance-type catalogue, or make two pools of it.',
    );
    expect(await store.put(large(379_900), NEW)).toMatchObject({ outcome: 'created' });
    expect(await wordOf('large')).toHaveLength(379_900);
  });

  it('are listed in the order of their names, over as many pages as it takes', async () => {
    const other = `pools-${randomUUID()}`;
    const own = new PoolStore(client, other);
    await expect(own.list()).rejects.toThrow();
    await createTable(client, poolsTableDefinition(other));
    expect(await own.list()).toEqual([]);
    const names = ['c', 'a', 'ä', 'Z', 'b', 'd'];
    for (const name of names) await own.put(pool(name, 'x'.repeat(300_000)), NEW);
    const listed = (await own.list()).map((kept) => kept.pool.poolName);
    expect(listed).toEqual(['Z', 'a', 'b', 'c', 'd', 'ä']);
  });

  it('are listed as long as they are no more than can be read at once, and distinguished from few', async () => {
    const other = `pools-${randomUUID()}`;
    await createTable(client, poolsTableDefinition(other));
    const bounded = new PoolStore(client, other, 900_000);
    for (const name of ['a', 'b', 'c']) await bounded.put(pool(name, 'x'.repeat(290_000)), NEW);
    expect(await bounded.list()).toHaveLength(3);
    await bounded.put(pool('d', 'x'.repeat(290_000)), NEW);
    await expect(bounded.list()).rejects.toThrow(
      '[map_too_large] The configured pools have more than 900000 bytes together, which is the most that is read at once; ' +
        'read them one by one, send the pools along with a question about bundles, or remove those that nobody needs.',
    );
    expect((await bounded.read('d'))?.pool.poolName).toBe('d');
  });

  it('that cannot be read are not taken for none', async () => {
    const name = randomUUID();
    await client.send(
      new PutItemCommand({ TableName: table, Item: { kind: { S: 'pool' }, poolName: { S: name } } }),
    );
    await expect(store.read(name)).rejects.toThrow(`The pool "${name}" cannot be read.`);
  });
});
