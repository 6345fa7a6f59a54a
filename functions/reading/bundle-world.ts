/** Reads what bundles are reconciled by: all ledgers first, then all heads, then the contents that they name. */

import { create } from '@bufbuild/protobuf';
import {
  type BundleContent,
  bundleContentOf,
  type KnownCluster,
  knownCluster,
  UNKNOWN_CLUSTER,
} from '../core/bundle/live/cluster-reading.ts';
import type { BundleWorld, ClusterFact } from '../core/bundle/live/world.ts';
import type { InstanceCatalogue } from '../core/bundle/model/catalogue.ts';
import type { Pool } from '../core/bundle/model/model.ts';
import { mapCandidates } from '../core/bundle/plan/map-nodes.ts';
import type { SlotCandidate } from '../core/bundle/search/candidates.ts';
import type { TargetView } from '../core/capacity/view/view.ts';
import type { ClaimSettings } from '../core/claims/evaluate.ts';
import { newClaimId } from '../core/claims/new-claim-id.ts';
import { SWEEPER_REASONS } from '../core/membership.ts';
import { LedgerSchema } from '../gen/resourcemap/v1/ledger_pb.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Store } from '../storage/commit.ts';
import type { Head } from '../storage/head.ts';
import type { LedgerStore } from '../storage/ledgers.ts';
import { claimHead } from './claim-reader.ts';
import { ContentReader } from './content-reader.ts';

interface ContentView extends BundleContent {
  readonly targets: readonly TargetView[];
}

/** The map and the ledgers at one time. */
export type ReadMap = Pick<BundleWorld, 'nowMs' | 'candidates' | 'cluster'>;

export class BundleWorldReader {
  readonly #content: ContentReader<ContentView>;

  constructor(
    private readonly store: Store,
    private readonly ledgers: LedgerStore,
    telemetry: Telemetry,
    private readonly settings: ClaimSettings,
  ) {
    this.#content = new ContentReader(
      store,
      telemetry,
      (snapshot) => {
        const content = bundleContentOf(snapshot);
        return { ...content, targets: content.view.targets };
      },
      'stored bundles',
    );
  }

  async read(catalogue: InstanceCatalogue, nowMs: number): Promise<ReadMap> {
    const ledgers = new Map(
      (await this.ledgers.readAll()).map((stored) => [stored.clusterId, stored.ledger]),
    );
    const { heads, unreadable } = await this.store.heads.readAll();
    const included = heads.filter(({ omission }) => omission === undefined);
    const contents = new Map((await this.#content.viewsOf(included)).map((one) => [one.head.clusterId, one]));
    const clusters = new Map<string, KnownCluster>();
    for (const listed of heads) {
      const { clusterId } = listed;
      const content = contents.get(clusterId);
      // A head that moved on while its content was read is as good: it was read later.
      const head = content?.head ?? listed;
      const ledger = ledgers.get(clusterId);
      const reading = {
        clusterId,
        standing: standingOf(head),
        head: claimHead(head),
        content: content?.view,
        ledger: ledger ?? NO_LEDGER,
      };
      clusters.set(clusterId, knownCluster(reading, nowMs, this.settings));
    }
    // What cannot be read says nothing of what runs there.
    for (const { clusterId } of unreadable) clusters.set(clusterId, UNREADABLE);
    let candidates: readonly SlotCandidate[] | undefined;
    return {
      nowMs,
      cluster: (clusterId) => clusters.get(clusterId)?.fact ?? UNKNOWN_CLUSTER,
      candidates: () => {
        candidates ??= mapCandidates(
          [...clusters.values()].flatMap(({ nodes }) => nodes ?? []),
          catalogue,
        );
        return candidates;
      },
    };
  }
}

const NO_LEDGER = create(LedgerSchema);

const UNREADABLE: KnownCluster = {
  fact: { standing: 'silent', cutMs: 0, jobs: undefined, claims: new Map() },
  nodes: undefined,
};

function standingOf({ omission }: Head): ClusterFact['standing'] {
  if (omission === undefined) return 'heard';
  return SWEEPER_REASONS.has(omission.reason) ? 'silent' : 'gone';
}

export function worldOf(
  map: ReadMap,
  pools: readonly Pool[],
  catalogue: InstanceCatalogue,
  refused: ReadonlyMap<string, string>,
): BundleWorld {
  return { ...map, pools, catalogue, refused, newClaimId: () => newClaimId(map.nowMs) };
}
