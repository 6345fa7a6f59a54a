/** What a bundle's own words say of its life: when it starts and stops, in which order it is placed, what it is called. */
import { createHash } from 'node:crypto';
import { toJson } from '@bufbuild/protobuf';
import * as wire from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { ResourceMapError } from '../../errors.ts';
import { quote } from '../../quote.ts';
import type { Bundle } from '../model/model.ts';
import { PRIORITY_BANDS } from '../model/model.ts';
import { bandRank } from '../search/variables.ts';
import { Faults } from '../wire/faults.ts';
import { readBundles } from '../wire/read-bundle.ts';
import { MAX_BUNDLE_ID_BYTES, MAX_STORED_JOBS } from './limits.ts';

const BUNDLE_ID = /^[a-z0-9.-]+$/;

/** Paths of questions about bundles that are not stored. */
const RESERVED = new Set(['plan', 'validate', '.', '..']);

/** @throws ResourceMapError `invalid_bundle_request` */
export function checkBundleId(id: string): void {
  const fault =
    id.length > MAX_BUNDLE_ID_BYTES
      ? `has ${id.length} characters; at most ${MAX_BUNDLE_ID_BYTES} are taken`
      : !BUNDLE_ID.test(id)
        ? 'can have only a to z, 0 to 9, "." and "-"'
        : RESERVED.has(id)
          ? 'is reserved; choose another one'
          : undefined;
  if (fault === undefined) return;
  throw new ResourceMapError('invalid_bundle_request', `bundle_id: ${quote(id)} ${fault}.`);
}

/**
 * The bundle as it can be planned.
 *
 * @throws ResourceMapError `invalid_bundle_request`
 */
export function readOneBundle(message: wire.Bundle): Bundle {
  const faults = new Faults();
  if (message.jobs.length > MAX_STORED_JOBS) {
    faults.add(
      'bundle.jobs',
      `There are ${message.jobs.length}; a stored bundle has at most ${MAX_STORED_JOBS}.`,
    );
  }
  if (message.jobs.length === 0)
    faults.add('bundle.jobs', 'There are none; a stored bundle has at least one.');
  const [bundle] = readBundles([{ message, path: 'bundle' }], 'bundle', faults);
  faults.throwIfAny();
  if (bundle === undefined) throw new Error('A bundle was not read.');
  return bundle;
}

/** Milliseconds since the epoch at which the first of the jobs is to start; 0: at once. */
export function startOf({ jobs }: Bundle): number {
  const starts = launchTimes(jobs.map(({ launch }) => launch?.productTemplate?.startDateTime));
  return starts.length === 0 || starts.length < jobs.length ? 0 : Math.min(...starts);
}

/** When the first of the jobs is to stop; 0: none is. One in the past is ignored, as the seed has it. */
export function stopOf({ jobs }: Bundle, nowMs: number): number {
  const stops = launchTimes(jobs.map(({ launch }) => launch?.productTemplate?.stopDateTime));
  const ahead = stops.filter((ms) => ms > nowMs);
  return ahead.length === 0 ? 0 : Math.min(...ahead);
}

function launchTimes(times: readonly (string | undefined)[]): readonly number[] {
  return times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])).filter(Number.isFinite);
}

/** Lower ones are placed first. */
export function bandOf({ jobs }: Bundle): number {
  return jobs.reduce((best, job) => Math.min(best, bandRank(job)), PRIORITY_BANDS.length);
}

/** What deployers start a copy under, and what the map shows. */
export function jobIdOf(bundleId: string, copy: string, generation: bigint): string {
  return `${bundleId}.${copy}.${generation}`;
}

/** What a PUT says beside the bundle. */
export interface BundleOptions {
  readonly paused: boolean;
  /** 0: never. */
  readonly replaceUnknownAfterMs: number;
  readonly repairDegraded: boolean;
}

/** The digest of what was put, whatever the order in which a client writes the entries of a map. */
export function versionOf(spec: wire.Bundle, options: BundleOptions): string {
  const inOrder = (_: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const said = JSON.stringify([toJson(wire.BundleSchema, spec), options], inOrder);
  return createHash('sha256').update(said).digest('hex').slice(0, 32);
}
