/**
 * What a service refused: one strange object must not take its cluster off the map. The job or
 * the node that a finding is about is left out for a while, and the rest is pushed.
 */
import type { Finding } from '../core/findings.ts';
import type { Exclusions, SnapshotResult } from './mapping/snapshot.ts';

/** After this it is tried again: the object may have changed, or the service. */
const EXCLUDED_MS = 600_000;

export class ExclusionList {
  readonly #jobs = new Map<string, number>();
  readonly #nodes = new Map<string, number>();

  current(nowMs: number): Exclusions {
    for (const list of [this.#jobs, this.#nodes]) {
      for (const [name, untilMs] of list) if (untilMs <= nowMs) list.delete(name);
    }
    return { jobs: new Set(this.#jobs.keys()), nodes: new Set(this.#nodes.keys()) };
  }

  /**
   * Leaves out what the findings are about.
   *
   * @returns a line for each finding, with the object that caused it
   */
  add(
    findings: readonly Finding[],
    { snapshot, nodesInUse }: SnapshotResult,
    nowMs: number,
  ): readonly string[] {
    return findings
      .filter(({ severity }) => severity === 'reject')
      .map(({ code, path, message }) => {
        const job = snapshot.jobs[indexAfter(path, 'jobs') ?? -1]?.jobId;
        const allocation = allocationAt(path, snapshot);
        const node =
          nodesInUse[indexAfter(path, 'capacity_pools') ?? -1]?.[indexAfter(path, 'node_types') ?? -1]?.[
            indexAfter(path, 'in_use') ?? -1
          ];
        const about = job ?? allocation;
        if (about !== undefined) this.#jobs.set(about, nowMs + EXCLUDED_MS);
        else if (node !== undefined) this.#nodes.set(node, nowMs + EXCLUDED_MS);
        const object =
          about !== undefined ? `job ${about}` : node !== undefined ? `node ${node}` : 'the snapshot';
        return `${object}: ${code} at ${path}: ${message}`;
      });
  }
}

function indexAfter(path: string, field: string): number | undefined {
  const match = new RegExp(`(?:^|\\.)${field}\\[(\\d{1,9})`).exec(path);
  return match === null ? undefined : Number(match[1]);
}

function allocationAt(path: string, snapshot: SnapshotResult['snapshot']): string | undefined {
  const occupancy =
    snapshot.capacityPools[indexAfter(path, 'capacity_pools') ?? -1]?.nodeTypes[
      indexAfter(path, 'node_types') ?? -1
    ]?.inUse[indexAfter(path, 'in_use') ?? -1];
  return occupancy?.allocations[indexAfter(path, 'allocations') ?? -1]?.jobId;
}
