/**
 * Clusters with nodes that die, agents that fall silent, deployers that are slow, die or act twice, and several service
 * processes that are killed anywhere, in virtual time and one process. Reality is what the clusters run; the service
 * knows of it what snapshots say.
 */
import { create } from '@bufbuild/protobuf';
import {
  bundleContentOf,
  type ClusterReading,
  knownCluster,
  UNKNOWN_CLUSTER,
} from '../../../../functions/core/bundle/live/cluster-reading.ts';
import { jobIdOf } from '../../../../functions/core/bundle/live/spec.ts';
import {
  type OperationOutcome,
  type StepDeps,
  stepBundle,
} from '../../../../functions/core/bundle/live/step.ts';
import type { BundleWorld, ClaimOperation } from '../../../../functions/core/bundle/live/world.ts';
import { BUILT_IN_CATALOGUE } from '../../../../functions/core/bundle/model/catalogue.ts';
import type { Pool } from '../../../../functions/core/bundle/model/model.ts';
import { mapCandidates } from '../../../../functions/core/bundle/plan/map-nodes.ts';
import { admit } from '../../../../functions/core/claims/admit.ts';
import {
  type ClaimSituation,
  claimEnded,
  confirmClaim,
  evaluateSituation,
  holdOf,
  releaseClaim,
} from '../../../../functions/core/claims/change.ts';
import { type ClaimId, claimIdOf, refuseStaleId } from '../../../../functions/core/claims/claim-id.ts';
import { compact } from '../../../../functions/core/claims/compact.ts';
import { isLive } from '../../../../functions/core/claims/evaluate.ts';
import { ResourceMapError } from '../../../../functions/core/errors.ts';
import { atOnce } from '../../../../functions/core/stepwise.ts';
import type { StoredBundle } from '../../../../functions/gen/resourcemap/bundle/v1/stored_pb.ts';
import { type Ledger, LedgerSchema } from '../../../../functions/gen/resourcemap/v1/ledger_pb.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  PurchaseModel,
  WorkloadPhase,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

export const SETTINGS = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };
export const POOLS: readonly Pool[] = [{ poolName: 'p', tiers: [{ cluster: {} }] }];
export const OMIT_AFTER_MS = 15 * 60_000;
const PER_NODE = 4;
const MARGIN_MS = 5_000;

/** A seeded source of numbers from 0 to 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Chain {
  readonly bundleId: string;
  readonly copy: string;
  readonly generation: bigint;
  readonly jobId: string;
  readonly rankId: string;
  readonly size: number;
  /** Absent: the pod waits. */
  node: number | undefined;
  phase: WorkloadPhase;
}

export class Cluster {
  nodes: boolean[];
  chains: Chain[] = [];
  /** What the cluster has a name for: none is started twice. */
  readonly names = new Set<string>();
  ledger: Ledger = create(LedgerSchema);
  version = 0n;
  counter = 0n;
  snapshot: ClusterResourceMap;
  content: ReturnType<typeof bundleContentOf>;
  cutMs: number;
  receivedMs: number;
  omitted: { readonly reason: 'silent' | 'deleted'; readonly atMs: number } | undefined;
  agentUp = true;
  /** Neither its agent nor its deployers reach the service. */
  cutOffSinceMs: number | undefined;
  pending:
    | { readonly snapshot: ClusterResourceMap; readonly cutMs: number; readonly atMs: number }
    | undefined;

  constructor(
    readonly id: string,
    readonly zone: string,
    nodes: number,
    nowMs: number,
  ) {
    this.nodes = Array.from({ length: nodes }, () => true);
    this.snapshot = this.look();
    this.content = bundleContentOf(this.snapshot);
    this.cutMs = nowMs;
    this.receivedMs = nowMs;
  }

  free(node: number): number {
    return this.chains.filter((c) => c.node === node).reduce((left, c) => left - c.size, PER_NODE);
  }

