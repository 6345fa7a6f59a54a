/**
 * A cluster whose capacity several schedulers claim: what it really has and runs, its agent, who sees
 * what was started some seconds later, and schedulers that lose responses, hesitate, and die.
 */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createClaimClient } from '../../functions/client/claim-client.ts';
import { type Client, createClient } from '../../functions/client/client.ts';
import { ApiError, ConnectionError } from '../../functions/client/errors.ts';
import { ClaimNotStartableError, HeldClaim } from '../../functions/client/held-claim.ts';
import { ClaimState } from '../../functions/gen/resourcemap/v1/claims_pb.ts';
import { WorkloadPhase } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { cluster } from '../core/capacity/builders.ts';
import type { ClientDeps } from './clients.ts';
import { fault } from './clients.ts';
import { variantOf } from './snapshots.ts';
import type { Process, World } from './world.ts';

export const CLAIMED_CLUSTER = 'z';
const NODES = 3;
const PER_NODE = 8;
/** A job that was started shows in every look at the cluster that begins so much later. */
const SHOWS_WITHIN_MS = 15_000;
const RETRY = { attempts: 4, baseMs: 50, capMs: 1_000 } as const;
/** What a scheduler has to expect, beside the service being away. */
const REFUSALS: ReadonlySet<string> = new Set([
  'claim_does_not_fit',
  'claim_undecided',
  'claim_ended',
  'claim_not_found',
  'claim_not_backed',
  'claim_limit',
  'cluster_not_found',
  'cluster_omitted',
  'snapshot_unavailable',
  'store_unavailable',
  'contention',
  'overloaded',
]);

interface RunningJob {
  readonly jobId: string;
  readonly node: number;
  readonly showsAtMs: number;
}

/** What is there and what runs, whatever anybody believes. All pods are of one size, so none is in another's way. */
export class ClaimedCluster {
  readonly running: RunningJob[] = [];
  started = 0;

  constructor(
    private readonly world: World,
    readonly podSize: number,
  ) {}

  /** @returns whether there was room; the promise is that there always is */
  start(jobId: string): boolean {
    const room = Math.floor(PER_NODE / this.podSize);
    const node = Array.from({ length: NODES }, (_, index) => index).find(
      (index) => this.running.filter((job) => job.node === index).length < room,
    );
    if (node === undefined) return false;
    const delayMs = this.world.random01.next() * SHOWS_WITHIN_MS;
    this.running.push({ jobId, node, showsAtMs: this.world.nowMs + delayMs });
    this.started++;
    return true;
  }

  end(jobId: string): void {
    const index = this.running.findIndex((job) => job.jobId === jobId);
    if (index >= 0) this.running.splice(index, 1);
  }

  /** What an agent sees that looks now. */
  look(counter: bigint, collectedAtMs: number) {
    const shown = this.running.filter(({ showsAtMs }) => showsAtMs <= this.world.nowMs);
    const used = [...new Set(shown.map(({ node }) => node))];
    const snapshot = cluster({
      id: CLAIMED_CLUSTER,
      types: [
        {
          perNode: PER_NODE,
          idle: NODES - used.length,
          nodes: used.map((node) => ({
            pods: shown.filter((job) => job.node === node).map(({ jobId }) => ({ chain: jobId, index: 0 })),
          })),
        },
      ],
      ranks: shown.map(({ jobId }) => ({
        name: jobId,
        pods: [{ count: this.podSize }],
        chains: [{ name: jobId, phase: WorkloadPhase.RUNNING, podPhases: [WorkloadPhase.RUNNING] }],
      })),
    });
    snapshot.logicalCounter = counter;
    snapshot.collectedAt = timestampFromMs(collectedAtMs);
    return snapshot;
  }
}

/** Pushes what it sees, with the service's time of the response before. */
export class ClaimedClusterAgent {
  readonly #client: Client;
  #counter = 0n;
  #observed: string | undefined;

  constructor(
    private readonly deps: ClientDeps,
    private readonly cluster: ClaimedCluster,
  ) {
    this.#client = clientOf(deps);
  }

