/**
 * One step in the life of a bundle: from what is stored, the map, the ledgers and the clock to what is to be stored
 * next, and what is then to be done on the ledgers. It writes nothing and can be asked at any time, by anybody: the
 * item is written first and on the revision that was read, so that of two processes one decides, and whatever was not
 * carried out is found missing by the next step.
 *
 * A copy is claimed like this: its places and the ids of its claims are stored (`acquiring`), each part is claimed in
 * the order of cluster ids, each part is confirmed, and only then it is stored as `placed`, which is what deployers act
 * on. Any refusal on the way stores that it is given up, and then releases the parts.
 */
import { create } from '@bufbuild/protobuf';
import {
  AvoidedTargetSchema,
  type StoredBundle,
  StoredClaimSchema,
  type StoredCopy,
} from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { ClaimState } from '../../../gen/resourcemap/v1/claims_pb.ts';
import { claimIdOf } from '../../claims/claim-id.ts';
import type { Stepwise } from '../../stepwise.ts';
import type { Bundle } from '../model/model.ts';
import type { Copy } from '../search/search-model.ts';
import { type FoundPlace, findPlace, findPlaces } from './find-place.ts';
import { BACK_OFF_MS, MAX_BACK_OFF_MS, PLACE_AHEAD_MS, REPAIR_AFTER_MS, START_WITHIN_MS } from './limits.ts';
import { observe } from './observe.ts';
import { mayBePlaced, nextGeneration, settlePast } from './past.ts';
import { claimParts, claimRequestOf } from './ranks.ts';
import { jobIdOf, readOneBundle } from './spec.ts';
import type { BundleWorld, ClaimOperation } from './world.ts';

export interface Reconciled {
  /** Absent: nothing of it is left, and the item is to be removed. */
  readonly next: StoredBundle | undefined;
  /** Once `next` is stored. */
  readonly operations: readonly ClaimOperation[];
}

/** @throws Error for an item whose spec cannot be read, which was checked when it was put */
export function* reconcile(stored: StoredBundle, world: BundleWorld): Stepwise<Reconciled> {
  if (stored.spec === undefined) throw new Error('A stored bundle has no spec.');
  const item = withStopTime(stored, world.nowMs);
  const bundle = readOneBundle(stored.spec);
  const operations: ClaimOperation[] = [];
  const settle = (copy: StoredCopy): StoredCopy => {
    const settled = settlePast(copy, world);
    operations.push(...settled.operations);
    return settled.copy;
  };
  if (item.state === 'deleting') {
    const copies = item.copies.map((copy) => settle(stopped(bundle.bundleId, copy, world.nowMs)));
    const isGone = copies.every(({ ending }) => ending.length === 0);
    return { next: isGone ? undefined : { ...item, copies }, operations };
  }
  let copies = item.copies.map((copy) => observed(bundle.bundleId, copy, item, world));
  copies = copies.map((copy) => renewed(bundle.bundleId, copy, copies, world.nowMs));
  if (!item.paused) copies = yield* moved(bundle, copies, item.repairDegraded, world);
  copies = copies.map(settle);
  if (!item.paused) copies = yield* placed(bundle, copies, item.startAtMs, world);
  copies = copies.map((copy) => {
    const step = acquire(bundle.bundleId, copy, world);
    operations.push(...step.operations);
    return step.copy;
  });
  return { next: { ...item, copies }, operations };
}

function withStopTime(item: StoredBundle, nowMs: number): StoredBundle {
  if (item.state === 'deleting' || item.stopAtMs === 0 || nowMs < item.stopAtMs) return item;
  return { ...item, state: 'deleting', reason: 'its stop time came', actor: 'resource-map' };
}

/** Nothing of it is started any more, and what runs is to end. */
function stopped(bundleId: string, copy: StoredCopy, nowMs: number): StoredCopy {
  if (copy.phase === 'stopping') return copy;
  const ended = nextGeneration(bundleId, copy, { reason: copy.reason, failed: false }, nowMs);
  return { ...ended, phase: 'stopping' };
}

