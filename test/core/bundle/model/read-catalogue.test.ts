import { describe, expect, it } from 'vitest';
import { BUILT_IN_CATALOGUE } from '../../../../functions/core/bundle/model/catalogue.ts';
import { readCatalogue } from '../../../../functions/core/bundle/model/read-catalogue.ts';

describe('the catalogue of a file', () => {
  it('says what it knows over the built-in entries, field by field', () => {
    const catalogue = readCatalogue('{"p5.48xlarge": {"totalCapacity": 400}, "rack-7": {"totalCores": 0.5}}');
    expect(catalogue.get('p5.48xlarge')).toEqual({ totalCapacity: 400, totalCores: 192 });
    expect(catalogue.get('rack-7')).toEqual({ totalCapacity: undefined, totalCores: 0.5 });
    expect(catalogue.size).toBe(BUILT_IN_CATALOGUE.size + 1);
  });

  it('may be empty', () => {
    expect(readCatalogue('{}')).toEqual(BUILT_IN_CATALOGUE);
  });

  it("may name an instance type with a name of JavaScript's own", () => {
    expect(readCatalogue('{"__proto__": {"totalCores": 1}}').get('__proto__')).toEqual({
      totalCapacity: undefined,
      totalCores: 1,
    });
  });

  it.each([
    ['', /^The instance-type catalogue is no JSON: .+\.$/],
    [
      '["p5"]',
      'The instance-type catalogue is ["p5"]; it must be an object such as {"p5.48xlarge": {"totalCapacity": 400}}.',
    ],
    [
      '{"a": 400}',
      'The instance type "a" of the catalogue is 400; it must be an object with totalCapacity or totalCores or both.',
    ],
    [
      '{"a": {"totalCapasity": 400}}',
      'The instance type "a" of the catalogue has "totalCapasity", which is not known; did you mean "totalCapacity"?',
    ],
    [
      '{"a": {"totalCores": "96"}}',
      'The instance type "a" of the catalogue has "96" for totalCores; give a number of 0 or more, or leave out what is not known.',
    ],
    [
      '{"a": {"totalCores": -1}}',
      'The instance type "a" of the catalogue has -1 for totalCores; give a number of 0 or more, or leave out what is not known.',
    ],
    [
      '{"a": {"totalCores": 1e999}}',
      'The instance type "a" of the catalogue has null for totalCores; give a number of 0 or more, or leave out what is not known.',
    ],
    ['{"": {}}', 'An instance type of the catalogue is called ""; a name has 1 to 253 bytes.'],
  ])('is refused with what is wrong: %s', (json, message) => {
    expect(() => readCatalogue(json)).toThrow(message);
  });
});
