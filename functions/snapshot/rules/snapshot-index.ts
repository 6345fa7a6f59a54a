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
} from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { quote } from '../quote.ts';
import { isValidId } from './ids.ts';

/** Something with an id, and where it stands. */
abstract class Entry {
  readonly validId: boolean;

  constructor(
    readonly id: string,
    /** Among its siblings. */
    readonly position: number,
    /** The first sibling with this id, where that is another one. */
    readonly duplicateOf: Entry | undefined,
  ) {
    this.validId = isValidId(id);
  }

  /** Where it stands in the snapshot. */
  abstract get path(): string;
}

/** Shared by all that have none; never written to. */
const NO_CHILDREN: never[] = [];

/** How many children are found faster by comparing them one by one than by hashing. */
const MAX_COMPARED = 8;

/**
 * Something with children that have ids. Most jobs have one rank and most ranks a
 * few chains, which are found by comparing; a `Map` for each would cost more than all
 * else that is done with them. There is one where the children are many.
 */
abstract class ParentEntry<Child extends Entry> extends Entry {
  #children: Child[] = NO_CHILDREN;
  #byId: Map<string, Child> | undefined;
  /** The children of all siblings with this id, where there are several. */
  #family: Map<string, Child> | undefined;

  constructor(
    id: string,
    position: number,
    override readonly duplicateOf: ParentEntry<Child> | undefined,
  ) {
    super(id, position, duplicateOf);
  }

  /** Every child, in document order. */
  get children(): readonly Child[] {
    return this.#children;
  }

  /** The first of this parent's own children with that id. */
  ownChildById(id: string): Child | undefined {
    if (this.#byId !== undefined) return this.#byId.get(id);
    for (const child of this.#children) if (child.id === id) return child;
    return undefined;
  }

  /** What the id means in a reference: the first such child of this parent, or else of the later ones with its id. */
  childById(id: string): Child | undefined {
    return this.#family === undefined ? this.ownChildById(id) : this.#family.get(id);
  }

  /** Adds the next child in document order. */
  addChild(child: Child): void {
    // An array that grows from empty reserves room for 17, which an only child would waste.
    if (this.#children.length === 0) this.#children = [child];
    else this.#children.push(child);
    if (this.#byId !== undefined) addFirst(this.#byId, child);
    else if (this.#children.length > MAX_COMPARED) this.#byId = firstById(this.#children);
    this.duplicateOf?.adopt(child);
  }

  protected adopt(child: Child): void {
    this.#family ??= firstById(this.#children);
    addFirst(this.#family, child);
  }
}

function firstById<Child extends Entry>(children: readonly Child[]): Map<string, Child> {
  const byId = new Map<string, Child>();
  for (const child of children) addFirst(byId, child);
  return byId;
}

function addFirst<Child extends Entry>(byId: Map<string, Child>, child: Child): void {
  if (!byId.has(child.id)) byId.set(child.id, child);
}

/** A capacity pool. */
export class PoolEntry extends ParentEntry<NodeTypeEntry> {
  constructor(
    readonly pool: CapacityPool,
    position: number,
    duplicateOf: PoolEntry | undefined,
  ) {
    super(pool.id, position, duplicateOf);
  }

  get path(): string {
    return `capacity_pools[${this.position}]`;
  }
}

/** A node type of a pool. */
export class NodeTypeEntry extends Entry {
  constructor(
    readonly type: NodeTypeCapacity,
    readonly pool: PoolEntry,
    position: number,
    duplicateOf: NodeTypeEntry | undefined,
  ) {
    super(type.id, position, duplicateOf);
  }

  get path(): string {
    return `${this.pool.path}.node_types[${this.position}]`;
  }

  get name(): string {
    return nodeTypeName(this.pool.id, this.id);
  }
}

/** A job. */
export class JobEntry extends ParentEntry<RankEntry> {
  constructor(
    readonly job: JobState,
    position: number,
    duplicateOf: JobEntry | undefined,
  ) {
    super(job.jobId, position, duplicateOf);
  }

  get path(): string {
    return `jobs[${this.position}]`;
  }
}

/** A rank of a job. */
export class RankEntry extends ParentEntry<ChainEntry> {
  /** Chains that have not ended. */
  liveChains = 0;

  constructor(
    readonly rank: RankState,
    readonly job: JobEntry,
    position: number,
    duplicateOf: RankEntry | undefined,
  ) {
    super(rank.rankId, position, duplicateOf);
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
export class ChainEntry extends Entry {
  #allocated = 0;
  #allocatedBeyondMask: Set<number> | undefined;
  #phases: ReadonlyMap<number, WorkloadPhase> | undefined;

  constructor(
    readonly chain: ChainState,
    readonly rank: RankEntry,
    position: number,
    duplicateOf: ChainEntry | undefined,
  ) {
    super(chain.chainId, position, duplicateOf);
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
    return this.#poolsById.get(poolId)?.childById(nodeTypeId);
  }

  jobById(id: string): JobEntry | undefined {
    // The allocations of a node are mostly one job's: comparing is cheaper than hashing anew.
    if (this.#lastJob?.id === id) return this.#lastJob;
    const job = this.#jobsById.get(id);
    if (job !== undefined) this.#lastJob = job;
    return job;
  }

  /** The chain that allocations of this one's ids refer to: itself, unless an id is defined twice. */
  referredChain(chain: ChainEntry): ChainEntry {
    return this.rankById(chain.rank.job.id, chain.rank.id)?.childById(chain.id) ?? chain;
  }

  rankById(jobId: string, rankId: string): RankEntry | undefined {
    return this.jobById(jobId)?.childById(rankId);
  }

  /**
   * The path of the first occupancy entry that holds a pod of a chain. All of them
   * are gone through when the first one is asked for, which is when a pod is
   * allocated twice: to remember where each stands would cost every sound snapshot.
   */
  firstEntryPath(chain: ChainEntry, podIndex: number): string {
    this.#firstEntries ??= this.#findFirstEntries();
    const first = this.#firstEntries.get(chain)?.get(podIndex);
    return first === undefined ? '' : `${first.nodeType.path}.in_use[${first.entry}]`;
  }

  #findFirstEntries(): FirstEntries {
    const firsts: FirstEntries = new Map();
    for (const pool of this.pools) {
      for (const nodeType of pool.children) {
        for (const [entry, { allocations }] of nodeType.type.inUse.entries()) {
          for (const { jobId, rankId, chainId, podIndex } of allocations) {
            const chain = this.rankById(jobId, rankId)?.childById(chainId);
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
      entry.addChild(new NodeTypeEntry(type, entry, t, entry.ownChildById(type.id)));
    }
  }

  #addJob(job: JobState): void {
    const first = this.#jobsById.get(job.jobId);
    const entry = new JobEntry(job, this.jobs.length, first);
    if (first === undefined) this.#jobsById.set(job.jobId, entry);
    this.jobs.push(entry);
    for (let r = 0; r < job.ranks.length; r++) {
      const rank = job.ranks[r] as RankState;
      const rankEntry = new RankEntry(rank, entry, r, entry.ownChildById(rank.rankId));
      entry.addChild(rankEntry);
      for (let c = 0; c < rank.chains.length; c++) {
        const chain = rank.chains[c] as ChainState;
        const first = rankEntry.ownChildById(chain.chainId);
        rankEntry.addChild(new ChainEntry(chain, rankEntry, c, first));
        if (first === undefined && !hasEnded(chain)) rankEntry.liveChains++;
      }
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