function observed(
  bundleId: string,
  copy: StoredCopy,
  { paused, replaceUnknownAfterMs }: StoredBundle,
  world: BundleWorld,
): StoredCopy {
  if (copy.phase !== 'placed' && copy.phase !== 'running' && copy.phase !== 'unknown') return copy;
  const seen = observe(bundleId, copy, paused ? 0 : replaceUnknownAfterMs, world);
  return seen.kind === 'kept' ? seen.copy : nextGeneration(bundleId, copy, seen.loss, world.nowMs);
}

/** After the spec was replaced: the backup first, and the primary once the backup of the new spec runs. */
function renewed(
  bundleId: string,
  copy: StoredCopy,
  copies: readonly StoredCopy[],
  nowMs: number,
): StoredCopy {
  if (!copy.outdated) return copy;
  if (copy.phase === 'pending') return { ...copy, outdated: false };
  const other = copies.find((one) => one.copy !== copy.copy);
  const waits =
    copy.copy === 'primary' && other !== undefined && (other.outdated || other.phase !== 'running');
  if (waits && copy.phase !== 'acquiring' && copy.phase !== 'done') return copy;
  return nextGeneration(bundleId, copy, { reason: 'its bundle was replaced', failed: false }, nowMs);
}

function targetsOf({ ranks }: Pick<StoredCopy, 'ranks'>): StoredCopy['avoid'] {
  return ranks.map(({ clusterId, poolId, nodeTypeId }) =>
    create(AvoidedTargetSchema, { clusterId, poolId, nodeTypeId }),
  );
}

function besideOf(copy: StoredCopy, copies: readonly StoredCopy[]): StoredCopy['avoid'] {
  return copies.filter((other) => other.copy !== copy.copy).flatMap(targetsOf);
}

/** Copies that leave their place because they were asked to, or since a better one came free; not both at once. */
function* moved(
  bundle: Bundle,
  copies: readonly StoredCopy[],
  repairDegraded: boolean,
  world: BundleWorld,
): Stepwise<StoredCopy[]> {
  const next: StoredCopy[] = [];
  for (const copy of copies) {
    const isPlaced = copy.phase === 'placed' || copy.phase === 'running' || copy.phase === 'unknown';
    const repairs =
      repairDegraded &&
      copy.degraded.some(({ known }) => known) &&
      world.nowMs >= Math.max(copy.retryAtMs, copy.sinceMs + REPAIR_AFTER_MS) &&
      copies.every(({ phase }) => phase === 'running');
    if (!isPlaced || !(copy.move || repairs)) {
      next.push(copy.move && !isPlaced ? { ...copy, move: false } : copy);
      continue;
    }
    const avoid = targetsOf(copy);
    const found = yield* findPlace(bundle, nameOf(copy), besideOf(copy, copies), avoid, world);
    const isBetter =
      found.kind === 'placed' && (copy.move || knownDomains(found.degraded) < knownDomains(copy.degraded));
    if (isBetter) {
      const reason = copy.move ? 'it moves' : 'it moves to a domain that came free';
      next.push({ ...nextGeneration(bundle.bundleId, copy, { reason, failed: false }, world.nowMs), avoid });
    } else {
      const reason = found.kind === 'unplaced' && copy.move ? `it cannot move: ${found.reason}` : copy.reason;
      next.push({ ...copy, move: false, reason, retryAtMs: world.nowMs + REPAIR_AFTER_MS });
    }
  }
  return next;
}

function knownDomains(degraded: StoredCopy['degraded']): number {
  return degraded.filter(({ known }) => known).length;
}

function nameOf({ copy }: StoredCopy): Copy {
  return copy === 'backup' ? 'backup' : 'primary';
}

