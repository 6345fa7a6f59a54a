/** Claims as the API writes them. */
import { create } from '@bufbuild/protobuf';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import {
  type Claim,
  type ClaimPlacement,
  ClaimPlacementSchema,
  ClaimSchema,
} from '../../gen/resourcemap/v1/claims_pb.ts';
import type { Hold } from '../../gen/resourcemap/v1/ledger_pb.ts';
import { nanosOfMs, timestampOf } from '../timestamp.ts';
import type { FoundClaim } from './change.ts';
import { claimIdOf } from './claim-id.ts';
import type { EvaluatedHold } from './evaluate.ts';

export function claimMessage(clusterId: string, found: FoundClaim, nowMs: number): Claim {
  if (found.kind === 'evaluated') return evaluatedMessage(clusterId, found.claim, nowMs);
  const { hold } = found;
  return create(ClaimSchema, {
    ...commonFields(clusterId, hold, nowMs),
    fulfilledChains: hold.fulfilledChains,
    reason: hold.reason,
    ...(hold.endedAtMs === 0 ? {} : { endedAt: timestampOf(nanosOfMs(hold.endedAtMs)) }),
  });
}

function evaluatedMessage(clusterId: string, claim: EvaluatedHold, nowMs: number): Claim {
  const { hold, end, remaining, fulfilled, lapsed, backed, unbackedReason } = claim;
  return create(ClaimSchema, {
    ...commonFields(clusterId, hold, nowMs),
    state: end?.state ?? hold.state,
    remainingChains: remaining,
    fulfilledChains: fulfilled,
    lapsed,
    ...(backed === undefined || end !== undefined ? {} : { backed }),
    ...(hold.unbackedSinceMs > 0 && backed === false
      ? { unbackedSince: timestampOf(nanosOfMs(hold.unbackedSinceMs)) }
      : {}),
    reason: end?.reason ?? (unbackedReason || hold.reason),
    ...(end === undefined ? {} : { endedAt: timestampOf(nanosOfMs(nowMs)) }),
  });
}

function commonFields(clusterId: string, hold: Hold, nowMs: number) {
  const time = (ms: number) => timestampOf(nanosOfMs(ms));
  return {
    id: claimIdOf(hold.id).text,
    clusterId,
    state: hold.state,
    owner: hold.owner,
    fence: hold.fence,
    jobId: hold.jobId,
    placements: placementsOf(hold),
    ...(hold.acceptedAtMs === 0 ? {} : { acceptedAt: time(hold.acceptedAtMs) }),
    ...(hold.confirmedAtMs === 0 ? {} : { confirmedAt: time(hold.confirmedAtMs) }),
    ...(hold.expiresAtMs === 0
      ? {}
      : { expiresAt: time(hold.expiresAtMs), expiresIn: durationOf(hold.expiresAtMs - nowMs) }),
    judgedCounter: hold.judgedCounter,
    note: hold.note,
    releasing: hold.releasedAtMs > 0,
    replacedBy: hold.replacedBy.length === 16 ? claimIdOf(hold.replacedBy).text : '',
  };
}

function durationOf(ms: number) {
  const left = Math.max(0, Math.floor(ms));
  return create(DurationSchema, {
    seconds: BigInt(Math.floor(left / 1_000)),
    nanos: (left % 1_000) * 1_000_000,
  });
}

/** Where a claim's chains are placed. */
export function placementsOf({ ranks, targets }: Pick<Hold, 'ranks' | 'targets'>): ClaimPlacement[] {
  return ranks.flatMap(({ rankId, chainIds, placements }) => {
    let first = 0;
    return placements.map(({ chains, runs }) => {
      const ids = chainIds.slice(first, first + chains);
      first += chains;
      return create(ClaimPlacementSchema, {
        rankId,
        chains,
        chainIds: ids,
        targets: runs.flatMap((run) => {
          const { poolId = '', nodeTypeId = '' } = targets[run.target] ?? {};
          return Array.from({ length: run.pods }, () => ({ poolId, nodeTypeId }));
        }),
        acceleratorCounts: runs.flatMap((run) => Array.from({ length: run.pods }, () => run.accelerators)),
      });
    });
  });
}
