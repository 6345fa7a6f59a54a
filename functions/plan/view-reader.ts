/**
 * The capacity views of all clusters in the map. Which content each cluster has is read anew
 * for every question, strongly consistent; a view is derived only where its content was not
 * met before.
 */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import type { ClusterChain } from '../capacity/fit/read-question.ts';
import { chainKeys } from '../capacity/pods.ts';
import type { DatedView } from '../capacity/target-row.ts';
import { type ClusterView, clusterView, missingChain } from '../capacity/view.ts';
import { ViewCache } from '../capacity/view-cache.ts';
import { ResourceMapError } from '../errors.ts';
import { type ClusterResourceMap, ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { Fragment } from '../globalmap/fragment.ts';
import { BodyCache } from '../map/body-cache.ts';
import { MapReader, versionOf } from '../map/read-map.ts';
import { quote } from '../snapshot/quote.ts';
import type { Store } from '../store/commit.ts';
import type { Head } from '../store/head.ts';
import type { Telemetry } from '../telemetry.ts';

/** Bytes of bodies that are decoded in one go; the first question of a process reads them all. */
const BATCH_BYTES = 32 * 1024 * 1024;

/** Views take up to some ten milliseconds each; after so long other requests get their turn. */
const TURN_MS = 10;

export class ViewReader {
  readonly #map: MapReader;
  readonly #views: ViewCache;

  constructor(
    store: Store,
    private readonly telemetry: Telemetry,
    views: ViewCache = new ViewCache(),
  ) {
    // A body is read once and never needed again: its view is kept, the body itself is not.
    this.#map = new MapReader(store, new BodyCache(0), telemetry);
    this.#views = views;
  }

  /**
   * The views of the clusters whose head is accepted, in order of their ids. A cluster that
   * cannot be read is left out, loudly.
   */
  async views(accepts: (head: Head) => boolean): Promise<readonly DatedView[]> {
    return this.#viewsOf((await this.#map.includedHeads()).filter(accepts));
  }

  /**
   * The same as if these chains were gone.
   *
   * @throws ResourceMapError `unknown_chain` where one of them is not in the map
   */
  async viewsWithout(
    released: readonly ClusterChain[],
    accepts: (head: Head) => boolean,
  ): Promise<readonly DatedView[]> {
    const heads = await this.#map.includedHeads();
    const views = new Map(
      (await this.#viewsOf(heads.filter(accepts))).map((one) => [one.view.clusterId, one]),
    );
    for (const [clusterId, chains] of byCluster(released)) {
      const head = heads.find((one) => one.clusterId === clusterId);
      const [read] = head === undefined ? [] : await this.#snapshots([head]);
      if (read === undefined) throw unknownChain(chains[0], `no cluster ${quote(clusterId)} is in the map`);
      const missing = missingChain(read.snapshot, chains);
      if (missing !== undefined) {
        throw unknownChain(
          missing,
          `the snapshot of cluster ${quote(clusterId)} at counter ${read.head.highWater} does not have it`,
        );
      }
      if (views.has(clusterId)) {
        views.set(clusterId, dated(read.head, clusterView(read.snapshot, chainKeys(chains))));
      }
    }
    return [...views.values()];
  }

  async #viewsOf(heads: readonly Head[]): Promise<readonly DatedView[]> {
    const views = new Map<string, DatedView>();
    const unknown: Head[] = [];
    for (const head of heads) {
      const view = this.#views.get(head.body.bodyId);
      if (view === undefined) unknown.push(head);
      else views.set(head.clusterId, dated(head, view));
    }
    for (const batch of batches(unknown)) await this.#derive(batch, views);
    return heads.flatMap(({ clusterId }) => views.get(clusterId) ?? []);
  }

  async #derive(heads: readonly Head[], into: Map<string, DatedView>): Promise<void> {
    let turnStartedMs = performance.now();
    for (const { head, snapshot } of await this.#snapshots(heads)) {
      try {
        const view = clusterView(snapshot);
        this.#views.set(head.body.bodyId, view);
        into.set(head.clusterId, dated(head, view));
      } catch (cause) {
        this.telemetry.error('cluster left out of capacity', { clusterId: head.clusterId, cause });
      }
      if (performance.now() - turnStartedMs > TURN_MS) {
        await letOthersRun();
        turnStartedMs = performance.now();
      }
    }
  }

  async #snapshots(
    heads: readonly Head[],
  ): Promise<readonly { readonly head: Head; readonly snapshot: ClusterResourceMap }[]> {
    const { readable, bodies } = await this.#map.readBodies(heads, { format: 'protobuf', zipped: true });
    return readable.flatMap((head) => {
      const body = bodies.get(head.body.bodyId);
      return body === undefined ? [] : [{ head, snapshot: decoded(body) }];
    });
  }
}

function decoded(body: Fragment): ClusterResourceMap {
  return fromBinary(ClusterResourceMapSchema, body.raw());
}

function dated(head: Head, view: ClusterView): DatedView {
  const { counter, collectedAtNanos } = versionOf(head);
  return { view, counter, collectedAtNanos };
}

function byCluster(chains: readonly ClusterChain[]): ReadonlyMap<string, readonly ClusterChain[]> {
  const clusters = new Map<string, ClusterChain[]>();
  for (const chain of chains) {
    const same = clusters.get(chain.clusterId) ?? [];
    clusters.set(chain.clusterId, same);
    same.push(chain);
  }
  return clusters;
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

function unknownChain(chain: Pick<ClusterChain, 'jobId' | 'rankId' | 'chainId'> | undefined, why: string) {
  const name = `${quote(chain?.chainId ?? '')} of rank ${quote(chain?.rankId ?? '')} of job ${quote(chain?.jobId ?? '')}`;
  return new ResourceMapError(
    'unknown_chain',
    `Chain ${name} cannot be released: ${why}. Leave it out, or ask again with what the map says now.`,
  );
}
