/**
 * What is derived of each cluster's content. Which content a cluster has is read again for
 * every question, strongly consistent; something is derived only where the content was not
 * met before.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import type { Fragment } from '../core/map/fragment.ts';
import { type ClusterResourceMap, ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Store } from '../storage/commit.ts';
import type { Head } from '../storage/head.ts';
import { ContentCache } from './content-cache.ts';
import { MapReader } from './map-reader.ts';
import { type Targets, ViewCache } from './view-cache.ts';

/** Bytes of bodies that are decoded in one go; the first question of a process reads them all. */
const BATCH_BYTES = 32 * 1024 * 1024;

/** Views take up to some ten milliseconds each; after so long other requests get their turn. */
const TURN_MS = 10;

/** A view with the head whose content it is derived from. */
export interface HeadView<View> {
  readonly head: Head;
  readonly view: View;
}

export class ContentReader<View extends Targets> {
  readonly #map: MapReader;

  /**
   * @param derive a pure function of the content
   * @param purpose for the log, where a cluster is left out
   */
  constructor(
    store: Store,
    private readonly telemetry: Telemetry,
    private readonly derive: (snapshot: ClusterResourceMap) => View,
    private readonly purpose: string,
    private readonly kept: ViewCache<View> = new ViewCache(),
  ) {
    // A body is read once and never needed again: its view is kept, the body itself is not.
    this.#map = new MapReader(store, new ContentCache(0), telemetry);
  }

  /** The clusters in the map. */
  includedHeads(): Promise<readonly Head[]> {
    return this.#map.includedHeads();
  }

  /** The views of these clusters, in their order. A cluster that cannot be read is left out, loudly. */
  async viewsOf(heads: readonly Head[]): Promise<readonly HeadView<View>[]> {
    const views = new Map<string, HeadView<View>>();
    const unknown: Head[] = [];
    for (const head of heads) {
      const view = this.kept.get(head.body.contentId);
      if (view === undefined) unknown.push(head);
      else views.set(head.clusterId, { head, view });
    }
    for (const batch of batches(unknown)) await this.#derive(batch, views);
    return heads.flatMap(({ clusterId }) => views.get(clusterId) ?? []);
  }

  /** The snapshots of these clusters, each with the head as it is now. */
  async snapshots(
    heads: readonly Head[],
  ): Promise<readonly { readonly head: Head; readonly snapshot: ClusterResourceMap }[]> {
    const { readable, contents } = await this.#map.readContents(heads, { format: 'protobuf', zipped: true });
    return readable.flatMap((head) => {
      const body = contents.get(head.body.contentId);
      return body === undefined ? [] : [{ head, snapshot: decoded(body) }];
    });
  }

  async #derive(heads: readonly Head[], into: Map<string, HeadView<View>>): Promise<void> {
    let turnStartedMs = performance.now();
    for (const { head, snapshot } of await this.snapshots(heads)) {
      try {
        const view = this.derive(snapshot);
        this.kept.set(head.body.contentId, view);
        into.set(head.clusterId, { head, view });
      } catch (cause) {
        this.telemetry.error(`cluster left out of ${this.purpose}`, { clusterId: head.clusterId, cause });
      }
      if (performance.now() - turnStartedMs > TURN_MS) {
        await yieldToEventLoop();
        turnStartedMs = performance.now();
      }
    }
  }
}

function decoded(body: Fragment): ClusterResourceMap {
  return fromBinary(ClusterResourceMapSchema, body.raw());
}

function* batches(heads: readonly Head[]): Generator<readonly Head[]> {
  let batch: Head[] = [];
  let bytes = 0;
  for (const head of heads) {
    if (batch.length > 0 && bytes + head.body.rawBytes > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(head);
    bytes += head.body.rawBytes;
  }
  if (batch.length > 0) yield batch;
}
