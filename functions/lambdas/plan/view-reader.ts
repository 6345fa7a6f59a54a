/** The capacity views of all clusters in the map. */
import type { ClusterChain } from '../../core/capacity/fit/parse-fit-request.ts';
import { chainKeys } from '../../core/capacity/view/pods.ts';
import type { DatedView } from '../../core/capacity/view/target-row.ts';
import { type ClusterView, clusterView, missingChain } from '../../core/capacity/view/view.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import { ContentReader, type HeadView } from '../../reading/content-reader.ts';
import { versionOf } from '../../reading/map-reader.ts';
import type { ViewCache } from '../../reading/view-cache.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import type { Head } from '../../storage/head.ts';

export class ViewReader {
  readonly #content: ContentReader<ClusterView>;

  constructor(store: Store, telemetry: Telemetry, views?: ViewCache<ClusterView>) {
    this.#content = new ContentReader(
      store,
      telemetry,
      (snapshot) => clusterView(snapshot),
      'capacity',
      views,
    );
  }

  /**
   * The views of the clusters whose head is accepted, in order of their ids. A cluster that
   * cannot be read is left out, loudly.
   */
  async views(accepts: (head: Head) => boolean): Promise<readonly DatedView[]> {
    return this.#viewsOf((await this.#content.includedHeads()).filter(accepts));
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
    const heads = await this.#content.includedHeads();
    const views = new Map(
      (await this.#viewsOf(heads.filter(accepts))).map((one) => [one.view.clusterId, one]),
    );
    for (const [clusterId, chains] of byCluster(released)) {
      const head = heads.find((one) => one.clusterId === clusterId);
      const [read] = head === undefined ? [] : await this.#content.snapshots([head]);
      if (read === undefined) throw unknownChain(chains[0], `no cluster ${quote(clusterId)} is in the map`);
      const missing = missingChain(read.snapshot, chains);
      if (missing !== undefined) {
        throw unknownChain(
          missing,
          `the snapshot of cluster ${quote(clusterId)} at counter ${read.head.highWater} does not have it`,
        );
      }
      if (views.has(clusterId)) {
        views.set(clusterId, dated({ head: read.head, view: clusterView(read.snapshot, chainKeys(chains)) }));
      }
    }
    return [...views.values()];
  }

  async #viewsOf(heads: readonly Head[]): Promise<readonly DatedView[]> {
    return (await this.#content.viewsOf(heads)).map(dated);
  }
}

function dated({ head, view }: HeadView<ClusterView>): DatedView {
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

function unknownChain(chain: Pick<ClusterChain, 'jobId' | 'rankId' | 'chainId'> | undefined, why: string) {
  const name = `${quote(chain?.chainId ?? '')} of rank ${quote(chain?.rankId ?? '')} of job ${quote(chain?.jobId ?? '')}`;
  return new ResourceMapError(
    'unknown_chain',
    `Chain ${name} cannot be released: ${why}. Leave it out, or ask again with what the map says now.`,
  );
}
