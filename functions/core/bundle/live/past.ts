/**
 * Generations that are over, or are to be. A new one gets a place only once nothing can run of those before it: every
 * claim has ended, so that nobody may start anything on it any more, and the newest snapshots show no chain.
 */
import { create } from '@bufbuild/protobuf';
import type { StoredClaim } from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import {
  type StoredCopy,
  type StoredPast,
  StoredPastSchema,
} from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { claimIdOf } from '../../claims/claim-id.ts';
import { MAX_ID_AHEAD_MS, TOMBSTONE_MS } from '../../claims/limits.ts';
import { mayRun } from './job-states.ts';
import { BACK_OFF_MS, MAX_BACK_OFF_MS } from './limits.ts';
import { jobIdOf } from './spec.ts';
import type { BundleWorld, ClaimOperation } from './world.ts';

/** Phases in which deployers may have been told of the generation. */
export const PLACED_PHASES: ReadonlySet<string> = new Set(['placed', 'running', 'unknown', 'done']);

export interface Loss {
  readonly reason: string;
  /** Whether it counts as a failure, after which the next attempt waits. */
  readonly failed: boolean;
  /** Whether the next generation does not wait for this one. */
  readonly abandoned?: boolean;
}

/** The copy with a new generation that has no place yet; what this one holds is to end. */
export function nextGeneration(
  bundleId: string,
  copy: StoredCopy,
  { reason, failed, abandoned = false }: Loss,
  nowMs: number,
): StoredCopy {
  const failures = failed ? copy.failures + 1 : copy.failures;
  const past = create(StoredPastSchema, {
    generation: copy.generation,
    jobId: jobIdOf(bundleId, copy.copy, copy.generation),
    clusterIds: [...new Set(copy.ranks.map(({ clusterId }) => clusterId))],
    claims: copy.claims,
    placed: PLACED_PHASES.has(copy.phase),
    abandoned,
  });
  const holdsNothing = copy.phase === 'pending' || copy.phase === 'stopping';
  return {
    ...copy,
    generation: copy.generation + 1n,
    phase: 'pending',
    phaseBefore: '',
    ranks: [],
    placements: [],
    claims: [],
    degraded: [],
    unplaced: [],
    reason,
    failures,
    retryAtMs: failed ? nowMs + Math.min(MAX_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.min(failures - 1, 10)) : 0,
    sinceMs: nowMs,
    unknownSinceMs: 0,
    missingCutMs: 0,
    move: false,
    outdated: false,
    ending: holdsNothing ? copy.ending : [...copy.ending, past],
  };
}

/** Whether nothing that the copy waits for is left. */
export function mayBePlaced({ ending }: StoredCopy): boolean {
  return ending.every(({ abandoned }) => abandoned);
}

/** The copy without the generations of which nothing can run any more, and what is to be released of the others. */
export function settlePast(
  copy: StoredCopy,
  world: BundleWorld,
): { readonly copy: StoredCopy; readonly operations: readonly ClaimOperation[] } {
  const operations: ClaimOperation[] = [];
  const ending = copy.ending.flatMap((past): StoredPast[] => {
    const claims = past.claims.filter((claim) => !hasEnded(claim, world));
    for (const claim of claims) {
      const id = claimIdOf(claim.id);
      const { standing, claims: facts } = world.cluster(claim.clusterId);
      if (standing === 'gone' || facts.get(id.text)?.releasing === true || world.refused.has(id.text))
        continue;
      const reason = `generation ${past.generation} of ${copy.copy} is over`;
      operations.push({
        kind: 'release',
        clusterId: claim.clusterId,
        id,
        neverStarted: !past.placed,
        reason,
      });
    }
    const clusterIds = past.placed
      ? past.clusterIds.filter((id) => mayStillRun(id, past.jobId, claims, world))
      : [];
    if (claims.length === 0 && clusterIds.length === 0) return [];
    // A list is replaced only if something of it ended, so that an item that says the same is not written.
    const same =
      claims.length === past.claims.length && (!past.placed || clusterIds.length === past.clusterIds.length);
    return [same ? past : { ...past, claims, clusterIds: past.placed ? clusterIds : past.clusterIds }];
  });
  return { copy: { ...copy, ending }, operations };
}

function hasEnded({ id: bytes, clusterId }: StoredClaim, { nowMs, cluster }: BundleWorld): boolean {
  const id = claimIdOf(bytes);
  const { standing, claims } = cluster(clusterId);
  if (standing === 'gone') return true;
  const fact = claims.get(id.text);
  if (fact !== undefined) return fact.ended;
  // While its id is young, an acceptance may still be on its way: a release leaves a tombstone for it.
  return nowMs - id.madeAtMs > TOMBSTONE_MS + MAX_ID_AHEAD_MS;
}

function mayStillRun(
  clusterId: string,
  jobId: string,
  open: readonly StoredClaim[],
  world: BundleWorld,
): boolean {
  const { standing, jobs } = world.cluster(clusterId);
  if (standing === 'gone') return false;
  if (standing === 'silent' || jobs === undefined) return true;
  return open.some((claim) => claim.clusterId === clusterId) || mayRun(jobs, jobId);
}
