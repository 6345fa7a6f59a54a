/** Which clusters of the map a response is about. */
import { compareUtf8 } from '../utf8-order.ts';

/** Values of one field are alternatives, fields must all hold, and an empty field is no condition. */
export interface MapFilter {
  readonly cluster: readonly string[];
  readonly provider: readonly string[];
  readonly region: readonly string[];
  readonly site: readonly string[];
  readonly acceleratorModel: readonly string[];
}

/** The fields in the order in which they enter the clock's digest. */
export const FILTER_FIELDS = ['cluster', 'provider', 'region', 'site', 'acceleratorModel'] as const;

/**
 * The whole map.
 *
 * @example
 * ```ts
 * import { WHOLE_MAP, type MapFilter } from '@resource-map/client';
 *
 * const oneRegion: MapFilter = { ...WHOLE_MAP, region: ['us-east-1'] };
 * ```
 */
export const WHOLE_MAP: MapFilter = { cluster: [], provider: [], region: [], site: [], acceleratorModel: [] };

/** What of a cluster a filter looks at; all of it stands in the head. */
export interface FilterFacts {
  readonly clusterId: string;
  readonly provider: string;
  readonly region: string;
  readonly site: string;
  /** Models of the cluster's accelerators. */
  readonly acceleratorModels: readonly string[];
  /** True where the head could not hold all models. */
  readonly acceleratorModelsCut: boolean;
}

/** Whether the filter has no condition. */
export function isWholeMap(filter: MapFilter): boolean {
  return FILTER_FIELDS.every((field) => filter[field].length === 0);
}

/** Those of the heads that match; the heads themselves where there is no condition. */
export function narrow<H>(
  heads: readonly H[],
  filter: MapFilter,
  factsOf: (head: H) => FilterFacts,
): readonly H[] {
  if (isWholeMap(filter)) return heads;
  const matches = matcher(filter);
  return heads.filter((head) => matches(factsOf(head)));
}

/** Sorted, each value once: filters that mean the same are the same. */
export function normalFilter(filter: MapFilter): MapFilter {
  return {
    cluster: normalValues(filter.cluster),
    provider: normalValues(filter.provider),
    region: normalValues(filter.region),
    site: normalValues(filter.site),
    acceleratorModel: normalValues(filter.acceleratorModel),
  };
}

function normalValues(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort(compareUtf8);
}

/**
 * A filter as a predicate. A cluster with more models than its head can hold is included
 * whichever model is asked for: one cluster too many can be passed over, one that is missing
 * cannot be noticed.
 */
export function matcher(filter: MapFilter): (facts: FilterFacts) => boolean {
  const accepts = (values: readonly string[]): ((value: string) => boolean) => {
    if (values.length === 0) return () => true;
    const accepted = new Set(values);
    return (value) => accepted.has(value);
  };
  const cluster = accepts(filter.cluster);
  const provider = accepts(filter.provider);
  const region = accepts(filter.region);
  const site = accepts(filter.site);
  const model = accepts(filter.acceleratorModel);
  const anyModel = filter.acceleratorModel.length === 0;
  return (facts) =>
    cluster(facts.clusterId) &&
    provider(facts.provider) &&
    region(facts.region) &&
    site(facts.site) &&
    (anyModel || facts.acceleratorModelsCut || facts.acceleratorModels.some(model));
}
