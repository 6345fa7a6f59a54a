/** What owners do with a stored bundle. Pure: each gives the next item, or refuses. */
import { clone, create } from '@bufbuild/protobuf';
import { type Bundle as BundleMessage, BundleSchema } from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import {
  type StoredBundle,
  StoredBundleSchema,
  type StoredCopy,
  StoredCopySchema,
} from '../../../gen/resourcemap/bundle/v1/stored_pb.ts';
import { ResourceMapError } from '../../errors.ts';
import { quote } from '../../quote.ts';
import type { Bundle } from '../model/model.ts';
import { nextGeneration, PLACED_PHASES } from './past.ts';
import { type BundleOptions, readOneBundle, startOf, stopOf, versionOf } from './spec.ts';

/** Who acts. */
export interface Actor {
  readonly owner: string;
  /** Whether they may change bundles of others. */
  readonly mayChangeAny: boolean;
}

export interface Put {
  readonly spec: BundleMessage;
  readonly options: BundleOptions;
  /** Whether copies of another spec may be stopped for it. */
  readonly replace: boolean;
}

/** @throws ResourceMapError `bundle_of_another` */
export function checkOwner(item: StoredBundle, { owner, mayChangeAny }: Actor): void {
  if (item.owner === owner || mayChangeAny) return;
  throw new ResourceMapError(
    'bundle_of_another',
    `Bundle ${quote(item.spec?.bundleId ?? '')} is of ${quote(item.owner)}; only its owner or an administrator can change it.`,
  );
}

/**
 * The bundle as it is put.
 *
 * @param stored what is there, if anything
 * @throws ResourceMapError `invalid_bundle_request`, `bundle_of_another`, `bundle_running`, `bundle_deleting`
 */
export function putBundle(
  stored: StoredBundle | undefined,
  { spec: sent, options, replace }: Put,
  actor: Actor,
  nowMs: number,
): StoredBundle {
  const spec = clone(BundleSchema, sent);
  // That it lives is said by the record.
  spec.state = '';
  const bundle = readOneBundle(spec);
  const version = versionOf(spec, options);
  const said = {
    spec,
    version,
    startAtMs: startOf(bundle),
    stopAtMs: stopOf(bundle, nowMs),
    paused: options.paused,
    replaceUnknownAfterMs: options.replaceUnknownAfterMs,
    repairDegraded: options.repairDegraded,
    actor: actor.owner,
  };
  if (stored === undefined) {
    return create(StoredBundleSchema, {
      ...said,
      state: 'live',
      createdAtMs: nowMs,
      owner: actor.owner,
      copies: copyNames(bundle).map((copy) => newCopy(copy, BigInt(Math.floor(nowMs)), nowMs)),
    });
  }
  checkOwner(stored, actor);
  if (stored.state === 'deleting') {
    throw new ResourceMapError(
      'bundle_deleting',
      `Bundle ${quote(spec.bundleId)} is being deleted (${stored.reason}); put it again once it is gone, or under another id.`,
      { retryAfterSeconds: 30 },
    );
  }
  if (stored.version === version) return stored;
  const isSameSpec = stored.spec !== undefined && versionOf(stored.spec, options) === version;
  // What is said beside the spec changes nothing of what runs, and a stop time that was set since stays.
  if (isSameSpec) return { ...stored, ...said, stopAtMs: stored.stopAtMs };
  const running = stored.copies.find(({ phase }) => phase !== 'pending');
  if (running !== undefined && !replace) {
    throw new ResourceMapError(
      'bundle_running',
      `The ${running.copy} of bundle ${quote(spec.bundleId)} is ${running.phase}, of another spec; add ?replace=true to stop it and place the new one, or delete the bundle first.`,
    );
  }
  return { ...stored, ...said, copies: replacedCopies(stored, bundle, nowMs) };
}

function copyNames({ resiliencePolicy }: Bundle): readonly string[] {
  return resiliencePolicy === undefined ? ['primary'] : ['primary', 'backup'];
}

function newCopy(copy: string, generation: bigint, nowMs: number): StoredCopy {
  return create(StoredCopySchema, { copy, generation, phase: 'pending', sinceMs: nowMs });
}

/** Copies of the new spec. What a copy that is not wanted any more leaves behind ends with the primary, which does not wait for it. */
function replacedCopies({ spec, copies }: StoredBundle, bundle: Bundle, nowMs: number): StoredCopy[] {
  const names = copyNames(bundle);
  const id = spec?.bundleId ?? '';
  const left = copies
    .filter(({ copy }) => !names.includes(copy))
    .flatMap((copy) => nextGeneration(id, copy, { reason: '', failed: false }, nowMs).ending)
    .map((past) => ({ ...past, abandoned: true }));
  return names.map((name): StoredCopy => {
    const old = copies.find(({ copy }) => copy === name);
    const kept = old ?? newCopy(name, BigInt(Math.floor(nowMs)), nowMs);
    return {
      ...kept,
      outdated: kept.phase !== 'pending',
      ...(kept.phase === 'pending' ? { retryAtMs: 0, failures: 0 } : {}),
      ending: name === 'primary' ? [...kept.ending, ...left] : kept.ending,
    };
  });
}

/** @throws ResourceMapError `bundle_of_another` */
export function deleteBundle(stored: StoredBundle, actor: Actor, reason: string): StoredBundle {
  checkOwner(stored, actor);
  if (stored.state === 'deleting') return stored;
  return { ...stored, state: 'deleting', reason: reason || 'it was deleted', actor: actor.owner };
}

/**
 * @param stopAtMs 0: it runs until it is deleted
 * @throws ResourceMapError `bundle_of_another`, `bundle_deleting`
 */
export function setStopTime(stored: StoredBundle, actor: Actor, stopAtMs: number): StoredBundle {
  checkOwner(stored, actor);
  refuseDeleting(stored);
  return { ...stored, stopAtMs, actor: actor.owner };
}

/** @throws ResourceMapError `bundle_of_another`, `bundle_deleting`, `bundle_not_found` for a copy that it does not have */
export function moveCopy(stored: StoredBundle, actor: Actor, name: string): StoredBundle {
  checkOwner(stored, actor);
  refuseDeleting(stored);
  if (!stored.copies.some(({ copy }) => copy === name)) {
    throw new ResourceMapError(
      'bundle_not_found',
      `Bundle ${quote(stored.spec?.bundleId ?? '')} has no copy ${quote(name)}; it has ${stored.copies.map(({ copy }) => copy).join(' and ')}.`,
    );
  }
  return {
    ...stored,
    actor: actor.owner,
    copies: stored.copies.map((copy) =>
      copy.copy === name && PLACED_PHASES.has(copy.phase) ? { ...copy, move: true } : copy,
    ),
  };
}

function refuseDeleting({ state, spec, reason }: StoredBundle): void {
  if (state !== 'deleting') return;
  throw new ResourceMapError(
    'bundle_deleting',
    `Bundle ${quote(spec?.bundleId ?? '')} is being deleted (${reason}).`,
  );
}
