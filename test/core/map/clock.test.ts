import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockEtag } from '../../../functions/core/map/clock.ts';
import { type MapFilter, WHOLE_MAP } from '../../../functions/core/map/filter.ts';
import { clusterId, counter } from './builders.ts';

const clock = fc.uniqueArray(fc.record({ clusterId, counter }), {
  selector: (each) => each.clusterId,
  maxLength: 5,
});
const values = fc.uniqueArray(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 3 });
const filter: fc.Arbitrary<MapFilter> = fc.record({
  cluster: values,
  provider: values,
  region: values,
  site: values,
  acceleratorModel: values,
});

/** What clock and filter say, written so that only equals look alike. */
function meaning(versions: readonly { clusterId: string; counter: bigint }[], of: MapFilter): string {
  return JSON.stringify([
    versions.map((each) => [each.clusterId, String(each.counter)]).sort(),
    [of.cluster, of.provider, of.region, of.site, of.acceleratorModel].map((list) => [...list].sort()),
  ]);
}

describe('the etag of a clock', () => {
  // The expected values come from twelve lines of Python that follow the description in clock.ts.
  it.each([
    ['of nothing', [], WHOLE_MAP, 'W/"wJ-Mys8K8JTYY9voSEqZwm9Gx40zW8FVIBCBECronPQ.json"'],
    [
      'of ids that UTF-16 would order differently',
      [
        { clusterId: 'a', counter: 1n },
        { clusterId: '😀', counter: 7n },
        { clusterId: '\uffee', counter: 2n ** 64n - 2n },
      ],
      WHOLE_MAP,
      'W/"g7gMraokpqMugI12HmOJ-O40-0l3IBKEdMmM6wG_sWc.json"',
    ],
    [
      'under a filter',
      [{ clusterId: 'a', counter: 1n }],
      { ...WHOLE_MAP, cluster: ['b', 'a', 'b'], region: ['eu'], acceleratorModel: ['H100'] },
      'W/"z96RXLW1LXw4m1zCcy-fVSMvpMh8GdpZ3DUkyb1KL_0.json"',
    ],
  ])('%s is what the description says', (_what, versions, of, expected) => {
    expect(clockEtag(versions, of, 'json')).toBe(expected);
  });

  it('is equal for equal clocks and filters, however they are ordered, and for no others', () => {
    fc.assert(
      fc.property(clock, filter, clock, filter, (clockA, filterA, clockB, filterB) => {
        const same = meaning(clockA, filterA) === meaning(clockB, filterB);
        expect(clockEtag(clockA, filterA, 'json') === clockEtag(clockB, filterB, 'json')).toBe(same);
        expect(clockEtag(clockA.toReversed(), filterA, 'json')).toBe(clockEtag(clockA, filterA, 'json'));
        const reordered = { ...filterA, site: [...filterA.site, ...filterA.site].reverse() };
        expect(clockEtag(clockA, reordered, 'json')).toBe(clockEtag(clockA, filterA, 'json'));
      }),
    );
  });

  it('is another for each format, since a cache may ask with the etag of the one that it holds', () => {
    expect(clockEtag([], WHOLE_MAP, 'protobuf')).toBe(
      clockEtag([], WHOLE_MAP, 'json').replace('.json', '.pb'),
    );
  });

  it('tells a name in one filter field from the same name in another', () => {
    const region = clockEtag([], { ...WHOLE_MAP, region: ['a'] }, 'json');
    expect(clockEtag([], { ...WHOLE_MAP, site: ['a'] }, 'json')).not.toBe(region);
  });
});
