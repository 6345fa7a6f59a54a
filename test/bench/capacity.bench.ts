/**
 * What exact answers cost, and where they end.
 *
 *     npm run bench:capacity
 *
 * Times are the process's own CPU time, which other processes on the machine disturb less
 * than they do the clock's.
 *
 * 1. One target of 10,000 nodes and 20,000 pods of 1, 2, 4 and 8: against first-fit decreasing
 *    pod by pod and node by node, which is what a scheduler writes first and which proves no no.
 * 2. Odd sizes, at the very edge: for random nodes and pods, the number of the largest pods is
 *    raised until the answer turns, and every question on the way is one decision. `undecided` is the
 *    share that reached the bound on work; `FFD wrong` the share of all yes that first-fit
 *    decreasing refuses.
 * 3. A fleet: views of 1,000 clusters, derived and from the cache, and one fit question over them.
 */

import { create } from '@bufbuild/protobuf';
import { evaluateShapes } from '../../functions/core/capacity/fit/fit.ts';
import { parseFitRequest } from '../../functions/core/capacity/fit/parse-fit-request.ts';
import { STEPS_PER_DECISION } from '../../functions/core/capacity/packing/limits.ts';
import { pack } from '../../functions/core/capacity/packing/pack.ts';
import type { PackingProblem } from '../../functions/core/capacity/packing/problem.ts';
import { Work } from '../../functions/core/capacity/packing/work.ts';
import { ALL_TARGETS, targetMatcher } from '../../functions/core/capacity/view/filter.ts';
import type { DatedView } from '../../functions/core/capacity/view/target-row.ts';
import { clusterView } from '../../functions/core/capacity/view/view.ts';
import { atOnce } from '../../functions/core/stepwise.ts';
import { FitRequestSchema } from '../../functions/gen/resourcemap/v1/capacity_pb.ts';
import type { ClusterResourceMap } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { COLLECTED_AT_MS, cluster, freeNodes, pending } from '../core/capacity/builders.ts';

function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Of `rounds` runs, after one to warm up. */
function medianMs(rounds: number, work: () => unknown): number {
  work();
  return median(Array.from({ length: rounds }, () => cpuMs(work)));
}

/** The same numbers at every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Pod by pod, each into the first node that has room. */
function firstFitDecreasing({ bins, items }: PackingProblem): boolean {
  const free = bins.flatMap(({ size, count }) => new Array<number>(count).fill(size));
  for (const { size, count } of [...items].sort((a, b) => b.size - a.size)) {
    for (let pod = 0; pod < count; pod++) {
      const node = free.findIndex((left) => left >= size);
      if (node === -1) return false;
      free[node] = (free[node] ?? 0) - size;
    }
  }
  return true;
}

const round = (value: number): string => value.toPrecision(3);

function commonSizes(): void {
  const random = randomNumbers(1);
  const free = Array.from({ length: 10_000 }, () => (random(2) === 0 ? 8 : 1 + random(8)));
  const room = free.reduce((sum, left) => sum + left, 0);
  const problem = (pods: ReadonlyMap<number, number>): PackingProblem => {
    const nodes = new Map<number, number>();
    for (const left of free) nodes.set(left, (nodes.get(left) ?? 0) + 1);
    return {
      bins: [...nodes].map(([size, count]) => ({ target: 0, size, count })),
      items: [...pods].map(([size, count]) => ({ size, count, targets: [0] })),
    };
  };
  // 20,000 pods in all, which fill the nodes nearly to the last accelerator.
  const mix = new Map([
    [8, 2_500],
    [4, 4_000],
    [2, 4_500],
    [1, 9_000],
  ]);
  const load = [...mix].reduce((sum, [size, count]) => sum + size * count, 0);
  const fits = problem(mix);
  const exceeds = problem(new Map(mix).set(1, 9_000 + room - load + 1));
  console.log(`\n1. 10,000 nodes with ${room} free, 20,000 pods of 1, 2, 4 and 8 that take ${load}`);
  const rows = [
    ['they fit', fits],
    ['one accelerator too many', exceeds],
  ].map(([name, one]) => {
    const question = one as PackingProblem;
    const ours = medianMs(51, () => pack(question, new Work(STEPS_PER_DECISION)));
    const ffd = medianMs(5, () => firstFitDecreasing(question));
    return {
      question: name as string,
      response: pack(question, new Work(STEPS_PER_DECISION)).kind,
      'ours ms': round(ours),
      'FFD ms': round(ffd),
      'FFD / ours': Math.round(ffd / ours),
    };
  });
  console.table(rows);

  const snapshot = cluster({
    types: [
      {
        nodes: freeNodes(
          8,
          free.filter((left) => left < 8),
        ),
        idle: free.filter((left) => left === 8).length,
      },
    ],
    ranks: [...mix].map(([size, count]) => pending(`r${size}`, size, count)),
  });
  const view = (): DatedView => dated(snapshot);
  const once = view();
  console.log(
    `   from the decoded snapshot to its view: ${round(medianMs(11, view))} ms; ` +
      `a fit question with the largest number of chains on that view: ${round(medianMs(11, () => ask([once], [4, 2], 100)))} ms`,
  );
}