  look(): ClusterResourceMap {
    const up = this.nodes.flatMap((isUp, node) => (isUp ? [node] : []));
    const jobs = new Map<string, Map<string, Chain>>();
    for (const chain of this.chains) {
      const ranks = jobs.get(chain.jobId) ?? new Map<string, Chain>();
      jobs.set(chain.jobId, ranks);
      ranks.set(chain.rankId, chain);
    }
    return create(ClusterResourceMapSchema, {
      cluster: { clusterId: this.id, provider: 'aws', region: 'r' },
      capacityPools: [
        {
          id: 'gpu',
          nodeTypes: [
            {
              id: 'h100',
              acceleratorModel: 'H100',
              acceleratorsPerNode: PER_NODE,
              totalCount: up.length,
              purchaseModel: PurchaseModel.ON_DEMAND,
              zone: this.zone,
              eligibleForTandemn: true,
              inUse: up.flatMap((node) => {
                const on = this.chains.filter((c) => c.node === node);
                if (on.length === 0) return [];
                return {
                  allocations: on.map(({ jobId, rankId, size }) => ({
                    jobId,
                    rankId,
                    chainId: rankId,
                    podIndex: 0,
                    acceleratorCount: size,
                  })),
                };
              }),
            },
          ],
        },
      ],
      jobs: [...jobs].map(([jobId, ranks]) => ({
        jobId,
        ranks: [...ranks].map(([rankId, { size, phase }]) => ({
          rankId,
          podRequirements: [{ poolId: 'gpu', nodeTypeId: 'h100', acceleratorCount: size }],
          chains: [{ chainId: rankId, status: { phase }, pods: [{ podIndex: 0, status: { phase } }] }],
        })),
      })),
    });
  }

  /** Pods that wait get room, largest first. */
  schedule(): void {
    for (const chain of [...this.chains].sort((a, b) => b.size - a.size)) {
      if (chain.node !== undefined || chain.phase !== WorkloadPhase.PENDING) continue;
      const open = this.nodes.flatMap((isUp, node) => (isUp && this.free(node) >= chain.size ? [node] : []));
      const [best] = open.sort((a, b) => this.free(a) - this.free(b));
      if (best === undefined) continue;
      chain.node = best;
      chain.phase = WorkloadPhase.RUNNING;
    }
  }

  fail(chain: Chain): void {
    chain.node = undefined;
    chain.phase = WorkloadPhase.FAILED;
  }
}

interface Task {
  readonly atMs: number;
  readonly run: () => void;
}

class Killed extends Error {}

interface Kept {
  readonly rev: number;
  readonly item: StoredBundle;
}

export class SimulatedWorld {
  nowMs = 1_800_000_000_000;
  readonly clusters: Map<string, Cluster>;
  readonly bundles = new Map<string, Kept>();
  readonly deleted = new Set<string>();
  #tasks: Task[] = [];
  /** Steps of processes that wait for their turn. */
  readonly #waiting: { readonly go: () => void; readonly kill: () => void }[] = [];
  #active = 0;
  #ids = 0;
  /** Lost races, kills and refusals, so that a run can show that it met them. */
  readonly met = { kills: 0, lost: 0, refusals: 0, conflicts: 0, placed: 0, moved: 0 };
  violations: string[] = [];
  faults = true;