/** Finds places for the copies that have none and may have one. */
function* placed(
  bundle: Bundle,
  copies: readonly StoredCopy[],
  startAtMs: number,
  world: BundleWorld,
): Stepwise<StoredCopy[]> {
  const { nowMs } = world;
  if (nowMs < startAtMs - PLACE_AHEAD_MS) return [...copies];
  const isOpen = (copy: StoredCopy): boolean =>
    copy.phase === 'pending' && nowMs >= copy.retryAtMs && mayBePlaced(copy);
  const open = copies.filter(isOpen);
  if (open.length === 0) return [...copies];
  if (open.length === copies.length && open.every(({ avoid }) => avoid.length === 0)) {
    const found = yield* findPlaces(bundle, world);
    return copies.map((copy) => withPlace(copy, found.get(nameOf(copy)), world));
  }
  // The one that has a place keeps it; of two that have none the primary comes first.
  let next = [...copies];
  const [first] = open;
  if (first === undefined) return next;
  const found = yield* findPlace(bundle, nameOf(first), besideOf(first, copies), first.avoid, world);
  next = next.map((copy) => (copy.copy === first.copy ? withPlace(copy, found, world) : copy));
  return next;
}

function withPlace(
  copy: StoredCopy,
  found: FoundPlace | undefined,
  { nowMs, newClaimId }: BundleWorld,
): StoredCopy {
  if (found?.kind !== 'placed') {
    const failures = copy.failures + 1;
    return {
      ...copy,
      failures,
      // A reason that is the same says so once.
      reason: found?.reason ?? 'the primary has no place',
      unplaced: found?.unplaced ?? [],
      avoid: [],
      retryAtMs: nowMs + Math.min(MAX_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.min(failures - 1, 10)),
    };
  }
  const { ranks, placements, degraded } = found;
  const claims = claimParts(ranks).map(({ clusterId }) =>
    create(StoredClaimSchema, { id: newClaimId().bytes, clusterId }),
  );
  return {
    ...copy,
    phase: 'acquiring',
    ranks,
    placements,
    degraded,
    claims,
    unplaced: [],
    avoid: [],
    retryAtMs: 0,
    sinceMs: nowMs,
  };
}

/** Claims every part, then confirms every part, then is placed. */
function acquire(
  bundleId: string,
  copy: StoredCopy,
  world: BundleWorld,
): { readonly copy: StoredCopy; readonly operations: readonly ClaimOperation[] } {
  if (copy.phase !== 'acquiring') return { copy, operations: [] };
  const jobId = jobIdOf(bundleId, copy.copy, copy.generation);
  const accepts: ClaimOperation[] = [];
  const confirms: ClaimOperation[] = [];
  for (const [index, { clusterId, ranks }] of claimParts(copy.ranks).entries()) {
    const claim = copy.claims[index];
    if (claim === undefined) throw new Error('A copy has fewer claims than parts.');
    const id = claimIdOf(claim.id);
    const fact = world.cluster(clusterId).claims.get(id.text);
    const refused =
      world.refused.get(id.text) ?? (fact?.ended === true ? fact.reason || 'its claim ended' : undefined);
    if (refused !== undefined) {
      const given = nextGeneration(bundleId, copy, { reason: refused, failed: true }, world.nowMs);
      // Released at once, behind the write that says so.
      const settled = settlePast(given, world);
      return { copy: settled.copy, operations: settled.operations };
    }
    if (fact === undefined)
      accepts.push({ kind: 'accept', clusterId, id, request: claimRequestOf(jobId, ranks) });
    else if (fact.state === ClaimState.HELD)
      confirms.push({ kind: 'confirm', clusterId, id, ttlMs: START_WITHIN_MS });
  }
  if (accepts.length > 0) return { copy, operations: accepts };
  if (confirms.length > 0) return { copy, operations: confirms };
  return { copy: { ...copy, phase: 'placed', reason: '', sinceMs: world.nowMs }, operations: [] };
}
