import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { headToItem } from '../../functions/storage/head-item.ts';
import { headPartition, shardOf } from '../../functions/storage/tables.ts';
import { engines, freshStore, type TestStore } from '../engines/store.ts';
import { headOfManyModels } from '../storage/heads.ts';
import { commit, contentOf, headOf, pushOf } from './pushes.ts';

/** Every kind of id that is legal and hard on something. */
const CLUSTER_IDS = [
  'arn:aws:eks:eu-central-1:111122223333:cluster/gpu',
  'a b',
  ' a ',
  'A',
  'a',
  '50%',
  '%2F',
  'ä/漢字/😀',
  'a\u0308',
  '\u{10ffff}',
  'constructor',
  'toString',
  'snapshot',
  'x'.repeat(253),
  'ä'.repeat(126),
  '0',
];

describe.each(engines)('heads on $name', (engine) => {
  let store: TestStore;
  beforeAll(async () => {
    store = await freshStore(engine);
  });

  it.each(CLUSTER_IDS)('keep the cluster id %j as it came', async (clusterId) => {
    const { head } = await commit(store, pushOf({ clusterId, counter: 1n, content: 'X' }));
    const read = await headOf(store, clusterId);
    expect(read).toEqual(head);
    expect(read.clusterId).toBe(clusterId);
    expect(await contentOf(store, read)).toBe('X');
  });

  it('are all read together, whatever shard they are in, in the order of the ids’ bytes', async () => {
    const ids = (await store.heads.readAll()).heads.map((head) => head.clusterId);
    expect(ids).toEqual([...CLUSTER_IDS].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    expect(new Set(ids.map((id) => shardOf(id, store.tables.shards))).size).toBe(store.tables.shards);
  });

  it('that are as large as they get are read as they were written, models beyond the room counted', async () => {
    const written = headOfManyModels(500);
    await store.heads.replace(undefined, written);
    const { accelerators, omittedModels, ...rest } = await headOf(store, written.clusterId);
    expect({ ...written, ...rest }).toEqual(written);
    expect(accelerators).toEqual(written.accelerators.slice(0, accelerators.length));
    expect(accelerators.length + omittedModels).toBe(500);
  });

  it('of a cluster without accelerators are read as they were written', async () => {
    const written = { ...headOfManyModels(0), clusterId: 'none' };
    await store.heads.replace(undefined, written);
    expect(await headOf(store, 'none')).toEqual(written);
  });

  it('are read across pages, since a response ends at 1 MB', async () => {
    const large = await freshStore(engine, 1);
    const ids = ['1', '2', '3', '4', '5', '6', '7'];
    for (const clusterId of ids) {
      const identity = { ...headOfManyModels(0).identity, displayName: 'x'.repeat(300_000) };
      await large.heads.replace(undefined, { ...headOfManyModels(0), clusterId, identity });
    }
    const { heads } = await large.heads.readAll();
    expect(heads.map((head) => head.clusterId)).toEqual(ids);
  });

  it('that are damaged are named, and the others are read', async () => {
    const damaged = await freshStore(engine);
    await commit(damaged, pushOf({ clusterId: 'good', counter: 1n, content: 'X' }));
    const item = headToItem(
      { ...headOfManyModels(1), clusterId: 'bad' },
      headPartition(shardOf('bad', damaged.tables.shards)),
    );
    const { crc32: _, ...rest } = item;
    await damaged.client.send(new PutItemCommand({ TableName: damaged.tables.heads, Item: rest }));
    const { heads, unreadable } = await damaged.heads.readAll();
    expect(heads.map((head) => head.clusterId)).toEqual(['good']);
    expect(unreadable.map((error) => error.message)).toEqual([
      'The head of cluster "bad" has no readable attribute "crc32".',
    ]);
  });
});