  constructor(readonly random: () => number) {
    const count = 2 + Math.floor(random() * 2);
    this.clusters = new Map(
      Array.from({ length: count }, (_, index) => {
        const id = `c${index}`;
        return [id, new Cluster(id, `z${index % 2}`, 1 + Math.floor(random() * 3), this.nowMs)];
      }),
    );
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.random() * list.length)];
  }

  after(ms: number, run: () => void): void {
    this.#tasks.push({ atMs: this.nowMs + ms, run });
  }

  /** Lets time pass: tasks, agents, sweeper, deployers, schedulers. */
  advance(ms: number): void {
    this.nowMs += ms;
    const due = this.#tasks.filter(({ atMs }) => atMs <= this.nowMs);
    this.#tasks = this.#tasks.filter(({ atMs }) => atMs > this.nowMs);
    for (const { run } of due) run();
    for (const cluster of this.clusters.values()) {
      cluster.schedule();
      this.#agent(cluster);
    }
    this.checkGenerations();
  }

  #agent(cluster: Cluster): void {
    const { pending } = cluster;
    if (pending !== undefined && pending.atMs <= this.nowMs) {
      cluster.pending = undefined;
      cluster.snapshot = pending.snapshot;
      cluster.content = bundleContentOf(pending.snapshot);
      cluster.cutMs = pending.cutMs;
      cluster.receivedMs = this.nowMs;
      cluster.counter++;
      if (cluster.omitted?.reason === 'silent') cluster.omitted = undefined;
    }
    const reaches =
      cluster.agentUp && cluster.cutOffSinceMs === undefined && cluster.omitted?.reason !== 'deleted';
    if (reaches && cluster.pending === undefined) {
      const lagMs = this.faults ? Math.floor(this.random() * 15_000) : 0;
      cluster.pending = { snapshot: cluster.look(), cutMs: this.nowMs, atMs: this.nowMs + lagMs };
    }
    if (cluster.omitted === undefined && this.nowMs - cluster.receivedMs >= OMIT_AFTER_MS) {
      cluster.omitted = { reason: 'silent', atMs: this.nowMs };
    }
  }

  /** A deployer reads what is stored, and later does what it read. */
  deployer(): void {
    const read = [...this.bundles].map(([id, { item }]) => ({ id, item }));
    const readAtMs = this.nowMs;
    const known = new Set(read.map(({ id }) => id));
    const slowMs = () => (this.faults ? Math.floor(this.random() ** 3 * 20 * 60_000) : 0);
    for (const cluster of this.clusters.values()) {
      if (cluster.cutOffSinceMs !== undefined) {
        this.#stopCutOff(cluster);
        continue;
      }
      // What is not to run any more: another generation is known, or the bundle is going or gone.
      for (const chain of cluster.chains) {
        const item = read.find(({ id }) => id === chain.bundleId)?.item;
        const copy = item?.copies.find(({ copy }) => copy === chain.copy);
        const over =
          !known.has(chain.bundleId) ||
          item?.state === 'deleting' ||
          copy === undefined ||
          copy.generation > chain.generation;
        if (over)
          this.after(slowMs() / 4, () => {
            cluster.chains = cluster.chains.filter((c) => c !== chain);
          });
      }
      for (const { id, item } of read) {
        if (item.state !== 'live') continue;
        for (const copy of item.copies) {
          if (copy.phase !== 'placed') continue;
          const jobId = jobIdOf(id, copy.copy, copy.generation);
          const hold = copy.claims
            .filter(({ clusterId }) => clusterId === cluster.id)
            .map((claim) => holdOf(cluster.ledger, claimIdOf(claim.id)));
          const deadlineMs = Math.min(
            ...hold.map((one) => (one !== undefined && isLive(one) ? one.expiresAtMs : 0)),
          );
          for (const rank of copy.ranks) {
            if (rank.clusterId !== cluster.id || rank.accelerators === 0) continue;
            const name = `${jobId}/${rank.rankId}`;
            const start = () => {
              // The fence of the one who starts: its deadline, counted from before it read, and a name that is used once.
              if (this.nowMs > deadlineMs - MARGIN_MS || readAtMs > deadlineMs) return;
              if (cluster.names.has(name) || cluster.omitted?.reason === 'deleted') return;
              if (cluster.cutOffSinceMs !== undefined) return;
              cluster.names.add(name);
              cluster.chains.push({
                bundleId: id,
                copy: copy.copy,
                generation: copy.generation,
                jobId,
                rankId: rank.rankId,
                size: rank.accelerators,
                node: undefined,
                phase: WorkloadPhase.PENDING,
              });
            };
            this.after(slowMs(), start);
            // It may act twice.
            if (this.faults && this.random() < 0.3) this.after(slowMs(), start);
          }
        }
      }
    }
  }

  /** Who cannot read the bundle for as long as it may be replaced after, stops. */
  #stopCutOff(cluster: Cluster): void {
    const sinceMs = cluster.cutOffSinceMs ?? this.nowMs;
    cluster.chains = cluster.chains.filter((chain) => {
      const after = this.bundles.get(chain.bundleId)?.item.replaceUnknownAfterMs ?? 0;
      return after === 0 || this.nowMs - sinceMs < after;
    });
  }

  /** Never two generations of one copy running. */
  checkGenerations(): void {
    const running = new Map<string, bigint>();
    for (const { chains } of this.clusters.values()) {
      for (const { bundleId, copy, generation, node } of chains) {
        if (node === undefined) continue;
        const key = `${bundleId}.${copy}`;
        const other = running.get(key);
        if (other !== undefined && other !== generation) {
          this.violations.push(`generations ${other} and ${generation} of ${key} run at once`);
        }
        running.set(key, generation);
      }
    }
  }

  // The service.

  reading(cluster: Cluster): ClusterReading {
    const heard = cluster.omitted === undefined;
    return {
      clusterId: cluster.id,
      standing: heard ? 'heard' : cluster.omitted?.reason === 'silent' ? 'silent' : 'gone',
      head: {
        counter: cluster.counter,
        collectedAtMs: cluster.cutMs,
        observedMs: cluster.cutMs,
        ...(cluster.omitted === undefined ? {} : { omittedAtMs: cluster.omitted.atMs }),
      },
      content: heard ? cluster.content : undefined,
      ledger: cluster.ledger,
    };
  }

  world(refused: ReadonlyMap<string, string> = new Map()): BundleWorld {
    const { nowMs } = this;
    const known = new Map(
      [...this.clusters].map(([id, cluster]) => [id, knownCluster(this.reading(cluster), nowMs, SETTINGS)]),
    );
    return {
      nowMs,
      pools: POOLS,
      catalogue: BUILT_IN_CATALOGUE,
      refused,
      newClaimId: () => this.#newId(nowMs),
      cluster: (id) => known.get(id)?.fact ?? UNKNOWN_CLUSTER,
      candidates: () =>
        mapCandidates(
          [...known.values()].flatMap(({ nodes }) => nodes ?? []),
          BUILT_IN_CATALOGUE,
        ),
    };
  }

  #newId(atMs: number): ClaimId {
    const bytes = Buffer.alloc(16);
    bytes.writeUIntBE(atMs, 0, 6);
    bytes[6] = 0x70;
    bytes[8] = 0x80;
    bytes.writeUInt32BE(++this.#ids, 12);
    return claimIdOf(bytes);
  }

  #situation(cluster: Cluster): ClaimSituation {
    const { head, content, ledger } = this.reading(cluster);
    return { ledger, head, content, nowMs: this.nowMs, settings: SETTINGS };
  }

  #perform(bundleId: string, operation: ClaimOperation): OperationOutcome {
    const { id } = operation;
    const cluster = this.clusters.get(operation.clusterId);
    if (cluster === undefined) return { kind: 'refused', reason: 'no such cluster' };
    const owner = `bundle:${bundleId}`;
    const situation = this.#situation(cluster);
    const write = (ledger: Ledger): OperationOutcome => {
      cluster.ledger = ledger;
      cluster.version++;
      return { kind: 'done' };
    };
    const fence = cluster.version === 0n ? BigInt(this.nowMs) : cluster.version + 1n;
    if (cluster.version === 0n) cluster.version = fence - 1n;
    try {
      if (operation.kind === 'release') {
        const { neverStarted, reason } = operation;
        return write(
          releaseClaim(situation, id, { owner, mayReleaseAny: false, neverStarted, reason }, fence).ledger,
        );
      }
      const { head, content } = situation;
      if (head === undefined || content === undefined)
        return { kind: 'refused', reason: 'the cluster is omitted' };
      if (operation.kind === 'confirm') {
        const { ledger } = confirmClaim(situation, id, owner, operation.ttlMs);
        const after = evaluateSituation({ ...situation, ledger });
        if (
          after.claims.some(
            ({ hold, backed }) =>
              hold.owner === owner && Buffer.from(hold.id).equals(id.bytes) && backed === false,
          )
        ) {
          this.violations.push(`a part of ${bundleId} was confirmed that does not fit`);
        }
        return write(ledger);
      }
      const known = holdOf(cluster.ledger, id);
      if (known !== undefined) {
        if (!isLive(known)) throw claimEnded(id, known);
        return { kind: 'done' };
      }
      refuseStaleId(id, cluster.ledger.endedFloorMs, this.nowMs);
      const admission = atOnce(
        admit({ ...situation, head, content, id, owner, request: operation.request, fence }),
      );
      if (admission.kind !== 'accepted') throw new Error('A generation that is new was fulfilled.');
      return write(admission.ledger);
    } catch (error) {
      if (!(error instanceof ResourceMapError)) throw error;
      this.met.refusals++;
      return { kind: 'refused', reason: error.detail };
    }
  }

  /** Writes down what was derived, as the sweeper does. */
  sweep(): void {
    for (const cluster of this.clusters.values()) {
      cluster.ledger = compact(cluster.ledger, evaluateSituation(this.#situation(cluster)), this.nowMs);
    }
  }

  /** Every call is a turn that others may come before, and at which the process may be killed. */
  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ go: resolve, kill: () => reject(new Killed()) });
    });
  }

  get busy(): boolean {
    return this.#active > 0;
  }

  /** A process begins to do what there is to do for these bundles, in this order. */
  begin(bundleIds: readonly string[]): void {
    this.#active++;
    const deps: StepDeps<Kept> = {
      items: {
        read: async (id) => {
          await this.#turn();
          return this.bundles.get(id);
        },
        replace: async (id, seen, next) => {
          await this.#turn();
          if (this.bundles.get(id)?.rev !== seen.rev) {
            this.met.conflicts++;
            return undefined;
          }
          this.#count(seen.item, next);
          const kept = { rev: seen.rev + 1, item: next };
          this.bundles.set(id, kept);
          return kept;
        },
        remove: async (seen) => {
          await this.#turn();
          const id = seen.item.spec?.bundleId ?? '';
          if (this.bundles.get(id)?.rev !== seen.rev) return false;
          const chains = [...this.clusters.values()]
            .filter(({ omitted }) => omitted?.reason !== 'deleted')
            .flatMap((c) => c.chains);
          if (chains.some((chain) => chain.bundleId === id && chain.node !== undefined)) {
            this.violations.push(`${id} was removed while it ran`);
          }
          this.bundles.delete(id);
          this.deleted.add(id);
          return true;
        },
      },
      world: async (refused) => {
        await this.#turn();
        return this.world(refused);
      },
      perform: async (id, operation) => {
        await this.#turn();
        const outcome = this.#perform(id, operation);
        // The response may be lost on the way.
        await this.#turn();
        return outcome;
      },
      run: async (work) => atOnce(work),
    };
    void (async () => {
      try {
        for (const id of bundleIds) await stepBundle(id, deps);
      } catch (error) {
        if (!(error instanceof Killed))
          this.violations.push(String(error instanceof Error ? error.stack : error));
      } finally {
        this.#active--;
      }
    })();
  }

  #count(before: StoredBundle, after: StoredBundle): void {
    for (const copy of after.copies) {
      const old = before.copies.find((one) => one.copy === copy.copy);
      if (old?.phase === 'acquiring' && copy.phase === 'placed') this.met.placed++;
      if (old !== undefined && old.generation !== copy.generation && old.phase !== 'acquiring')
        this.met.lost++;
      if (old !== undefined && copy.generation < old.generation)
        this.violations.push('a generation went back');
    }
  }

  /** One process that waits goes on, or is killed. */
  async turn(): Promise<void> {
    if (this.#waiting.length > 0) {
      const [next] = this.#waiting.splice(Math.floor(this.random() * this.#waiting.length), 1);
      if (this.faults && this.random() < 0.01) {
        this.met.kills++;
        next?.kill();
      } else next?.go();
    }
    await settled();
  }

  async drain(): Promise<void> {
    while (this.#active > 0) await this.turn();
  }
}

/** Until all that is ready has run: a chain of promises takes a few turns of the microtask queue. */
async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}
