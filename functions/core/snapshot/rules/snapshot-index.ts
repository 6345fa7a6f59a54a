/**
 * The snapshot with its references resolved: one pass over the definitions, so that
 * the rules look every reference up once and never search.
 *
 * Where an id is defined twice the first definition stands for it, and what only the
 * second one contains is found under the same id: one duplicate is one finding, not
 * a hundred references gone astray. Lookups are nested, one a level; ids are opaque,
 * so no two of them are ever joined to one key.
 */
import {
  type CapacityPool,
  type ChainState,
  type ClusterResourceMap,
  type JobState,
  type NodeTypeCapacity,
  type PodState,
  type RankState,
  WorkloadPhase,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { quote } from '../../quote.ts';
import { isValidId } from './ids.ts';

/** How many siblings are found faster by comparing them one by one than by hashing. */
const MAX_COMPARED = 8;

/** Shared by all that have none; never written to. */
const NONE: never[] = [];

/**
 * What one parent contains, found by id. Most jobs have one rank and most ranks a few
 * chains, which are found by comparing; a `Map` for each would cost more than all else
 * that is done with them. There is one where they are many.
 */
class Children<Child extends { readonly id: string }> {
  #list: Child[] = NONE;
  #byId: Map<string, Child> | undefined;
  /** Those of every parent with this parent's id, where there are several. */
  #family: Map<string, Child> | undefined;

  /** In document order. */
  get list(): readonly Child[] {
    return this.#list;
  }

  /** The first with that id among this parent's own. */
  own(id: string): Child | undefined {
    if (this.#byId !== undefined) return this.#byId.get(id);
    for (const child of this.#list) if (child.id === id) return child;
    return undefined;
  }

  /** What the id means in a reference: the first of this parent's, or else of the later ones with its id. */
  byId(id: string): Child | undefined {
    return this.#family === undefined ? this.own(id) : this.#family.get(id);
  }

  /** Adds the next one in document order. */
  add(child: Child): void {
    // An array that grows from empty reserves room for 17, which an only child would waste.
    if (this.#list.length === 0) this.#list = [child];
    else this.#list.push(child);
    if (this.#byId !== undefined) addFirst(this.#byId, child);
    else if (this.#list.length > MAX_COMPARED) this.#byId = firstById(this.#list);
  }

  /** Adds a child of a later parent with this parent's id. */
  adopt(child: Child): void {
    this.#family ??= firstById(this.#list);
    addFirst(this.#family, child);
  }
}

function firstById<Child extends { readonly id: string }>(children: readonly Child[]): Map<string, Child> {
  const byId = new Map<string, Child>();
  for (const child of children) addFirst(byId, child);
  return byId;
}

function addFirst<Child extends { readonly id: string }>(byId: Map<string, Child>, child: Child): void {
  if (!byId.has(child.id)) byId.set(child.id, child);
}

// The entries have no base class, though they are alike: five classes that run through one
// constructor make it several times as slow, and it runs once for every chain.

/** A capacity pool. */
export class PoolEntry {
  readonly id: string;
  readonly validId: boolean;
  readonly nodeTypes = new Children<NodeTypeEntry>();

  constructor(
    readonly pool: CapacityPool,
    readonly position: number,
    /** The first pool with this id, where that is another one. */
    readonly duplicateOf: PoolEntry | undefined,
  ) {
    this.id = pool.id;
    this.validId = isValidId(pool.id);
  }

  get path(): string {
    return `capacity_pools[${this.position}]`;
  }
}

/** A node type of a pool. */
export class NodeTypeEntry {
  readonly id: string;
  readonly validId: boolean;

  constructor(
    readonly type: NodeTypeCapacity,
    readonly pool: PoolEntry,
    readonly position: number,
    /** The first of the pool's node types with this id, where that is another one. */
    readonly duplicateOf: NodeTypeEntry | undefined,
  ) {
    this.id = type.id;
    this.validId = isValidId(type.id);
  }

  get path(): string {
    return `${this.pool.path}.node_types[${this.position}]`;
  }

  get name(): string {
    return nodeTypeName(this.pool.id, this.id);
  }
}

/** A job. */
export class JobEntry {
  readonly id: string;
  readonly validId: boolean;
  readonly ranks = new Children<RankEntry>();

  constructor(
    readonly job: JobState,
    readonly position: number,
    /** The first job with this id, where that is another one. */
    readonly duplicateOf: JobEntry | undefined,
  ) {
    this.id = job.jobId;
    this.validId = isValidId(job.jobId);
  }

  get path(): string {
    return `jobs[${this.position}]`;
  }
}

/** A rank of a job. */
export class RankEntry {
  readonly id: string;
  readonly validId: boolean;
  readonly chains = new Children<ChainEntry>();
  /** Chains that have not ended. */
  liveChains = 0;

  constructor(
    readonly rank: RankState,
    readonly job: JobEntry,
    readonly position: number,
    /** The first of the job's ranks with this id, where that is another one. */
    readonly duplicateOf: RankEntry | undefined,
  ) {
    this.id = rank.rankId;
    this.validId = isValidId(rank.rankId);
  }

  get path(): string {
    return `${this.job.path}.ranks[${this.position}]`;
  }

  get name(): string {
    return `rank ${quote(this.id)} of job ${quote(this.job.id)}`;
  }
}

/** Pods that fit in the bits of a small integer. */
const MASK_BITS = 31;

/** A chain of a rank, and which of its pods are allocated. */
export class ChainEntry {
  readonly id: string;
  readonly validId: boolean;
  #allocated = 0;
  #allocatedBeyondMask: Set<number> | undefined;
  #phases: ReadonlyMap<number, WorkloadPhase> | undefined;

  constructor(
    readonly chain: ChainState,
    readonly rank: RankEntry,
    readonly position: number,
    /** The first of the rank's chains with this id, where that is another one. */
    readonly duplicateOf: ChainEntry | undefined,
  ) {
    this.id = chain.chainId;
    this.validId = isValidId(chain.chainId);
  }

  /** Notes that a pod is allocated. False where it was already. */
  allocate(podIndex: number): boolean {
    if (this.isAllocated(podIndex)) return false;
    if (podIndex < MASK_BITS) {
      this.#allocated |= 1 << podIndex;
    } else {
      this.#allocatedBeyondMask ??= new Set();
      this.#allocatedBeyondMask.add(podIndex);
    }
    return true;
  }

  isAllocated(podIndex: number): boolean {
    if (podIndex < MASK_BITS) return (this.#allocated & (1 << podIndex)) !== 0;
    return this.#allocatedBeyondMask?.has(podIndex) === true;
  }

  /** The phase of a pod; UNKNOWN where the pod or its status is missing. */
  podPhase(podIndex: number): WorkloadPhase {
    const { pods } = this.chain;
    const inPlace = pods[podIndex];
    if (inPlace !== undefined && inPlace.podIndex === podIndex) return phaseOf(inPlace);
    this.#phases ??= new Map(pods.map((pod) => [pod.podIndex, phaseOf(pod)]));
    return this.#phases.get(podIndex) ?? WorkloadPhase.UNKNOWN;
  }

  get path(): string {
    return `${this.rank.path}.chains[${this.position}]`;
  }

  get name(): string {
    return `chain ${quote(this.id)} of ${this.rank.name}`;
  }
}

/** By chain and pod index. */
type FirstEntries = Map<
  ChainEntry,
  Map<number, { readonly nodeType: NodeTypeEntry; readonly entry: number }>
>;

/** Everything that a reference can name. */
export class SnapshotIndex {
  readonly pools: PoolEntry[] = [];
  readonly jobs: JobEntry[] = [];
  readonly fabricIds: ReadonlySet<string>;
  readonly #poolsById = new Map<string, PoolEntry>();
  readonly #jobsById = new Map<string, JobEntry>();
  #lastJob: JobEntry | undefined;
  #firstEntries: FirstEntries | undefined;

  constructor(snapshot: ClusterResourceMap) {
    this.fabricIds = new Set(snapshot.topology?.fabrics.map((fabric) => fabric.id));
    for (const pool of snapshot.capacityPools) this.#addPool(pool);
    for (const job of snapshot.jobs) this.#addJob(job);
  }

  poolById(id: string): PoolEntry | undefined {
    return this.#poolsById.get(id);
  }

  nodeTypeById(poolId: string, nodeTypeId: string): NodeTypeEntry | undefined {
    return this.#poolsById.get(poolId)?.nodeTypes.byId(nodeTypeId);
  }

  jobById(id: string): JobEntry | undefined {
    // The allocations of a node are mostly one job's: comparing is cheaper than hashing again.
    if (this.#lastJob?.id === id) return this.#lastJob;
    const job = this.#jobsById.get(id);
    if (job !== undefined) this.#lastJob = job;
    return job;
  }

  /** The chain that allocations of this one's ids refer to: itself, unless an id is defined twice. */
  referredChain(chain: ChainEntry): ChainEntry {
    return this.rankById(chain.rank.job.id, chain.rank.id)?.chains.byId(chain.id) ?? chain;
  }

  rankById(jobId: string, rankId: string): RankEntry | undefined {
    return this.jobById(jobId)?.ranks.byId(rankId);
  }

  /**
   * The path of the first occupancy entry that holds a pod of a chain. All of them
   * are gone through when the first one is asked for, which is when a pod is
   * allocated twice: to remember where each is would cost every sound snapshot.
   */
  firstEntryPath(chain: ChainEntry, podIndex: number): string {
    this.#firstEntries ??= this.#findFirstEntries();
    const first = this.#firstEntries.get(chain)?.get(podIndex);
    return first === undefined ? '' : `${first.nodeType.path}.in_use[${first.entry}]`;
  }

  #findFirstEntries(): FirstEntries {
    const firsts: FirstEntries = new Map();
    for (const pool of this.pools) {
      for (const nodeType of pool.nodeTypes.list) {
        for (const [entry, { allocations }] of nodeType.type.inUse.entries()) {
          for (const { jobId, rankId, chainId, podIndex } of allocations) {
            const chain = this.rankById(jobId, rankId)?.chains.byId(chainId);
            if (chain === undefined) continue;
            const ofChain =
              firsts.get(chain) ?? new Map<number, { nodeType: NodeTypeEntry; entry: number }>();
            firsts.set(chain, ofChain);
            if (!ofChain.has(podIndex)) ofChain.set(podIndex, { nodeType, entry });
          }
        }
      }
    }
    return firsts;
  }

  #addPool(pool: CapacityPool): void {
    const first = this.#poolsById.get(pool.id);
    const entry = new PoolEntry(pool, this.pools.length, first);
    if (first === undefined) this.#poolsById.set(pool.id, entry);
    this.pools.push(entry);
    for (const [t, type] of pool.nodeTypes.entries()) {
      const nodeType = new NodeTypeEntry(type, entry, t, entry.nodeTypes.own(type.id));
      entry.nodeTypes.add(nodeType);
      first?.nodeTypes.adopt(nodeType);
    }
  }

  #addJob(job: JobState): void {
    const first = this.#jobsById.get(job.jobId);
    const entry = new JobEntry(job, this.jobs.length, first);
    if (first === undefined) this.#jobsById.set(job.jobId, entry);
    this.jobs.push(entry);
    for (let r = 0; r < job.ranks.length; r++) {
      const state = job.ranks[r] as RankState;
      const rank = new RankEntry(state, entry, r, entry.ranks.own(state.rankId));
      // What the rank's ids mean in a reference, where that is another one.
      const standing = first === undefined ? rank.duplicateOf : first.ranks.byId(rank.id);
      this.#addChains(rank, standing);
      entry.ranks.add(rank);
      first?.ranks.adopt(rank);
    }
  }

  #addChains(rank: RankEntry, standing: RankEntry | undefined): void {
    const { chains } = rank.rank;
    for (let c = 0; c < chains.length; c++) {
      const chain = chains[c] as ChainState;
      const first = rank.chains.own(chain.chainId);
      const entry = new ChainEntry(chain, rank, c, first);
      if (first === undefined && !hasEnded(chain)) rank.liveChains++;
      rank.chains.add(entry);
      standing?.chains.adopt(entry);
    }
  }
}

/** A chain has ended when its own phase says so, whatever its pods say. */
function hasEnded(chain: ChainState): boolean {
  const phase = chain.status?.phase;
  return phase === WorkloadPhase.SUCCEEDED || phase === WorkloadPhase.FAILED;
}

function phaseOf(pod: PodState): WorkloadPhase {
  return pod.status?.phase ?? WorkloadPhase.UNKNOWN;
}

/** How messages name a node type. */
export function nodeTypeName(poolId: string, nodeTypeId: string): string {
  return `node type ${quote(nodeTypeId)} of pool ${quote(poolId)}`;
}
