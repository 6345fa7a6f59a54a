/** What happened between two states of a bundle, as its events say it. */
import { create } from '@bufbuild/protobuf';
import {
  type BundleChange,
  BundleChangeKind,
  BundleChangeSchema,
} from '../../../gen/resourcemap/bundle/v1/live_pb.ts';
import type { StoredBundle, StoredCopy } from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { PLACED_PHASES } from './past.ts';
import { copyMessage } from './record.ts';

/** A bundle with its revision. */
export interface BundleState {
  readonly bundleId: string;
  readonly rev: bigint;
  /** Absent: it was not there, or is gone. */
  readonly item: StoredBundle | undefined;
}

/** In the order in which they happened. */
export function bundleChanges(
  before: StoredBundle | undefined,
  { bundleId, rev, item }: BundleState,
): readonly BundleChange[] {
  const latest = item ?? before;
  if (latest === undefined) return [];
  const change = (
    kind: BundleChangeKind,
    more: {
      readonly copy?: StoredCopy;
      readonly copies?: readonly StoredCopy[];
      readonly reason?: string;
    } = {},
  ) =>
    create(BundleChangeSchema, {
      bundleId,
      change: kind,
      state: latest.state,
      ...(more.copy === undefined ? {} : { copy: copyMessage(bundleId, more.copy) }),
      copies: (more.copies ?? []).map((copy) => copyMessage(bundleId, copy)),
      reason: more.reason ?? '',
      actor: latest.actor,
      rev,
    });
  if (item === undefined) return [change(BundleChangeKind.GONE, { reason: latest.reason })];
  if (item.state === 'deleting') {
    if (before?.state === 'deleting') return [];
    return [change(BundleChangeKind.STOPPING, { copies: item.copies, reason: item.reason })];
  }
  return item.copies.flatMap((copy) => {
    const old = before?.copies.find((one) => one.copy === copy.copy);
    return kindsOf(old, copy).map((kind) => change(kind, { copy, reason: copy.reason }));
  });
}

function kindsOf(before: StoredCopy | undefined, after: StoredCopy): readonly BundleChangeKind[] {
  const kinds: BundleChangeKind[] = [];
  const isLost =
    before !== undefined && before.generation !== after.generation && PLACED_PHASES.has(before.phase);
  if (isLost) kinds.push(BundleChangeKind.COPY_LOST);
  const isNew = before?.phase !== after.phase || before.generation !== after.generation;
  if (isNew && after.phase === 'placed' && before?.phase !== 'unknown') {
    kinds.push(BundleChangeKind.PLACED);
    if (after.degraded.length > 0) kinds.push(BundleChangeKind.DEGRADED);
  }
  if (isNew && after.phase === 'running') kinds.push(BundleChangeKind.RUNNING);
  if (isNew && after.phase === 'unknown') kinds.push(BundleChangeKind.COPY_UNKNOWN);
  const hasNoPlace = after.phase === 'pending' && after.reason !== '' && !isLost;
  if (hasNoPlace && after.reason !== before?.reason) kinds.push(BundleChangeKind.UNPLACED);
  return kinds;
}
