/**
 * Reads the map: the heads, strongly consistent at every call, and the bodies that they
 * name. What cannot be read leaves its own cluster out, loudly, and nothing else.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { ClusterVersion, MapEntry } from '../globalmap/entry.ts';
import { type FilterFacts, type MapFilter, matcher } from '../globalmap/filter.ts';
import { Fragment } from '../globalmap/fragment.ts';
import { jsonMembers } from '../globalmap/json-members.ts';
import type { WireFormat } from '../snapshot/decode.ts';
import type { Store } from '../store/commit.ts';
import type { Head } from '../store/head.ts';
import type { Telemetry } from '../telemetry.ts';

export class MapReader {
  constructor(
    private readonly store: Store,
    private readonly telemetry: Telemetry,
  ) {}

  /** Every known cluster, in order of id. */
  async allHeads(): Promise<readonly Head[]> {
    const { heads, unreadable } = await this.store.heads.readAll();
    for (const error of unreadable) this.#leaveOut(error.clusterId, error);
    return heads;
  }

  /** The clusters in the map that match the filter. */
  async includedHeads(filter: MapFilter): Promise<readonly Head[]> {
    const matches = matcher(filter);
    return (await this.allHeads()).filter(
      (head) => head.omission === undefined && matches(filterFacts(head)),
    );
  }

  /**
   * The entries of an answer, body, counter and time of each from one and the same head. A
   * body that is not there has its head read again, once: the head may have moved on.
   */
  async entries(heads: readonly Head[], format: WireFormat): Promise<readonly MapEntry[]> {
    const found = await this.#fragments(heads, format);
    const entries: MapEntry[] = [];
    for (const head of heads) {
      const body = found.get(head.body.bodyId);
      if (body !== undefined) entries.push({ ...versionOf(head), body });
    }
    const missing = heads.filter((head) => !found.has(head.body.bodyId));
    for (const head of missing) {
      const entry = await this.#entryOfMovedHead(head, format);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  async #entryOfMovedHead(head: Head, format: WireFormat): Promise<MapEntry | undefined> {
    const now = await this.store.heads.read(head.clusterId);
    if (now === undefined || now.omission !== undefined) return undefined;
    const body =
      now.body.bodyId === head.body.bodyId
        ? undefined
        : (await this.#fragments([now], format)).get(now.body.bodyId);
    if (body !== undefined) return { ...versionOf(now), body };
    this.#leaveOut(head.clusterId, new Error(`Body ${now.body.bodyId} is not there or not whole.`));
    return undefined;
  }

  async #fragments(heads: readonly Head[], format: WireFormat): Promise<Map<string, Fragment>> {
    const bodies = await this.store.bodies.read(heads.map((head) => head.body));
    const fragments = new Map<string, Fragment>();
    for (const head of heads) {
      const deflated = bodies.get(head.body.bodyId);
      if (deflated === undefined || fragments.has(head.body.bodyId)) continue;
      try {
        const body = Fragment.verify(deflated, head.body.rawBytes, head.body.crc32);
        fragments.set(
          head.body.bodyId,
          format === 'protobuf'
            ? body
            : Fragment.compress(jsonMembers(fromBinary(ClusterResourceMapSchema, body.raw()))),
        );
      } catch (error) {
        // Reading it again will not mend it, but the head may have moved to another body.
        this.telemetry.error('body unreadable', { clusterId: head.clusterId, cause: error });
      }
    }
    return fragments;
  }

  #leaveOut(clusterId: string, cause: unknown): void {
    this.telemetry.error('cluster left out of the map', { clusterId, cause });
    this.telemetry.count('BodiesMissing', 1);
  }
}

/** Where a cluster stands in the clock. */
export function versionOf(head: Head): ClusterVersion {
  return { clusterId: head.clusterId, counter: head.highWater, collectedAtNanos: head.collectedAtNanos };
}

function filterFacts(head: Head): FilterFacts {
  return {
    clusterId: head.clusterId,
    provider: head.identity.provider,
    region: head.identity.region,
    site: head.identity.site,
    acceleratorModels: head.accelerators.map((a) => a.model),
    acceleratorModelsCut: head.omittedModels > 0,
  };
}
