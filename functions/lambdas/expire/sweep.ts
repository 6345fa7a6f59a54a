/**
 * One sweep over all heads: takes silent clusters out of the map and retires those that have
 * been out of it for long. Each write is conditional on the head that the sweep read, so it
 * never undoes a push, and a sweep may end at any point: the next one goes on.
 */

import { type Membership, REFUSED, SILENT } from '../../core/membership.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import { HeadConflictError } from '../../storage/errors.ts';
import type { Head } from '../../storage/head.ts';
import type { HeadStore } from '../../storage/heads.ts';
import { type Refusal, standingRefusal } from '../../storage/refusals.ts';
import { retireHead } from '../../storage/retire.ts';
import { forEachConcurrently } from '../../storage/retry.ts';
import { reportFleet } from './fleet-metrics.ts';

/** Heads of one shard that are written at once: ten thousand retirements within a minute, and few connections. */
const CONCURRENCY = 8;

export interface SweepDeps {
  readonly heads: HeadStore;
  readonly shards: number;
  readonly telemetry: Telemetry;
  /** Reports what the clusters in the map have, by model and region. */
  readonly fleetMetrics?: boolean;
}

/** What one sweep saw and did. */
export interface SweepReport {
  /** Clusters in the map after it. */
  readonly included: number;
  /** Clusters out of the map after it, those that it omitted too. */
  readonly omitted: number;
  readonly newlyOmitted: readonly string[];
  readonly retired: readonly string[];
  /** Clusters whose head moved between the sweep's read and its write, by a push as a rule, and so was left alone. */
  readonly movedMeanwhile: number;
  /** Milliseconds since the longest silent of the clusters in the map was heard; 0 where there is none. */
  readonly oldestMs: number;
  readonly unreadable: number;
  /** Clusters whose write failed; the next sweep tries again. */
  readonly failedClusters: readonly string[];
  readonly failedShards: readonly number[];
}

/**
 * Sweeps every shard, whatever becomes of the others.
 *
 * @param nowMs our clock. Silence is the time since we received the last push, so an agent's
 * clock plays no part in it.
 */
export async function sweep(deps: SweepDeps, membership: Membership, nowMs: number): Promise<SweepReport> {
  const included: Head[] = [];
  const reports = await Promise.all(
    Array.from({ length: deps.shards }, async (_, shard) => {
      try {
        return await sweepShard(deps, shard, membership, nowMs, included);
      } catch (error) {
        deps.telemetry.error('shard not swept', { shard, cause: error });
        return { ...new Tally().report(), failedShards: [shard] };
      }
    }),
  );
  const report = reports.reduce(together);
  announce(deps.telemetry, report);
  // A part of the fleet would look like a fleet that shrank.
  const whole = report.failedShards.length === 0 && report.unreadable === 0;
  if (deps.fleetMetrics === true && whole) reportFleet(deps.telemetry, included);
  return report;
}

async function sweepShard(
  deps: SweepDeps,
  shard: number,
  membership: Membership,
  nowMs: number,
  included: Head[],
): Promise<SweepReport> {
  const { heads, telemetry } = deps;
  // Refusals first: one that comes between the two reads is for the next sweep, as its push's head is.
  const refusals = new Map((await heads.refusals.readShard(shard)).map((r) => [r.clusterId, r]));
  const read = await heads.readShard(shard);
  const tally = new Tally();
  tally.unreadable = read.unreadable.length;
  await forEachConcurrently(read.heads, CONCURRENCY, async (head) => {
    try {
      const outcome = await sweepHead(deps, head, refusals.get(head.clusterId), membership, nowMs);
      // One that moved meanwhile was pushed, as a rule: the figures that were read stand for those of the push.
      if (head.omission === undefined && outcome !== 'newly-omitted') included.push(head);
      tally.add(head, outcome, nowMs);
    } catch (error) {
      if (head.omission === undefined) included.push(head);
      telemetry.error('cluster not swept', { clusterId: head.clusterId, cause: error });
      tally.failed(head, nowMs);
    }
  });
  const outdated = [...refusals.values()].filter(({ atMs }) => nowMs - atMs > membership.retireAfterMs);
  await forEachConcurrently(outdated, CONCURRENCY, (refusal) => heads.refusals.remove(refusal));
  return tally.report();
}

type Outcome = 'included' | 'omitted' | 'newly-omitted' | 'retired' | 'moved-meanwhile';

