/** Capacity views with what live claims hold: everybody's, the caller's too. */

import type { Taken } from '../../core/capacity/fit/room.ts';
import type { DatedView } from '../../core/capacity/view/target-row.ts';
import { claimIdOf } from '../../core/claims/claim-id.ts';
import { claimedByTarget } from '../../core/claims/claimed-capacity.ts';
import { blockingPods, type ClaimSettings, evaluate, isLive } from '../../core/claims/evaluate.ts';
import type { ClaimReader } from '../../reading/claim-reader.ts';
import { versionOf } from '../../reading/map-reader.ts';
import type { Store } from '../../storage/commit.ts';
import type { LedgerStore, StoredLedger } from '../../storage/ledgers.ts';

export interface ClaimedViewsDeps {
  readonly store: Store;
  readonly ledgers: LedgerStore;
  readonly reader: ClaimReader;
  readonly settings: ClaimSettings;
}

/** Views behind claims, for two purposes. */
export interface ClaimedViews {
  /** As the snapshots say, with what is claimed beside it. */
  readonly shown: readonly DatedView[];
  /** To fit into: without the demand of chains that claims hold already. */
  readonly fitted: readonly DatedView[];
  /** What claims take of the latter. */
  readonly taken: Taken;
}

/** Views that no claim counts in. */
export function withoutClaims(views: readonly DatedView[]): ClaimedViews {
  return { shown: views, fitted: views, taken: new Map() };
}

/**
 * @param views begins to read heads once the ledgers were read: with the heads first, a job whose claim was
 *   fulfilled in between would count nowhere
 * @param without ids of claims that count as gone
 */
export async function viewsBehindClaims(
  { ledgers, reader, store, settings }: ClaimedViewsDeps,
  views: () => Promise<readonly DatedView[]>,
  nowMs: number,
  without: readonly string[] = [],
): Promise<ClaimedViews> {
  const live = new Map(
    (await ledgers.readAll())
      .filter(({ ledger }) => ledger.holds.some(isLive))
      .map((stored): [string, StoredLedger] => [stored.clusterId, stored]),
  );
  const gone = new Set(without.map((id) => id.toLowerCase()));
  const shown: DatedView[] = [];
  const fitted: DatedView[] = [];
  const taken = new Map<DatedView['view']['targets'][number], ReadonlyMap<number, number>>();
  for (const dated of await views()) {
    const stored = live.get(dated.view.clusterId);
    if (stored === undefined) {
      shown.push(dated);
      fitted.push(dated);
      continue;
    }
    const { head, situation } = await reader.evaluable(
      stored,
      await store.heads.read(dated.view.clusterId),
      nowMs,
    );
    // Out of the map by now, or unreadable: it was neither a moment ago.
    if (head === undefined || situation.head === undefined || situation.content === undefined) continue;
    const { counter, collectedAtNanos } = versionOf(head);
    // Chains and capacity have to be those of one snapshot.
    const current =
      counter === dated.counter ? dated : { view: situation.content.view, counter, collectedAtNanos };
    const content = { view: current.view, facts: situation.content.facts };
    const holds = stored.ledger.holds.filter(({ id }) => !gone.has(claimIdOf(id).text));
    const evaluation = evaluate(holds, situation.head, content, nowMs, settings);
    shown.push({ ...current, claimed: claimedByTarget(evaluation) });
    fitted.push({ ...current, view: evaluation.view ?? current.view });
    for (const [target, pods] of blockingPods(evaluation)) taken.set(target, pods);
  }
  return { shown, fitted, taken };
}
