/**
 * What filters look at, exactly: a head leaves out what it has no room for, and then the content
 * says it. Contents are read only for a filter that looks at what a head had to cut, once each.
 */
import { fromBinary } from '@bufbuild/protobuf';
import type { FilterFacts, MapFilter } from '../core/map/filter.ts';
import { acceleratorTotals } from '../core/snapshot/accelerators.ts';
import { isCutIdentity } from '../core/snapshot/identity.ts';
import { ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { Head } from '../storage/head.ts';
import { filterFacts, type MapReader } from './map-reader.ts';

/** Contents of which the facts are kept; some kilobytes each. */
const MAX_KEPT = 2_000;

export class FilterFactsReader {
  readonly #kept = new Map<string, FilterFacts>();

  constructor(private readonly map: MapReader) {}

  /** Facts of these heads that suffice for the filter. Of a content that cannot be read those of its head. */
  async read(heads: readonly Head[], filter: MapFilter): Promise<(head: Head) => FilterFacts> {
    const cut = heads.filter((head) => isCutFor(head, filter));
    const unknown = cut.filter(({ body }) => !this.#kept.has(body.contentId));
    if (unknown.length > 0) await this.#derive(unknown);
    const exact = new Map(cut.map(({ body }) => [body.contentId, this.#kept.get(body.contentId)]));
    return (head) => exact.get(head.body.contentId) ?? filterFacts(head);
  }

  async #derive(heads: readonly Head[]): Promise<void> {
    if (this.#kept.size + heads.length > MAX_KEPT) this.#kept.clear();
    const { readable, contents } = await this.map.readContents(heads, { format: 'protobuf', zipped: true });
    for (const { clusterId, body } of readable) {
      const content = contents.get(body.contentId);
      if (content === undefined) continue;
      const snapshot = fromBinary(ClusterResourceMapSchema, content.raw());
      const { provider = '', region = '', site = '' } = snapshot.cluster ?? {};
      this.#kept.set(body.contentId, {
        clusterId,
        provider,
        region,
        site,
        acceleratorModels: acceleratorTotals(snapshot).map(({ model }) => model),
        acceleratorModelsCut: false,
      });
    }
  }
}

/** What an omitted cluster has is unknown, and its content may be gone. */
function isCutFor({ identity, omittedModels, omission }: Head, filter: MapFilter): boolean {
  if (omission !== undefined) return false;
  return (
    (omittedModels > 0 && filter.acceleratorModel.length > 0) ||
    (['provider', 'region', 'site'] as const).some(
      (field) => filter[field].length > 0 && isCutIdentity(identity[field]),
    )
  );
}
