import { toJsonString } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DISTINCT_KEYS, MAX_JSON_VALUES, MAX_NESTING } from '../../../functions/core/snapshot/limits.ts';
import { scanJson } from '../../../functions/core/snapshot/scan-json.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitraryMessage } from '../../builders/arbitrary-message.ts';

function scan(text: string): number {
  return scanJson(Buffer.from(text));
}

/** Scalars, arrays and objects of a parsed value. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + valuesOf(inner), 1);
}

describe('The scan of JSON text', () => {
  it('never counts less than there are values, nor more than twice as many', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const counted = scan(JSON.stringify(value));
        expect(counted).toBeGreaterThanOrEqual(valuesOf(value));
        expect(counted).toBeLessThanOrEqual(2 * valuesOf(value));
      }),
    );
  });

  it('takes whatever the library writes, however it is indented', () => {
    fc.assert(
      fc.property(arbitraryMessage(ClusterResourceMapSchema), (message) => {
        const compact = toJsonString(ClusterResourceMapSchema, message);
        const pretty = toJsonString(ClusterResourceMapSchema, message, { prettySpaces: 2 });
        expect(scan(pretty)).toBe(scan(compact));
      }),
      { numRuns: 100 },
    );
  });

  it('counts nothing within a string', () => {
    expect(scan(JSON.stringify({ a: '[{,:"\\' }))).toBe(2);
    expect(scan('"\\\\"')).toBe(1);
  });

  it('refuses one value more than the limit, and takes the limit', () => {
    const array = (values: number): string => `[${'0,'.repeat(values - 2)}0]`;
    expect(scan(array(MAX_JSON_VALUES))).toBe(MAX_JSON_VALUES);
    expect(() => scan(array(MAX_JSON_VALUES + 1))).toThrow(
      '[too_many_elements] The body has more than 2000000 JSON values, which is the most that is taken; Protobuf (application/x-protobuf) carries more.',
    );
  });

  it('refuses one different name more than the limit, and takes the limit', () => {
    const object = (names: number): string =>
      `[${Array.from({ length: names }, (_, i) => `{"k${i}" :0}`).join(',')}]`;
    scan(object(MAX_DISTINCT_KEYS));
    expect(() => scan(object(MAX_DISTINCT_KEYS + 1))).toThrow(
      '[too_many_elements] The body has more than 65536 different names, which is the most that is taken.',
    );
  });

  it('refuses what is nested too deeply', () => {
    scan('['.repeat(MAX_NESTING));
    expect(() => scan('['.repeat(MAX_NESTING + 1))).toThrow(
      '[nested_too_deeply] The body is nested more than 64 deep at byte 64, which is the most that is taken.',
    );
    expect(() => scan('{"a":'.repeat(4_000_000))).toThrow('[nested_too_deeply]');
  });

  it('ends on text that is not JSON', () => {
    for (const garbage of ['', '"', '"\\', '}', ':', ',', '"a', '{"a":"']) scan(garbage);
  });
});
