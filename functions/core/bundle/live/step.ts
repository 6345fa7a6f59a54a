/**
 * Drives {@link reconcile} until nothing is left to do: the item is written first and on the revision that was read,
 * then the ledgers, one operation after the other, and then it is asked again. It can stop anywhere, and several
 * processes can do it at the same time.
 */
import { equals } from '@bufbuild/protobuf';
import { type StoredBundle, StoredBundleSchema } from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import type { Stepwise } from '../../stepwise.ts';
import { reconcile } from './reconcile.ts';
import type { BundleWorld, ClaimOperation } from './world.ts';

/** What became of an operation. `later`: nothing is known to be wrong, and the next round tries again. */
export type OperationOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'later' };

export interface StoredAt {
  readonly item: StoredBundle;
}

/** Items by id, written on what was read. */
export interface BundleItems<Kept extends StoredAt> {
  read(bundleId: string): Promise<Kept | undefined>;
  /** @returns absent: another writer came first */
  replace(bundleId: string, seen: Kept, next: StoredBundle): Promise<Kept | undefined>;
  remove(seen: Kept): Promise<boolean>;
}

export interface StepDeps<Kept extends StoredAt> {
  readonly items: BundleItems<Kept>;
  /** @param changed whether ledgers were changed since the last call */
  world(refused: ReadonlyMap<string, string>, changed: boolean): Promise<BundleWorld>;
  perform(bundleId: string, operation: ClaimOperation): Promise<OperationOutcome>;
  run<T>(work: Stepwise<T>): Promise<T | 'abandoned'>;
}

/** Placing a bundle takes five; more are lost races and refusals on the way, and the next round goes on. */
const MAX_STEPS = 24;

/** @returns the bundle as it is afterwards; absent: it is gone, or was never there */
export async function stepBundle<Kept extends StoredAt>(
  bundleId: string,
  { items, world, perform, run }: StepDeps<Kept>,
): Promise<Kept | undefined> {
  const refused = new Map<string, string>();
  let seen = await items.read(bundleId);
  let changed = false;
  for (let step = 0; step < MAX_STEPS && seen !== undefined; step++) {
    const result = await run(reconcile(seen.item, await world(refused, changed)));
    if (result === 'abandoned') return seen;
    const { next, operations } = result;
    if (next === undefined) {
      if (await items.remove(seen)) return undefined;
      seen = await items.read(bundleId);
      continue;
    }
    let progressed = false;
    if (!equals(StoredBundleSchema, seen.item, next)) {
      const written: Kept | undefined = await items.replace(bundleId, seen, next);
      if (written === undefined) {
        seen = await items.read(bundleId);
        continue;
      }
      seen = written;
      progressed = true;
    }
    changed = false;
    for (const operation of operations) {
      const outcome = await perform(bundleId, operation);
      if (outcome.kind === 'later') return seen;
      changed = true;
      progressed = true;
      if (outcome.kind === 'refused') {
        refused.set(operation.id.text, outcome.reason);
        break;
      }
    }
    if (!progressed) return seen;
  }
  return seen;
}
