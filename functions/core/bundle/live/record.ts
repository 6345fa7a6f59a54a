/** A stored bundle as the API writes it. */
import { create } from '@bufbuild/protobuf';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import {
  type BundleCopy,
  BundleCopySchema,
  type BundleRecord,
  BundleRecordSchema,
} from '../../../gen/resourcemap/bundle/v1/live_pb.ts';
import type { StoredBundle, StoredClaim, StoredCopy } from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { claimIdOf } from '../../claims/claim-id.ts';
import { nanosOfMs, timestampOf } from '../../timestamp.ts';
import { jobIdOf } from './spec.ts';

export function recordMessage(bundleId: string, item: StoredBundle, rev: bigint, etag: string): BundleRecord {
  const { spec, state, copies, paused, repairDegraded, replaceUnknownAfterMs, actor, reason } = item;
  return create(BundleRecordSchema, {
    ...(spec === undefined ? {} : { bundle: spec }),
    etag,
    state,
    ...time('startAt', item.startAtMs),
    ...time('stopAt', item.stopAtMs),
    copies: copies.map((copy) => copyMessage(bundleId, copy)),
    paused,
    repairDegraded,
    ...(replaceUnknownAfterMs === 0
      ? {}
      : {
          replaceUnknownAfter: create(DurationSchema, {
            seconds: BigInt(Math.round(replaceUnknownAfterMs / 1_000)),
          }),
        }),
    ...time('createdAt', item.createdAtMs),
    actor,
    reason,
    rev,
    owner: item.owner,
  });
}

export function copyMessage(bundleId: string, stored: StoredCopy): BundleCopy {
  const { copy, generation, phase, ranks, placements, claims, degraded, reason, unplaced, failures } = stored;
  return create(BundleCopySchema, {
    copy,
    generation,
    phase,
    jobId: jobIdOf(bundleId, copy, generation),
    ranks,
    placements,
    claims: claims.map(claimFields),
    degraded,
    reason,
    unplaced,
    ...time('retryAt', phase === 'pending' ? stored.retryAtMs : 0),
    ending: stored.ending.map((past) => ({
      generation: past.generation,
      jobId: past.jobId,
      clusterIds: past.clusterIds,
      claims: past.claims.map(claimFields),
    })),
    ...time('since', stored.sinceMs),
    failures,
  });
}

function claimFields({ id, clusterId }: StoredClaim) {
  return { id: claimIdOf(id).text, clusterId };
}

function time<Name extends string>(name: Name, ms: number) {
  return ms === 0
    ? {}
    : ({ [name]: timestampOf(nanosOfMs(ms)) } as Record<Name, ReturnType<typeof timestampOf>>);
}
