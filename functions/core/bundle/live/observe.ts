/** What snapshots and ledgers say of a copy that deployers were told of. */
import type { StoredCopy } from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { ClaimState } from '../../../gen/resourcemap/v1/claims_pb.ts';
import { claimIdOf } from '../../claims/claim-id.ts';
import { quote } from '../../quote.ts';
import { NO_CHAINS, type RankChains } from './job-states.ts';
import { MAX_BACK_OFF_MS, MISSING_MS } from './limits.ts';
import type { Loss } from './past.ts';
import { claimedRanks } from './ranks.ts';
import { jobIdOf } from './spec.ts';
import type { BundleWorld, ClaimFact, ClusterFact } from './world.ts';

export type Observed =
  | { readonly kind: 'kept'; readonly copy: StoredCopy }
  | { readonly kind: 'lost'; readonly loss: Loss };

/** @param replaceUnknownAfterMs 0: a copy in a silent cluster is never replaced */
export function observe(
  bundleId: string,
  copy: StoredCopy,
  replaceUnknownAfterMs: number,
  world: BundleWorld,
): Observed {
  const ranks = claimedRanks(copy.ranks);
  const clusters = [...new Set(ranks.map(({ clusterId }) => clusterId))].map(
    (id): readonly [string, ClusterFact] => [id, world.cluster(id)],
  );
  const gone = clusters.find(([, { standing }]) => standing === 'gone');
  if (gone !== undefined) return lost(`cluster ${quote(gone[0])} left the map`);
  const silent = clusters.find(([, { standing }]) => standing === 'silent');
  if (silent !== undefined) return unknown(copy, silent[0], replaceUnknownAfterMs, world.nowMs);
  const heard: StoredCopy =
    copy.phase === 'unknown'
      ? {
          ...copy,
          phase: copy.phaseBefore,
          phaseBefore: '',
          unknownSinceMs: 0,
          reason: '',
          sinceMs: world.nowMs,
        }
      : copy;
  if (clusters.some(([, { jobs }]) => jobs === undefined)) return { kind: 'kept', copy: heard };
  const jobId = jobIdOf(bundleId, copy.copy, copy.generation);
  const chains = ranks.map(({ rankId, clusterId }): readonly [string, RankChains] => [
    rankId,
    world.cluster(clusterId).jobs?.get(jobId)?.get(rankId) ?? NO_CHAINS,
  ]);
  return judged(heard, chains, world, Math.min(...clusters.map(([, { cutMs }]) => cutMs)));
}

function lost(reason: string): Observed {
  return { kind: 'lost', loss: { reason, failed: true } };
}

function unknown(copy: StoredCopy, clusterId: string, replaceAfterMs: number, nowMs: number): Observed {
  const sinceMs = copy.unknownSinceMs || nowMs;
  if (replaceAfterMs > 0 && nowMs - sinceMs >= replaceAfterMs) {
    const reason = `cluster ${quote(clusterId)} has been silent for ${Math.round(replaceAfterMs / 1_000)} s`;
    return { kind: 'lost', loss: { reason, failed: true, abandoned: true } };
  }
  if (copy.phase === 'unknown') return { kind: 'kept', copy };
  return {
    kind: 'kept',
    copy: {
      ...copy,
      phase: 'unknown',
      phaseBefore: copy.phase,
      unknownSinceMs: sinceMs,
      sinceMs: nowMs,
      reason: `cluster ${quote(clusterId)} is silent`,
    },
  };
}

type NamedChains = readonly (readonly [rankId: string, chains: RankChains])[];

/** @param cutMs of the oldest of the snapshots, by its agent's clock */
function judged(copy: StoredCopy, chains: NamedChains, world: BundleWorld, cutMs: number): Observed {
  const { nowMs } = world;
  if (chains.length === 0) return { kind: 'kept', copy };
  const failed = chains.find(
    ([, { alive, failed, succeeded }]) => failed > 0 && alive === 0 && succeeded === 0,
  );
  if (failed !== undefined) return lost(`the chain of rank ${quote(failed[0])} failed`);
  const ended = ({ alive, succeeded }: RankChains): boolean => succeeded > 0 && alive === 0;
  if (chains.every(([, rank]) => ended(rank))) {
    return { kind: 'kept', copy: { ...copy, phase: 'done', reason: '', sinceMs: nowMs } };
  }
  const missing = chains.find(([, { alive, succeeded }]) => alive === 0 && succeeded === 0);
  if (missing === undefined) return { kind: 'kept', copy: present(copy, chains, ended, nowMs) };
  const claims = copy.claims.map(({ id, clusterId }) =>
    world.cluster(clusterId).claims.get(claimIdOf(id).text),
  );
  const unfulfilled = claims.find((claim) => claim?.ended === true && claim.state !== ClaimState.FULFILLED);
  if (copy.phase === 'placed' && unfulfilled !== undefined) return lost(notStarted(unfulfilled));
  // While a claim counts it may still be started.
  if (copy.phase === 'placed' && claims.some((claim) => claim?.ended === false))
    return { kind: 'kept', copy };
  if (copy.missingCutMs === 0) return { kind: 'kept', copy: { ...copy, missingCutMs: cutMs } };
  if (cutMs - copy.missingCutMs < MISSING_MS) return { kind: 'kept', copy };
  return lost(`the chain of rank ${quote(missing[0])} has been gone for ${MISSING_MS / 1_000} s`);
}

function notStarted({ state, reason }: ClaimFact): string {
  return `it was not started in time: its claim is ${ClaimState[state]?.toLowerCase()}${reason === '' ? '' : ` (${reason})`}`;
}

function present(
  copy: StoredCopy,
  chains: NamedChains,
  ended: (rank: RankChains) => boolean,
  nowMs: number,
): StoredCopy {
  const runs = chains.every(([, rank]) => rank.whole > 0 || ended(rank));
  const found = copy.missingCutMs === 0 ? copy : { ...copy, missingCutMs: 0 };
  if (runs && copy.phase === 'placed') return { ...found, phase: 'running', reason: '', sinceMs: nowMs };
  if (copy.phase === 'running' && copy.failures > 0 && nowMs - copy.sinceMs > MAX_BACK_OFF_MS) {
    return { ...found, failures: 0 };
  }
  return found;
}
