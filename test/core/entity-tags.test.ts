import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EntityTag, parseEntityTags } from '../../functions/core/entity-tags.ts';
import { REQUEST_HEADERS } from '../../functions/openapi/parameters.ts';

const space = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });
/** Commas are common, so that lists are cut wherever they can be. */
const opaque = fc.string({
  unit: fc.oneof(
    fc.constantFrom(',', '/', 'W', '!', '~', '\\'),
    fc.integer({ min: 0x23, max: 0x7e }).map((code) => String.fromCharCode(code)),
    fc.integer({ min: 0x80, max: 0xff }).map((code) => String.fromCharCode(code)),
  ),
  maxLength: 8,
});
const tag: fc.Arbitrary<EntityTag> = fc.record({ weak: fc.boolean(), opaque });
const written = ({ weak, opaque: text }: EntityTag): string => `${weak ? 'W/' : ''}"${text}"`;

describe('A list of entity tags', () => {
  it('is read whole, whatever spaces and empty elements it has', () => {
    const element = fc.tuple(space, fc.option(tag), space);
    fc.assert(
      fc.property(fc.array(element, { minLength: 1, maxLength: 20 }), (elements) => {
        const list = elements.map(
          ([before, one, after]) => before + (one === null ? '' : written(one)) + after,
        );
        expect(parseEntityTags(list.join(','))).toEqual(elements.flatMap(([, one]) => one ?? []));
      }),
    );
  });

  it('is one where the OpenAPI document says that it is, and else none', () => {
    const { schema } = REQUEST_HEADERS.IfMatch;
    const documented = new RegExp(String((schema as { pattern: string }).pattern), 'u');
    const scraps = fc.constantFrom('"', '"', ',', ' ', '\t', 'W/', 'w/', 'a', 'é', '\u007f', '\u0000');
    fc.assert(
      fc.property(fc.string({ unit: scraps, maxLength: 12 }), (list) => {
        expect(parseEntityTags(list) !== undefined).toBe(documented.test(list));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    'a',
    '"',
    '"a',
    'a"',
    '"a""b"',
    '"a" "b"',
    'w/"a"',
    'W /"a"',
    'W/',
    'W/a',
    '*',
    '"a", *',
    '"a b"',
  ])('is not %s', (list) => {
    expect(parseEntityTags(list)).toBeUndefined();
  });

  // Each would keep a reader that goes back over what it has read busy for longer than a test may take.
  it.each([
    [' ', 0],
    ['\t,', 0],
    ['"",', 200_000],
    ['"', undefined],
    ['"a', undefined],
    ['" ', undefined],
    ['W/', undefined],
    ['W/"', undefined],
  ])('is read once where it is %j two hundred thousand times', (part, tags) => {
    const list = part.repeat(200_000);
    expect(parseEntityTags(list)?.length).toBe(tags);
    expect(parseEntityTags(`${list}?`)).toBeUndefined();
  });
});
