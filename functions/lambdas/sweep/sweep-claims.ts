/**
 * One sweep over all ledgers of claims: writes down what was only derived, so that events are sent and ledgers
 * stay small. Responses are right without it. Each write is conditional on the ledger that the sweep read, so it
 * undoes nobody's, and a sweep may end at any point: the next one goes on.
 */

import { volume } from '../../core/capacity/view/histogram.ts';
import { evaluateSituation } from '../../core/claims/change.ts';
import { compact, holdBytes, isNews } from '../../core/claims/compact.ts';
import { type Evaluation, isLive } from '../../core/claims/evaluate.ts';
import type { ClaimReader } from '../../reading/claim-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { HeadStore } from '../../storage/heads.ts';
import type { LedgerStore, StoredLedger } from '../../storage/ledgers.ts';
import { forEachConcurrently } from '../../storage/retry.ts';

/** Ledgers of one shard under way at once: each waits for a head, and rarely for content. */
const CONCURRENCY = 8;

export interface ClaimSweepDeps {
  readonly ledgers: LedgerStore;
  readonly reader: ClaimReader;
  readonly heads: Pick<HeadStore, 'read'>;
  readonly shards: number;
  readonly telemetry: Telemetry;
}

/** What one sweep saw and did. */
export interface ClaimSweepReport {
  /** Claims that count after it. */
  readonly live: number;
  /** Of these, past their time: nothing may be started on them. */
  readonly lapsed: number;
  readonly accelerators: number;
  /** Bytes of the largest ledger's claims. */
  readonly largestBytes: number;
  /** Ledgers in which something was written down. */
  readonly recorded: number;
  /** Empty ledgers of retired clusters, which were removed. */
  readonly removed: number;
  /** Ledgers that moved between the sweep's read and its write, and so were left alone. */
  readonly movedMeanwhile: number;
  readonly failedClusters: readonly string[];
  readonly failedShards: readonly number[];
}

/** Sweeps every shard, whatever becomes of the others. */
export async function sweepClaims(deps: ClaimSweepDeps, now: () => number): Promise<ClaimSweepReport> {
  const tally = {
    live: 0,
    lapsed: 0,
    accelerators: 0,
    largestBytes: 0,
    recorded: 0,
    removed: 0,
    movedMeanwhile: 0,
    failedClusters: [] as string[],
    failedShards: [] as number[],
  };
  await Promise.all(
    Array.from({ length: deps.shards }, async (_, shard) => {
      let stored: readonly StoredLedger[];
      try {
        stored = await deps.ledgers.readShard(shard);
      } catch (cause) {
        deps.telemetry.error('shard of claims not swept', { shard, cause });
        tally.failedShards.push(shard);
        return;
      }
      await forEachConcurrently(stored, CONCURRENCY, async (one) => {
        try {
          const { outcome, evaluation } = await sweepLedger(deps, one, now);
          if (outcome !== 'unchanged') tally[outcome]++;
          const effective = evaluation.claims.filter(({ end }) => end === undefined);
          tally.live += effective.length;
          for (const { lapsed, pods } of effective) {
            if (lapsed) tally.lapsed++;
            for (const on of pods.values()) tally.accelerators += Number(volume(on));
          }
          const bytes = one.ledger.holds.reduce((sum, hold) => sum + holdBytes(hold), 0);
          tally.largestBytes = Math.max(tally.largestBytes, bytes);
        } catch (cause) {
          deps.telemetry.error('claims not swept', { clusterId: one.clusterId, cause });
          tally.failedClusters.push(one.clusterId);
        }
      });
    }),
  );
  report(deps.telemetry, tally);
  return tally;
}

type Outcome = 'unchanged' | 'recorded' | 'removed' | 'movedMeanwhile';

async function sweepLedger(
  { ledgers, reader, heads }: ClaimSweepDeps,
  stored: StoredLedger,
  now: () => number,
): Promise<{ readonly outcome: Outcome; readonly evaluation: Evaluation }> {
  const { ledger, clusterId } = stored;
  // The ledger was read before the head, as everywhere.
  const head = await heads.read(clusterId);
  const { situation } = await reader.evaluable(stored, head, now());
  const evaluation = evaluateSituation(situation);
  const next = compact(ledger, evaluation, situation.nowMs);
  const written = async (write: Promise<unknown>, outcome: Outcome): Promise<Outcome> => {
    const result = await write;
    return result === undefined || result === false ? 'movedMeanwhile' : outcome;
  };
  if (next.holds.length === 0 && head === undefined) {
    return { outcome: await written(ledgers.remove(stored), 'removed'), evaluation };
  }
  // Tombstones that are due wait for another write, unless nothing would be left.
  const isEmptied = next.holds.length === 0 && ledger.holds.length > 0;
  if (!isEmptied && (!ledger.holds.some(isLive) || !isNews(ledger, next)))
    return { outcome: 'unchanged', evaluation };
  return {
    outcome: await written(ledgers.replace(stored, next, situation.nowMs), 'recorded'),
    evaluation,
  };
}

function report(telemetry: Telemetry, swept: ClaimSweepReport): void {
  telemetry.count('ClaimSweepFailures', swept.failedClusters.length + swept.failedShards.length);
  // Numbers of a part of the ledgers would look like claims that ended.
  if (swept.failedShards.length > 0) return;
  telemetry.gauge('ClaimsLive', swept.live, 'Count');
  telemetry.gauge('ClaimsLapsed', swept.lapsed, 'Count');
  telemetry.gauge('ClaimedAccelerators', swept.accelerators, 'Count');
  telemetry.gauge('LargestLedger', swept.largestBytes, 'Bytes');
}
