import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Head } from '../../functions/storage/head.ts';
import {
  headFromItem,
  headToItem,
  type Item,
  itemBytes,
  tombstoneFromItem,
  tombstoneToItem,
  UnreadableHeadError,
  WRITE_UNIT_BYTES,
} from '../../functions/storage/head-item.ts';
import { headOfManyModels } from './heads.ts';

const uint = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n });
const integer = fc.nat(Number.MAX_SAFE_INTEGER);
const text = fc.string({ unit: 'binary', maxLength: 20 });

/** Any head whose models fit. */
const head: fc.Arbitrary<Head> = fc.record(
  {
    clusterId: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
    highWater: uint(64n),
    omission: fc.record({ reason: text, atMs: integer }),
    collectedAtNanos: fc.bigInt({ min: -(2n ** 66n), max: 2n ** 68n }),
    receivedAtMs: integer,
    contentSince: fc.record({ counter: uint(64n), atMs: integer }),
    body: fc.record({
      contentId: fc
        .uint8Array({ minLength: 32, maxLength: 32 })
        .map((bytes) => Buffer.from(bytes).toString('hex')),
      parts: fc.nat(1_000),
      rawBytes: integer,
      storedBytes: integer,
      crc32: fc.nat(0xffff_ffff),
      storedCrc32: fc.nat(0xffff_ffff),
      expiresAtS: integer,
    }),
    identity: fc.record({ displayName: text, provider: text, region: text, site: text }),
    accelerators: fc.array(
      fc.record({ model: text, total: uint(64n), free: uint(64n), unavailable: uint(64n) }),
      { maxLength: 3 },
    ),
    omittedModels: fc.nat(1_000),
    warnings: fc.nat(100_000),
  },
  {
    requiredKeys: [
      'clusterId',
      'highWater',
      'collectedAtNanos',
      'receivedAtMs',
      'contentSince',
      'body',
      'identity',
      'accelerators',
      'omittedModels',
      'warnings',
    ],
  },
);

describe('the item of a head', () => {
  it('is the head again when it is read', () => {
    fc.assert(
      fc.property(head, (written) => {
        expect(headFromItem(headToItem(written, '0'))).toEqual(written);
      }),
    );
  });

  it.each([1, 20, 100, 500, 10_000])(
    'is within one write unit with an id of 253 bytes and %i models',
    (models) => {
      const written = headOfManyModels(models);
      const item = headToItem(written, 'retired#255');
      expect(itemBytes(item)).toBeLessThanOrEqual(WRITE_UNIT_BYTES);
      const read = headFromItem(item);
      expect(read.accelerators.length + read.omittedModels).toBe(models);
      expect(read.accelerators).toEqual(written.accelerators.slice(0, read.accelerators.length));
    },
  );

  it('keeps as many models as fit, and not one less', () => {
    const written = headOfManyModels(500);
    const item = headToItem(written, '0');
    const kept = headFromItem(item).accelerators.length;
    const one = itemBytes(headToItem({ ...written, accelerators: written.accelerators.slice(0, kept) }, '0'));
    const two = itemBytes(
      headToItem({ ...written, accelerators: written.accelerators.slice(0, kept - 1) }, '0'),
    );
    expect(kept).toBeGreaterThan(10);
    expect(itemBytes(item) + (one - two)).toBeGreaterThan(WRITE_UNIT_BYTES);
  });

  it('fills the write unit to the last byte where a name is as long as the room', () => {
    const base = { ...headOfManyModels(0), clusterId: 'c1' };
    const sizes = Array.from({ length: 1_000 }, (_, length) => {
      const model = { model: 'x'.repeat(length + 1), total: 9n, free: 0n, unavailable: 0n };
      const item = headToItem({ ...base, accelerators: [model] }, '0');
      return { kept: headFromItem(item).accelerators.length, bytes: itemBytes(item) };
    });
    const kept = sizes.filter((size) => size.kept === 1).map(({ bytes }) => bytes);
    // The literal, and not the constant: DynamoDB bills by it.
    expect(Math.max(...kept)).toBe(1_024);
    expect(kept.length).toBeLessThan(1_000);
  });

  it('is measured as DynamoDB measures it', () => {
    expect(itemBytes({ ab: { S: 'é' }, c: { B: Buffer.alloc(5) }, d: { N: '123' } })).toBe(4 + 6 + 1 + 4);
  });

  it('counts the models that were left out before once more when it is written again', () => {
    const read = headFromItem(headToItem(headOfManyModels(500), '0'));
    expect(headFromItem(headToItem(read, '0'))).toEqual(read);
  });

  it('leaves every model out where one name alone is larger than the room', () => {
    const model = { model: 'x'.repeat(5_000), total: 9n, free: 0n, unavailable: 0n };
    const read = headFromItem(headToItem({ ...headOfManyModels(3), accelerators: [model] }, '0'));
    expect([read.accelerators, read.omittedModels]).toEqual([[], 1]);
  });

  it.each([
    'highWater',
    'collected',
    'received',
    'sinceAt',
    'bodyId',
    'parts',
    'raw',
    'stored',
    'crc32',
    'storedCrc',
    'bodyUntil',
  ])('without %s is no head, and says so', (attribute) => {
    const { [attribute]: _, ...rest } = headToItem({ ...headOfManyModels(1), clusterId: 'c1' }, '0');
    expect(() => headFromItem(rest)).toThrow(new UnreadableHeadError('c1', attribute));
  });

  it('leaves out when its content first appeared where that is its own counter', () => {
    const { highWater, contentSince, ...rest } = headOfManyModels(1);
    const fresh = { ...rest, highWater, contentSince: { ...contentSince, counter: highWater } };
    const item = headToItem(fresh, '0');
    expect(item).not.toHaveProperty('sinceCounter');
    expect(headFromItem(item)).toEqual(fresh);
  });

  it.each<[string, Item]>([
    ['highWater', { highWater: { N: '1.5' } }],
    ['highWater', { highWater: { S: '1' } }],
    ['accel', { accel: { B: Buffer.from([0x5a, 9]) } }],
  ])('whose %s is damaged is no head, and says so', (attribute, damage) => {
    const item = { ...headToItem({ ...headOfManyModels(1), clusterId: 'c1' }, '0'), ...damage };
    expect(() => headFromItem(item)).toThrow(
      `The head of cluster "c1" has no readable attribute "${attribute}".`,
    );
  });

  it('is, once retired, the mark', () => {
    const mark = {
      clusterId: 'c1',
      highWater: 18_446_744_073_709_551_614n,
      collectedAtNanos: -1n,
      contentId: 'ab'.repeat(32),
    };
    expect(tombstoneFromItem(tombstoneToItem(mark, 'retired#0'))).toEqual(mark);
  });
});