  /** @returns whether a push was accepted */
  async step(): Promise<boolean> {
    const observed = this.#observed;
    const { world, history } = this.deps;
    const counter = ++this.#counter;
    const collectedAtMs = Date.now();
    const snapshot = this.cluster.look(counter, collectedAtMs);
    const push = { clusterId: CLAIMED_CLUSTER, counter, variant: variantOf(snapshot) };
    const fromMs = world.nowMs;
    history.push({ kind: 'push attempt', ...push, collectedAtMs, atMs: fromMs });
    try {
      const { highWaterMark } = await this.#client.push(snapshot, {
        ...(observed === undefined ? {} : { observed }),
        onAccepted: (said) => {
          this.#observed = said.observed;
        },
      });
      const span = { fromMs, toMs: world.nowMs, by: 'the agent of the claimed cluster' };
      history.push({ kind: 'push acknowledged', ...push, highWaterMark, ...span });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.problem.highWaterMark !== undefined)
        this.#counter = BigInt(error.problem.highWaterMark);
      else expectRefusal(this.deps, error);
      return false;
    }
  }
}

export class Scheduler {
  readonly #claims;
  /** Claims that were acknowledged. */
  accepted = 0;
  #jobs = 0;

  constructor(
    private readonly deps: ClientDeps,
    readonly process: Process,
    private readonly cluster: ClaimedCluster,
  ) {
    this.#claims = createClaimClient({
      baseUrl: 'http://map',
      fetch: deps.service.fetch as typeof fetch,
      retry: RETRY,
    });
  }

  /** One job from its claim to its end, or to where the scheduler loses interest, or its memory. */
  async step(): Promise<void> {
    const { world, history } = this.deps;
    const { random01 } = world;
    const jobId = `${this.process.name.replace(' ', '-')}-${++this.#jobs}`;
    const id = claimId(world);
    try {
      const held = await HeldClaim.from(this.#claims, () =>
        this.#claims.put(CLAIMED_CLUSTER, id, {
          jobId,
          ranks: [{ podRequirements: [{ acceleratorCount: this.cluster.podSize }] }],
          ttl: { seconds: BigInt(random01.integer(5, 60)) },
        }),
      );
      this.accepted++;
      world.note(`${this.process.name}: ${jobId} is ${ClaimState[held.claim.state]}`);
      const found = await this.#claims.get(CLAIMED_CLUSTER, id);
      // Of one that has ended only the end is known.
      if (found.jobId !== '' && found.jobId !== jobId)
        history.push(fault(world, `Claim ${id} is of ${found.jobId}, not of ${jobId}.`));
      if (random01.chance(0.15)) return;
      if (random01.chance(0.1)) {
        await held.release();
        return;
      }
      await pause(random01.integer(0, 5_000));
      await held.confirm({ ttlMs: random01.integer(60, 120) * 1_000 });
      if (random01.chance(0.1)) return;
      // Most start at once; a few so late that it is forbidden, and must be forbidden.
      await pause(random01.chance(0.15) ? random01.integer(30_000, 150_000) : random01.integer(0, 3_000));
      held.start(() => {
        world.note(`${this.process.name}: ${jobId} is started`);
        if (!this.cluster.start(jobId))
          history.push(
            fault(
              world,
              `${jobId} was started on a confirmed claim, and the cluster had no room: it was claimed twice.`,
            ),
          );
      }, 0);
      world.schedule(random01.integer(1_000, 60_000), world.nature, () => this.cluster.end(jobId));
    } catch (error) {
      if (error instanceof ClaimNotStartableError) return;
      if (error instanceof ApiError && error.code === 'claim_not_found')
        history.push(fault(world, `${this.process.name}: claim ${id} was acknowledged, and is not there.`));
      expectRefusal(this.deps, error);
    }
  }

  /** Claims that are not over. */
  async live(): Promise<readonly string[]> {
    const response = await this.#claims.list({ states: [ClaimState.HELD, ClaimState.CONFIRMED] });
    return response.kind === 'claims'
      ? response.claims.map((claim) => `${claim.jobId} (${ClaimState[claim.state]})`)
      : [];
  }
}

function clientOf({ service }: ClientDeps): Client {
  return createClient({ baseUrl: 'http://map', fetch: service.fetch as typeof fetch, retry: RETRY });
}

/** A UUID of version 7, of the world's clock and chance. */
function claimId(world: World): string {
  const bytes = Buffer.alloc(16);
  for (let i = 6; i < 16; i++) bytes[i] = world.random01.integer(0, 255);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** On the simulated timers: stops with its process. */
async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function expectRefusal({ world, history }: ClientDeps, error: unknown): void {
  if (error instanceof ConnectionError) return;
  if (error instanceof ApiError && REFUSALS.has(error.code)) return;
  history.push(fault(world, `A client was told what it must not be: ${String(error)}`));
}
