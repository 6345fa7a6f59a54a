/** The nodes of all clusters in the map, and which map that was. */
import { type ClusterNodes, clusterNodes } from '../../core/bundle/plan/map-nodes.ts';
import { clockEtag } from '../../core/map/clock.ts';
import { WHOLE_MAP } from '../../core/map/filter.ts';
import type { WireFormat } from '../../core/snapshot/decode.ts';
import { ContentReader } from '../../reading/content-reader.ts';
import { versionOf } from '../../reading/map-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';

export interface MapNodes {
  readonly clusters: readonly ClusterNodes[];
  /** That of GET /v1/map in the format, for exactly these clusters at these counters. */
  readonly etag: string;
}

export class NodesReader {
  readonly #content: ContentReader<ClusterNodes>;

  constructor(store: Store, telemetry: Telemetry) {
    this.#content = new ContentReader(store, telemetry, clusterNodes, 'bundles');
  }

  /** A cluster that cannot be read is left out, loudly, and of the etag too, as the map does it. */
  async read(format: WireFormat): Promise<MapNodes> {
    const read = await this.#content.viewsOf(await this.#content.includedHeads());
    return {
      clusters: read.map(({ view }) => view),
      etag: clockEtag(
        read.map(({ head }) => versionOf(head)),
        WHOLE_MAP,
        format,
      ),
    };
  }
}