async function sweepHead(
  { heads, telemetry }: SweepDeps,
  head: Head,
  refusal: Refusal | undefined,
  membership: Membership,
  nowMs: number,
): Promise<Outcome> {
  try {
    if (head.omission === undefined) {
      if (nowMs - head.receivedAtMs <= membership.omitAfterMs) return 'included';
      const reason = omissionReason(head, refusal, membership, nowMs);
      await heads.omit(head, reason, nowMs);
      telemetry.warn('cluster omitted', { clusterId: head.clusterId, reason });
      return 'newly-omitted';
    }
    if (nowMs - head.omission.atMs <= membership.retireAfterMs) return 'omitted';
    await retireHead(heads, head);
    return 'retired';
  } catch (error) {
    if (error instanceof HeadConflictError) return 'moved-meanwhile';
    throw error;
  }
}

/** An agent that is refused is alive: the person on call has to read why, and not to look for a dead one. */
function omissionReason(
  head: Head,
  refusal: Refusal | undefined,
  { omitAfterMs }: Membership,
  nowMs: number,
): string {
  const standing = standingRefusal(refusal, head);
  return standing !== undefined && nowMs - standing.atMs <= omitAfterMs ? REFUSED : SILENT;
}

/** Counts of one shard. */
class Tally {
  unreadable = 0;
  #included = 0;
  #omitted = 0;
  #movedMeanwhile = 0;
  #oldestMs = 0;
  readonly #newlyOmitted: string[] = [];
  readonly #retired: string[] = [];
  readonly #failed: string[] = [];

  add(head: Head, outcome: Outcome, nowMs: number): void {
    switch (outcome) {
      case 'included':
        this.#included++;
        this.#oldestMs = Math.max(this.#oldestMs, nowMs - head.receivedAtMs);
        return;
      case 'moved-meanwhile':
        this.#included++;
        this.#movedMeanwhile++;
        return;
      case 'newly-omitted':
        this.#omitted++;
        this.#newlyOmitted.push(head.clusterId);
        return;
      case 'omitted':
        this.#omitted++;
        return;
      case 'retired':
        this.#retired.push(head.clusterId);
        return;
    }
  }

  /** It is as it was: a silent cluster that could not be omitted is still in the map, and is what the age is for. */
  failed(head: Head, nowMs: number): void {
    if (head.omission === undefined) {
      this.#included++;
      this.#oldestMs = Math.max(this.#oldestMs, nowMs - head.receivedAtMs);
    } else this.#omitted++;
    this.#failed.push(head.clusterId);
  }

  report(): SweepReport {
    return {
      included: this.#included,
      omitted: this.#omitted,
      newlyOmitted: this.#newlyOmitted,
      retired: this.#retired,
      movedMeanwhile: this.#movedMeanwhile,
      oldestMs: this.#oldestMs,
      unreadable: this.unreadable,
      failedClusters: this.#failed,
      failedShards: [],
    };
  }
}

function together(a: SweepReport, b: SweepReport): SweepReport {
  return {
    included: a.included + b.included,
    omitted: a.omitted + b.omitted,
    newlyOmitted: [...a.newlyOmitted, ...b.newlyOmitted],
    retired: [...a.retired, ...b.retired],
    movedMeanwhile: a.movedMeanwhile + b.movedMeanwhile,
    oldestMs: Math.max(a.oldestMs, b.oldestMs),
    unreadable: a.unreadable + b.unreadable,
    failedClusters: [...a.failedClusters, ...b.failedClusters],
    failedShards: [...a.failedShards, ...b.failedShards],
  };
}

function announce(telemetry: Telemetry, report: SweepReport): void {
  telemetry.count('ClustersFellSilent', report.newlyOmitted.length);
  telemetry.count('ClustersRetired', report.retired.length);
  telemetry.count('HeadsUnreadable', report.unreadable);
  telemetry.count('SweepFailures', report.failedClusters.length + report.failedShards.length);
  // Numbers of a part of the map would look like a fleet that shrank.
  if (report.failedShards.length > 0) return;
  telemetry.gauge('ClustersIncluded', report.included, 'Count');
  telemetry.gauge('ClustersOmitted', report.omitted, 'Count');
  telemetry.gauge('OldestSnapshotAge', report.oldestMs / 1_000, 'Seconds');
}
