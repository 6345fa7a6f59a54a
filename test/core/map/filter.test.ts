import { describe, expect, it } from 'vitest';
import { type FilterFacts, type MapFilter, matcher, WHOLE_MAP } from '../../../functions/core/map/filter.ts';

const facts: FilterFacts = {
  clusterId: 'c1',
  provider: 'aws',
  region: 'eu-west-1',
  site: 'dub',
  acceleratorModels: ['H100', 'L4'],
  acceleratorModelsCut: false,
};

function matches(filter: Partial<MapFilter>, of: Partial<FilterFacts> = {}): boolean {
  return matcher({ ...WHOLE_MAP, ...filter })({ ...facts, ...of });
}

describe('a filter', () => {
  it('without conditions takes every cluster', () => {
    expect(matches({})).toBe(true);
  });

  it.each([
    ['cluster', 'c1', 'c2'],
    ['provider', 'aws', 'gcp'],
    ['region', 'eu-west-1', 'eu-west'],
    ['site', 'dub', 'DUB'],
    ['acceleratorModel', 'L4', 'A100'],
  ] as const)('on %s takes %s among its alternatives and leaves %s', (field, right, wrong) => {
    expect(matches({ [field]: [wrong, right] })).toBe(true);
    expect(matches({ [field]: [wrong] })).toBe(false);
  });

  it('wants all of its fields to hold', () => {
    expect(matches({ provider: ['aws'], region: ['us-east-1'] })).toBe(false);
  });

  it('on the empty string takes clusters that say nothing of the field', () => {
    expect(matches({ site: [''] }, { site: '' })).toBe(true);
    expect(matches({ site: [''] })).toBe(false);
  });

  it('on a model takes a cluster whose head could not hold all of its models', () => {
    expect(matches({ acceleratorModel: ['A100'] }, { acceleratorModelsCut: true })).toBe(true);
    expect(matches({ acceleratorModel: ['A100'], site: ['x'] }, { acceleratorModelsCut: true })).toBe(false);
  });

  it('takes no cluster for the name of a property that every object has', () => {
    expect(matches({ cluster: ['constructor'] })).toBe(false);
    expect(matches({ cluster: ['__proto__'] }, { clusterId: '__proto__' })).toBe(true);
  });
});
