/**
 * How much of a target's demand its nodes can take, and what is free afterwards.
 *
 * Pending pods come before reserved ones, and within either the larger before the smaller,
 * for which there are fewer places: as many of the largest as can be placed at all, then as
 * many of the next size as can be placed beside them, and so on. So what is served does not
 * depend on which packing is found first, and each count is settled by exact yes and no.
 */

import { largest, type Verdict } from '../monotone.ts';
import { pack } from '../packing/pack.ts';
import type { PackingOutcome } from '../packing/problem.ts';
import type { Work } from '../packing/work.ts';
import type { Demand } from './demand.ts';
import { count, EMPTY, type Histogram, largestFirst, minus, plus } from './histogram.ts';

/** The demand that is placed on the nodes there are, and what it leaves. */
export interface ServedDemand extends Demand {
  /** One witness: free accelerators on a node: number of such nodes, once the served pods are placed. */
  readonly freeNodesAfter: Histogram;
  /** The bound on work was reached: a larger part may be servable than is said here. */
  readonly undecided: boolean;
}

/** What of the demand is not served: pods by size. */
export function deficitOf(demand: Demand, served: Demand): Demand {
  return {
    pending: minus(demand.pending, served.pending),
    reserved: minus(demand.reserved, served.reserved),
  };
}

/** @param freeNodes free accelerators on a node: number of such nodes */
export function serveDemand(freeNodes: Histogram, demand: Demand, work: Work): ServedDemand {
  const whole = packPods(freeNodes, plus(demand.pending, demand.reserved), work);
  if (whole.kind === 'packed') return served(freeNodes, demand, whole, false);

  let undecided = false;
  const serve = (asked: Histogram, before: Histogram): Histogram => {
    let placed = before;
    const taken = new Map<number, number>();
    for (const [size, pods] of largestFirst(asked)) {
      const { atLeast, atMost } = largest(pods, (n) =>
        responseOf(packPods(freeNodes, plus(placed, new Map([[size, n]])), work)),
      );
      if (atLeast < atMost) undecided = true;
      count(taken, size, atLeast);
      placed = plus(placed, new Map([[size, atLeast]]));
    }
    return taken;
  };
  const pending = serve(demand.pending, EMPTY);
  const reserved = serve(demand.reserved, pending);
  const packed = packPods(freeNodes, plus(pending, reserved), work);
  // It was packed before, pod by pod; only the work can have run out since.
  if (packed.kind !== 'packed') return served(freeNodes, NOTHING, { kind: 'packed', packing: [] }, true);
  return served(freeNodes, { pending, reserved }, packed, undecided);
}

/** On nodes that take nothing new: they serve nothing and stay as they are. */
export function serveNothing(freeNodes: Histogram): ServedDemand {
  return { ...NOTHING, freeNodesAfter: freeNodes, undecided: false };
}

const NOTHING: Demand = { pending: EMPTY, reserved: EMPTY };

/** Whether these pods fit on these nodes. */
export function packPods(freeNodes: Histogram, pods: Histogram, work: Work): PackingOutcome {
  return pack(
    {
      bins: [...freeNodes].map(([size, nodes]) => ({ target: 0, size, count: nodes })),
      items: [...pods].map(([size, pods]) => ({ size, count: pods, targets: [0] })),
    },
    work,
  );
}

export function responseOf(outcome: PackingOutcome): Verdict {
  if (outcome.kind === 'packed') return 'yes';
  return outcome.kind === 'impossible' ? 'no' : 'undecided';
}

function served(
  freeNodes: Histogram,
  demand: Demand,
  { packing }: PackingOutcome & { readonly kind: 'packed' },
  undecided: boolean,
): ServedDemand {
  const sizes = [...freeNodes.keys()];
  const pods = [...plus(demand.pending, demand.reserved).keys()];
  const after = new Map(freeNodes);
  for (const { bin, bins, items } of packing) {
    const size = sizes[bin] ?? 0;
    const load = items.reduce((sum, { item, count }) => sum + count * (pods[item] ?? 0), 0);
    after.set(size, (after.get(size) ?? 0) - bins);
    if (load < size) count(after, size - load, bins);
  }
  for (const [size, nodes] of after) if (nodes === 0) after.delete(size);
  return { ...demand, freeNodesAfter: largestFirst(after), undecided };
}
