/**
 * Which jobs of a bundle share a node and which stand apart. Co-location is transitive:
 * the jobs of a group stand on one node. Separation is symmetric, whichever job lists it, and
 * holds between groups. Both are about one copy of the bundle.
 */
import type { Bundle } from './model.ts';

/** Jobs are named by their position in the bundle, groups by theirs in `groups`. */
export interface JobGroups {
  /** Every job is in one group; groups and their jobs are in the bundle's order. */
  readonly groups: readonly (readonly number[])[];
  readonly groupOf: readonly number[];
  /** For every group those that must stand on other nodes. */
  readonly apart: readonly ReadonlySet<number>[];
  /** Pairs of jobs that must share a node and must not, each once, in the bundle's order. */
  readonly contradictions: readonly Contradiction[];
}

export interface Contradiction {
  readonly a: number;
  readonly b: number;
  /** The shortest chain of jobs that binds them to one node, from a to b. */
  readonly chain: readonly number[];
}

/** Groups the jobs. References to no job of the bundle are passed over; of two jobs with one name the first is meant. */
export function groupJobs(bundle: Bundle): JobGroups {
  const byName = new Map<string, number>();
  for (const [i, job] of bundle.jobs.entries()) if (!byName.has(job.jobName)) byName.set(job.jobName, i);
  const together = bundle.jobs.map(() => new Set<number>());
  const apartJobs: (readonly [number, number])[] = [];
  for (const [i, job] of bundle.jobs.entries()) {
    for (const name of new Set(job.coLocateWith ?? [])) {
      const other = byName.get(name);
      if (other !== undefined && other !== i) bind(together, i, other);
    }
    for (const name of new Set(job.separateFrom ?? [])) {
      const other = byName.get(name);
      if (other !== undefined && other !== i) apartJobs.push(i < other ? [i, other] : [other, i]);
    }
  }
  if (bundle.intraReplicaPlacement?.sameNodeDefault === true) bindDefaults(bundle, together);

  const { groups, groupOf } = components(together);
  const apart = groups.map(() => new Set<number>());
  const contradicting = new Map<string, readonly [number, number]>();
  for (const [a, b] of apartJobs) {
    const groupA = groupOf[a];
    const groupB = groupOf[b];
    if (groupA === undefined || groupB === undefined) continue;
    if (groupA === groupB) {
      contradicting.set(`${a}:${b}`, [a, b]);
    } else {
      apart[groupA]?.add(groupB);
      apart[groupB]?.add(groupA);
    }
  }
  const pairs = [...contradicting.values()].sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  return { groups, groupOf, apart, contradictions: chains(pairs, together) };
}

type Neighbours = readonly Set<number>[];

function bind(together: Neighbours, a: number, b: number): void {
  together[a]?.add(b);
  together[b]?.add(a);
}

/** The jobs with neither list share a node, whether or not others name them. */
function bindDefaults(bundle: Bundle, together: Neighbours): void {
  let first: number | undefined;
  for (const [i, job] of bundle.jobs.entries()) {
    if ((job.coLocateWith ?? []).length > 0 || (job.separateFrom ?? []).length > 0) continue;
    if (first === undefined) first = i;
    else bind(together, first, i);
  }
}

function components(together: Neighbours): { groups: number[][]; groupOf: number[] } {
  const groups: number[][] = [];
  const groupOf = together.map(() => -1);
  for (const start of together.keys()) {
    if (groupOf[start] !== -1) continue;
    const members = [start];
    groupOf[start] = groups.length;
    for (const job of members) {
      for (const next of together[job] ?? []) {
        if (groupOf[next] !== -1) continue;
        groupOf[next] = groups.length;
        members.push(next);
      }
    }
    groups.push(members.sort((a, b) => a - b));
  }
  return { groups, groupOf };
}

/** Breadth first from every first job of a pair, once, so that the chains are shortest. */
function chains(
  pairs: readonly (readonly [number, number])[],
  together: Neighbours,
): readonly Contradiction[] {
  let from = -1;
  let cameFrom = new Map<number, number>();
  return pairs.map(([a, b]) => {
    if (a !== from) {
      from = a;
      cameFrom = searchFrom(a, together);
    }
    const chain = [b];
    for (let at = b; at !== a; ) {
      const before = cameFrom.get(at);
      if (before === undefined) break;
      chain.unshift(before);
      at = before;
    }
    return { a, b, chain };
  });
}

function searchFrom(start: number, together: Neighbours): Map<number, number> {
  const cameFrom = new Map<number, number>();
  const queue = [start];
  for (const job of queue) {
    for (const next of together[job] ?? []) {
      if (next === start || cameFrom.has(next)) continue;
      cameFrom.set(next, job);
      queue.push(next);
    }
  }
  return cameFrom;
}