function dated(snapshot: ClusterResourceMap): DatedView {
  return { view: clusterView(snapshot), counter: 1n, collectedAtNanos: BigInt(COLLECTED_AT_MS) * 1_000_000n };
}

function ask(views: readonly DatedView[], counts: readonly number[], chains: number): unknown {
  const request = create(FitRequestSchema, {
    shapes: [{ podRequirements: counts.map((acceleratorCount) => ({ acceleratorCount })), chains }],
  });
  return atOnce(evaluateShapes(parseFitRequest(request).shapes, views, targetMatcher(ALL_TARGETS)));
}

const ODD_SIZES: readonly (readonly [number, readonly number[]])[] = [
  [8, [1, 2, 3, 4, 8]],
  [8, [3, 5]],
  [8, [3, 4, 5, 6, 7]],
  [16, [3, 5, 7]],
  [16, [2, 3, 5, 7, 11, 13]],
  [32, [7, 9, 11, 13]],
  [72, [11, 13, 17, 19, 23]],
  [72, [10, 14, 22, 26, 31, 35]],
];

interface Tally {
  yes: number;
  no: number;
  undecided: number;
  ffdWrong: number;
  readonly ms: number[];
}

function oddSizes(): void {
  console.log('\n2. Odd sizes, at the edge between yes and no');
  const rows: object[] = [];
  for (const [perNode, sizes] of ODD_SIZES) {
    for (const nodes of [10, 100, 1_000, 10_000]) {
      const tally: Tally = { yes: 0, no: 0, undecided: 0, ffdWrong: 0, ms: [] };
      const random = randomNumbers(nodes + perNode + sizes.length);
      for (let instance = 0; instance < 20; instance++) edge(perNode, sizes, nodes, random, tally);
      const decisions = tally.yes + tally.no + tally.undecided;
      rows.push({
        'per node': perNode,
        sizes: sizes.join(' '),
        nodes,
        decisions,
        'undecided %': round((100 * tally.undecided) / decisions),
        'FFD wrong %': round((100 * tally.ffdWrong) / Math.max(1, tally.yes)),
        'median ms': round(median(tally.ms)),
        'worst ms': round(Math.max(...tally.ms)),
      });
    }
  }
  console.table(rows);
}

/** Half the nodes are whole, the others have anything free; the smaller pods fill 80 to 95 % of what they leave. */
function edge(
  perNode: number,
  sizes: readonly number[],
  nodes: number,
  random: (below: number) => number,
  tally: Tally,
): void {
  const free = new Map<number, number>();
  for (let node = 0; node < nodes; node++) {
    const left = random(2) === 0 ? perNode : 1 + random(perNode);
    free.set(left, (free.get(left) ?? 0) + 1);
  }
  const bins = [...free].map(([size, count]) => ({ target: 0, size, count }));
  const room = bins.reduce((sum, { size, count }) => sum + size * count, 0);
  const weights = sizes.map(() => 1 + random(10));
  const weight = weights.reduce((sum, one) => sum + one, 0);
  const filled = (room * (80 + random(15))) / 100;
  const [raised = 1, ...others] = [...sizes].reverse();
  const items = others.map((size, index) => ({
    size,
    count: Math.floor((filled * (weights[index] ?? 1)) / weight / size),
    targets: [0],
  }));
  let low = 0;
  let high = Math.floor(room / raised) + 1;
  while (high - low > 1) {
    const count = Math.floor((low + high) / 2);
    const problem = { bins, items: [{ size: raised, count, targets: [0] }, ...items] };
    let kind = '';
    tally.ms.push(
      cpuMs(() => {
        kind = pack(problem, new Work(STEPS_PER_DECISION)).kind;
      }),
    );
    if (kind === 'packed') {
      tally.yes++;
      if (!firstFitDecreasing(problem)) tally.ffdWrong++;
      low = count;
    } else {
      if (kind === 'undecided') tally.undecided++;
      else tally.no++;
      high = count;
    }
  }
}

function fleet(): void {
  const random = randomNumbers(3);
  const snapshots = Array.from({ length: 1_000 }, (_, index) =>
    cluster({
      id: `cluster-${index}`,
      types: Array.from({ length: 4 }, (_, type) => ({
        type: `t${type}`,
        price: String(10 + random(90)),
        idle: random(50),
        nodes: freeNodes(
          8,
          Array.from({ length: 50 }, () => random(8)),
        ),
      })),
      ranks: [pending('r', 4, 10)],
    }),
  );
  const deriveMs = medianMs(3, () => snapshots.map(dated));
  const views = snapshots.map(dated);
  const oneMs = deriveMs / snapshots.length;
  const fitMs = medianMs(5, () => ask(views, [8, 8], 4));
  console.log('\n3. 1,000 clusters of 4 node types, 50 occupied nodes and some idle ones each');
  console.table([
    { what: 'all views derived', ms: round(deriveMs) },
    { what: 'one cluster changed, the others from the cache', ms: round(oneMs) },
    { what: 'fit over all of them, with the largest numbers of chains', ms: round(fitMs) },
  ]);
}

commonSizes();
oddSizes();
fleet();
