/** Reads what claims are evaluated by: always the ledger first, then the head, then the content that it names. */

import type { TargetView } from '../core/capacity/view/view.ts';
import { type ClusterView, clusterView } from '../core/capacity/view/view.ts';
import { type ChainFacts, chainFactsOf } from '../core/claims/chain-facts.ts';
import type { ClaimSituation } from '../core/claims/change.ts';
import type { ClaimContent, ClaimHead, ClaimSettings } from '../core/claims/evaluate.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Store } from '../storage/commit.ts';
import type { Head } from '../storage/head.ts';
import type { LedgerStore, StoredLedger } from '../storage/ledgers.ts';
import { ContentReader } from './content-reader.ts';

interface ContentView {
  readonly targets: readonly TargetView[];
  readonly view: ClusterView;
  readonly facts: ChainFacts;
}

/** What one cluster's claims are evaluated by. */
export interface ClaimReading {
  readonly stored: StoredLedger;
  /** Absent: the cluster is not known, or was retired. */
  readonly head: Head | undefined;
  readonly situation: ClaimSituation;
}

export class ClaimReader {
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
        const view = clusterView(snapshot);
        return { targets: view.targets, view, facts: chainFactsOf(snapshot) };
      },
      'claims',
    );
  }

  /** One read of the ledger, then one of the head; the content is kept by its digest. */
  async read(clusterId: string, nowMs: number): Promise<ClaimReading> {
    const stored = await this.ledgers.read(clusterId);
    return this.evaluable(stored, await this.store.heads.read(clusterId), nowMs);
  }

  /** The same for a ledger that was read, and a head that was read after it. */
  async evaluable(stored: StoredLedger, head: Head | undefined, nowMs: number): Promise<ClaimReading> {
    const [current] =
      head === undefined || head.omission !== undefined ? [] : await this.#content.viewsOf([head]);
    const content: ClaimContent | undefined = current?.view;
    // A head that moved on while its content was read is as good: it was read later.
    const read = current?.head ?? head;
    return {
      stored,
      head: read,
      situation: {
        ledger: stored.ledger,
        head: read === undefined ? undefined : claimHead(read),
        content,
        nowMs,
        settings: this.settings,
      },
    };
  }
}

export function claimHead(head: Head): ClaimHead {
  return {
    counter: head.highWater,
    collectedAtMs: Number(head.collectedAtNanos / 1_000_000n),
    observedMs: head.observedAtMs,
    omittedAtMs: head.omission?.atMs,
  };
}
