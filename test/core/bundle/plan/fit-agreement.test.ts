/** Fit and plan, asked the same over one map and its claims, never contradict. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Bundle } from '../../../../functions/core/bundle/model/model.ts';
import {
  clusterNodes,
  mapCandidates,
  nodesBehindClaims,
} from '../../../../functions/core/bundle/plan/map-nodes.ts';
import { planBundles } from '../../../../functions/core/bundle/plan/plan.ts';
import type { BundlePlan } from '../../../../functions/core/bundle/plan/plan-model.ts';
import type { Taken } from '../../../../functions/core/capacity/fit/room.ts';
import { pack } from '../../../../functions/core/capacity/packing/pack.ts';
import { clusterView } from '../../../../functions/core/capacity/view/view.ts';
import { blockingPods } from '../../../../functions/core/claims/evaluate.ts';
import { ClaimState } from '../../../../functions/gen/resourcemap/v1/claims_pb.ts';
import { type ClusterInit, cluster, dated, freeNodes, pending } from '../../capacity/builders.ts';
import { ask, askBehind, pods } from '../../capacity/fit/questions.ts';
import { plentyOfWork } from '../../capacity/packing/problems.ts';
import { acceptOn, type ClaimInit, evaluateOn } from '../../claims/ledgers.ts';
import { pool } from '../builders.ts';

const SIZES = [1, 2, 3, 4, 5];

/** One or two node types, part of them in use, with pending and reserved pods, served and not. */
const clusters = fc
  .array(
    fc.record({
      perNode: fc.constantFrom(3, 5, 8),
      idle: fc.nat(2),
      free: fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 3 }),
      pending: fc.array(fc.constantFrom(...SIZES), { maxLength: 3 }),
      reserved: fc.option(fc.constantFrom(...SIZES), { nil: undefined }),
      eligible: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map(
    (types): ClusterInit => ({
      types: types.map(({ perNode, idle, free, reserved, eligible }, index) => ({
        type: `t${index}`,
        perNode,
        idle,
        eligible,
        nodes: freeNodes(
          perNode,
          free.map((left) => Math.min(left, perNode - 1)),
        ),
        ...(reserved === undefined ? {} : { reserved: { [`v${index}`]: 1 } }),
      })),
      ranks: types.flatMap(({ perNode, pending: asked, reserved }, index) => [
        ...asked.map((size, number) =>
          pending(`r${index}-${number}`, Math.min(size, perNode), 1, `t${index}`),
        ),
        ...(reserved === undefined
          ? []
          : [{ name: `v${index}`, pods: [{ count: Math.min(reserved, perNode), type: `t${index}` }] }]),
      ]),
    }),
  );

function bundleOf(bundleId: string, sizes: readonly number[]): Bundle {
  return {
    bundleId,
    pool: 'p',
    jobs: sizes.map((count, index) => ({
      jobName: `j${index}`,
      requirements: { requiredCapabilities: [{ name: 'resource-map/accelerator', count }] },
    })),
  };
}

const OUTCOME_OF = new Map([
  [true, 'placed'],
  [false, 'unplaced'],
  [undefined, 'undecided'],
]);

/** Throws unless the placements of all plans, the served demand and `claimed` have a packing together. */
function expectWitness(
  init: ClusterInit,
  plans: readonly BundlePlan[],
  requests: readonly Bundle[],
  view = clusterView(cluster(init)),
  claimed: Taken = new Map(),
): void {
  const taken = new Map<string, number>();
  for (const [index, plan] of plans.entries()) {
    if (!('copies' in plan)) continue;
    for (const copy of plan.copies) {
      if (copy.outcome !== 'placed') continue;
      for (const [job, { node }] of copy.placements.entries()) {
        if (node.node.kind !== 'slot') throw new Error('the nodes of a map are slots');
        const key = JSON.stringify([node.nodeTypeId, node.node.number]);
        const count = requests[index]?.jobs[job]?.requirements?.requiredCapabilities?.[0]?.count ?? 0;
        taken.set(key, (taken.get(key) ?? 0) + count);
      }
    }
  }
  for (const target of view.targets) {
    // Where nothing is planned on the target, what comes first may be short of room there.
    const isTaken = [...taken.keys()].some((key) => JSON.parse(key)[0] === target.nodeTypeId);
    if (claimed.has(target) && !isTaken) continue;
    const nodes = [...target.occupancy.freeNodes]
      .sort(([a], [b]) => a - b)
      .flatMap(([free, count]) => Array.from({ length: count }, () => free));
    const full = target.occupancy.nodes - nodes.length;
    const left = nodes.map((free, index) => {
      const after = free - (taken.get(JSON.stringify([target.nodeTypeId, full + index])) ?? 0);
      expect(after).toBeGreaterThanOrEqual(0);
      return after;
    });
    const outcome = pack(
      {
        bins: left.filter((free) => free > 0).map((size) => ({ target: 0, size, count: 1 })),
        items: [...target.served.pending, ...target.served.reserved, ...(claimed.get(target) ?? [])].map(
          ([size, count]) => ({
            size,
            count,
            targets: [0],
          }),
        ),
      },
      plentyOfWork(),
    );
    expect(outcome.kind).toBe('packed');
  }
}

describe('fit and plan over one map', () => {
  test('say the same of one workload', () => {
    fc.assert(
      fc.property(
        clusters,
        fc.array(fc.constantFrom(...SIZES), { minLength: 1, maxLength: 4 }),
        (init, sizes) => {
          const [fit] = ask([dated(init)], { podRequirements: pods(...sizes) });
          const request = bundleOf('b', sizes);
          const candidates = mapCandidates([clusterNodes(cluster(init))], new Map());
          const plans = planBundles([request], [pool()], candidates);
          expect(plans[0]?.outcome).toBe(OUTCOME_OF.get(fit?.fits));
          expectWitness(init, plans, [request]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('say yes to a second workload only where both and the demand have a packing', () => {
    fc.assert(
      fc.property(
        clusters,
        fc.array(fc.array(fc.constantFrom(...SIZES), { minLength: 1, maxLength: 2 }), {
          minLength: 2,
          maxLength: 3,
        }),
        (init, workloads) => {
          const requests = workloads.map((sizes, index) => bundleOf(`b${index}`, sizes));
          const candidates = mapCandidates([clusterNodes(cluster(init))], new Map());
          const plans = planBundles(requests, [pool()], candidates);
          expectWitness(init, plans, requests);
          // What is planned on nodes is at most what fits as pods on no particular node.
          const placed = workloads.filter((_, index) => plans[index]?.outcome === 'placed').flat();
          if (placed.length === 0) return;
          const [together] = ask([dated(init)], { podRequirements: pods(...placed) });
          expect(together?.fits).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
  });

  const claims: fc.Arbitrary<readonly ClaimInit[]> = fc.array(
    fc.record({
      sizes: fc.array(fc.constantFrom(...SIZES), { minLength: 1, maxLength: 2 }),
      confirmed: fc.boolean(),
      // A chain that the snapshot may show as waiting.
      chain: fc.option(fc.constantFrom('r0-0', 'r0-1', 'r1-0'), { nil: undefined, freq: 3 }),
    }),
    { minLength: 1, maxLength: 3 },
  );

  test('say the same of one workload behind claims, on nodes that come and go, and leave what claims hold its room', () => {
    let behindClaims = 0;
    fc.assert(
      fc.property(
        clusters,
        clusters,
        claims,
        fc.array(fc.constantFrom(...SIZES), { minLength: 1, maxLength: 3 }),
        (before, after, wanted, sizes) => {
          // Accepted on one snapshot and judged by another: some claims are not backed any more.
          const ledger = acceptOn(cluster(before), wanted);
          const snapshot = cluster(after);
          const evaluation = evaluateOn(snapshot, ledger);
          const view = evaluation.view ?? clusterView(snapshot);
          const taken = blockingPods(evaluation);
          if (taken.size > 0) behindClaims++;
          const fit = askBehind([{ ...dated(after), view }], taken, { podRequirements: pods(...sizes) });
          const request = bundleOf('b', sizes);
          const nodes = nodesBehindClaims(clusterNodes(snapshot), view, taken);
          const plans = planBundles([request], [pool()], mapCandidates([nodes], new Map()));
          expect(plans[0]?.outcome).toBe(OUTCOME_OF.get(fit?.fits));
          expectWitness(after, plans, [request], view, taken);
          // A held claim keeps nobody out once it is not backed; a confirmed one does.
          for (const { hold, end, backed } of evaluation.claims) {
            if (end === undefined && hold.state === ClaimState.HELD && backed === true)
              expect(taken.size).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 120, seed: 17 },
    );
    expect(behindClaims).toBeGreaterThan(40);
  });
});
