/**
 * Schedulers that claim before they start, on a cluster of which the service knows only what snapshots say: the
 * cluster never has more than it holds, whatever comes in which order.
 */
import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clusterView } from '../../../functions/core/capacity/view/view.ts';
import { admit } from '../../../functions/core/claims/admit.ts';
import { chainFactsOf } from '../../../functions/core/claims/chain-facts.ts';
import {
  type ClaimSituation,
  confirmClaim,
  evaluateSituation,
  releaseClaim,
} from '../../../functions/core/claims/change.ts';
import { type ClaimId, claimIdOf } from '../../../functions/core/claims/claim-id.ts';
import { parseClaimRequest } from '../../../functions/core/claims/claim-request.ts';
import { compact } from '../../../functions/core/claims/compact.ts';
import { blocks, isLive, podsByKey } from '../../../functions/core/claims/evaluate.ts';
import { ResourceMapError } from '../../../functions/core/errors.ts';
import { atOnce } from '../../../functions/core/stepwise.ts';
import { ClaimRequestSchema } from '../../../functions/gen/resourcemap/v1/claims_pb.ts';
import { type Ledger, LedgerSchema } from '../../../functions/gen/resourcemap/v1/ledger_pb.ts';
import { WorkloadPhase } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { cluster } from '../capacity/builders.ts';

const SETTINGS = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };
const PER_NODE = 4;

interface Pod {
  readonly job: string;
  readonly node: number;
  readonly size: number;
}

/** Nodes of four accelerators, and what its deployers started. */
class World {
  nowMs = 1_800_000_000_000;
  ledger: Ledger = create(LedgerSchema);
  version = 1n;
  running: Pod[] = [];
  /** Since when each claim may be started, until when, and with what. */
  readonly startable = new Map<
    string,
    { readonly untilMs: number; readonly size: number; readonly job: string }
  >();
  snapshot = this.look();
  counter = 1n;
  observedMs = this.nowMs;
  jobs = 0;
  /** Every pod that ever ran, by its job. */
  readonly seen = new Map<string, Pod>();

  constructor(readonly nodes: number) {
    this.snapshot = this.look();
  }

  look() {
    return cluster({
      types: [
        {
          perNode: PER_NODE,
          nodes: Array.from({ length: this.nodes ?? 0 }, (_, node) => ({
            pods: this.running
              .filter((pod) => pod.node === node)
              .map(({ job }) => ({ chain: job, index: 0 })),
          })),
        },
      ],
      ranks: this.running.map(({ job, size }) => ({
        name: job,
        pods: [{ count: size }],
        chains: [{ name: job, phase: WorkloadPhase.RUNNING }],
      })),
    });
  }

  situation(): ClaimSituation {
    return {
      ledger: this.ledger,
      head: { counter: this.counter, collectedAtMs: this.observedMs, observedMs: this.observedMs },
      content: { view: clusterView(this.snapshot), facts: chainFactsOf(this.snapshot) },
      nowMs: this.nowMs,
      settings: SETTINGS,
    };
  }

  free(node: number): number {
    return (
      PER_NODE - this.running.filter((pod) => pod.node === node).reduce((sum, { size }) => sum + size, 0)
    );
  }

  /** Whether these pods fit beside what runs, by trying every way. */
  packs(
    sizes: readonly number[],
    free = Array.from({ length: this.nodes }, (_, node) => this.free(node)),
  ): boolean {
    const [first, ...rest] = [...sizes].sort((a, b) => b - a);
    if (first === undefined) return true;
    return free.some((left, node) => left >= first && this.packs(rest, free.with(node, left - first)));
  }
}

function newId(atMs: number): ClaimId {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(atMs, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return claimIdOf(bytes);
}

type Step =
  | { readonly kind: 'claim'; readonly size: number; readonly byId: boolean }
  | { readonly kind: 'confirm' | 'release' | 'start' | 'end'; readonly which: number }
  | { readonly kind: 'push' | 'sweep' }
  | { readonly kind: 'wait'; readonly seconds: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      size: fc.integer({ min: 1, max: 4 }),
      byId: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('confirm' as const, 'start' as const), which: fc.nat(9) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'end' as const), which: fc.nat(9) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('push' as const, 'sweep' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 30, 61, 120) }),
  },
);

function refusedWith(act: () => void): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof ResourceMapError) return error.code;
    throw error;
  }
}

function take(world: World, step: Step): void {
  const live = world.ledger.holds.filter(isLive);
  switch (step.kind) {
    case 'claim': {
      const job = `job-${world.jobs++}`;
      const id = newId(world.nowMs);
      const request = parseClaimRequest(
        create(ClaimRequestSchema, {
          jobId: job,
          ranks: [{ chainIds: step.byId ? [job] : [], podRequirements: [{ acceleratorCount: step.size }] }],
        }),
      );
      const { head, content, ...situation } = world.situation();
      if (head === undefined || content === undefined) throw new Error('The world has a head.');
      const before = evaluateSituation(world.situation());
      const code = refusedWith(() => {
        const admission = atOnce(
          admit({ ...situation, head, content, id, owner: 'o', request, fence: world.version + 1n }),
        );
        if (admission.kind !== 'accepted') throw new Error('A new job was fulfilled.');
        world.ledger = admission.ledger;
        world.version++;
      });
      // Refused means that it does not fit, by another packer, behind what the snapshot and the claims have.
      const shown = new World(world.nodes);
      shown.running = world.snapshot.jobs
        .map(({ jobId }) => world.seen.get(jobId))
        .filter((pod) => pod !== undefined);
      const held = before.claims.filter((claim) => claim.end === undefined && blocks(claim));
      const sizes = held.flatMap((claim) =>
        [...podsByKey(claim).values()].flatMap((on) =>
          [...on].flatMap(([size, n]) => Array.from({ length: n }, () => size)),
        ),
      );
      expect([code, shown.packs([...sizes, step.size])]).toEqual(
        code === undefined ? [undefined, true] : ['claim_does_not_fit', false],
      );
      return;
    }
    case 'confirm': {
      const hold = live[step.which % Math.max(1, live.length)];
      if (hold === undefined) return;
      const sinceMs = world.nowMs;
      refusedWith(() => {
        const { ledger } = confirmClaim(world.situation(), claimIdOf(hold.id), 'o', 60_000);
        world.ledger = ledger;
        world.version++;
        const size = hold.ranks[0]?.placements[0]?.runs[0]?.accelerators ?? 0;
        if (world.running.some(({ job }) => job === hold.jobId)) return;
        world.startable.set(hold.jobId, { untilMs: sinceMs + 60_000, size, job: hold.jobId });
      });
      return;
    }
    case 'release': {
      const hold = live[step.which % Math.max(1, live.length)];
      if (hold === undefined) return;
      const release = { owner: 'o', mayReleaseAny: false, neverStarted: false, reason: '' };
      world.ledger = releaseClaim(world.situation(), claimIdOf(hold.id), release, world.version + 1n).ledger;
      world.version++;
      return;
    }
    case 'start': {
      const ready = [...world.startable.values()];
      const one = ready[step.which % Math.max(1, ready.length)];
      if (one === undefined) return;
      world.startable.delete(one.job);
      if (world.nowMs >= one.untilMs) return;
      // Best fit, as a cluster's own scheduler may do; what is promised has to pack with all that is promised.
      const nodes = Array.from({ length: world.nodes }, (_, node) => node).filter(
        (node) => world.free(node) >= one.size,
      );
      const promised = [...world.startable.values()]
        .filter(({ untilMs }) => world.nowMs < untilMs)
        .map(({ size }) => size);
      expect(world.packs([one.size, ...promised])).toBe(true);
      const node = nodes.find((node) => {
        const free = Array.from(
          { length: world.nodes },
          (_, n) => world.free(n) - (n === node ? one.size : 0),
        );
        return world.packs(promised, free);
      });
      if (node === undefined) throw new Error('What packs has a node.');
      const pod = { job: one.job, node, size: one.size };
      world.running.push(pod);
      world.seen.set(one.job, pod);
      return;
    }
    case 'end':
      world.running.splice(step.which % Math.max(1, world.running.length), 1);
      return;
    case 'push':
      world.snapshot = world.look();
      world.counter++;
      world.observedMs = world.nowMs;
      return;
    case 'sweep': {
      const situation = world.situation();
      const evaluation = evaluateSituation(situation);
      const compacted = compact(world.ledger, evaluation, world.nowMs);
      // Compaction changes no response.
      const held = (of: typeof evaluation) =>
        of.claims
          .filter(({ end }) => end === undefined)
          .map((c) => [c.hold.fence, c.remaining, c.backed, [...podsByKey(c)]]);
      expect(held(evaluateSituation({ ...situation, ledger: compacted }))).toEqual(held(evaluation));
      world.ledger = compacted;
      world.version++;
      return;
    }
    case 'wait':
      world.nowMs += step.seconds * 1_000;
      return;
  }
}

test('the cluster never has more than it holds, refused means that it does not pack, and nothing is held for ever', {
  timeout: 30_000,
}, () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.array(STEP, { minLength: 5, maxLength: 40 }),
      (nodes, steps) => {
        const world = new World(nodes);
        for (const step of steps) take(world, step);
        // With a live agent and no caller every ledger is empty in the end.
        world.nowMs += 600_000;
        for (const step of [
          { kind: 'push' },
          { kind: 'sweep' },
          { kind: 'wait', seconds: 121 },
          { kind: 'sweep' },
        ] as const)
          take(world, step);
        expect(world.ledger.holds).toEqual([]);
      },
    ),
    { numRuns: 150 },
  );
});
