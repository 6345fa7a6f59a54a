/**
 * A cluster as it is, of which the service knows only what its agent pushes. Each node type has pods of one size
 * alone, so that whatever its own scheduler does never leaves room in pieces, and to hold more than there is can
 * be counted.
 */

interface NodeType {
  readonly id: string;
  readonly model: string;
  readonly perNode: number;
  readonly podSize: number;
  readonly nodes: number;
}

export const NODE_TYPES: readonly NodeType[] = [
  { id: 'whole', model: 'H100', perNode: 8, podSize: 8, nodes: 6 },
  { id: 'shared', model: 'L4', perNode: 4, podSize: 1, nodes: 3 },
];

interface RunningChain {
  readonly jobId: string;
  readonly chainId: string;
  readonly type: NodeType;
  /** From when on the agent sees it. */
  readonly showsMs: number;
  readonly endsMs: number;
  /** Absent while no node is there for it. */
  node: number | undefined;
}

/** A chain that is started, and for how long it runs. */
export interface Start {
  readonly jobId: string;
  readonly chainId: string;
  readonly typeId: string;
  readonly showsMs: number;
  readonly endsMs: number;
}

export class FakeCluster {
  readonly violations: string[] = [];
  starts = 0;
  #running: RunningChain[] = [];
  readonly #away = new Map<string, number>();

  constructor(
    readonly id: string,
    private readonly now: () => number,
  ) {}

  /** A deployer starts a chain. It holds more than there is if the chain has no place on all nodes, those away included. */
  start({ jobId, chainId, typeId, showsMs, endsMs }: Start): void {
    this.#endOver();
    const type = typeOf(typeId);
    this.starts++;
    const standing = this.#running.filter((chain) => chain.type === type).length;
    const slots = type.nodes * (type.perNode / type.podSize);
    if (standing >= slots) {
      this.violations.push(
        `${this.id}: chain ${chainId} of job ${jobId} was started on ${typeId}, which has ${slots} places and ${standing} chains`,
      );
    }
    this.#running.push({ jobId, chainId, type, showsMs, endsMs, node: undefined });
    this.#place();
  }

  /** A node is not ready for so long; what runs on it goes on. */
  loseNode(typeId: string, node: number, untilMs: number): void {
    this.#away.set(`${typeId}/${node}`, untilMs);
  }

  /** A look at the cluster, as the content of a snapshot. */
  look(): object {
    this.#endOver();
    this.#place();
    const nowMs = this.now();
    const shown = this.#running.filter(
      ({ showsMs, node, type }) => showsMs <= nowMs && (node === undefined || this.#isThere(type, node)),
    );
    return {
      capacityPools: [
        {
          id: 'p',
          nodeTypes: NODE_TYPES.map((type) => ({
            id: type.id,
            acceleratorModel: type.model,
            acceleratorsPerNode: type.perNode,
            totalCount: numbers(type.nodes).filter((node) => this.#isThere(type, node)).length,
            eligibleForTandemn: true,
            purchaseModel: 'PURCHASE_MODEL_ON_DEMAND',
            inUse: numbers(type.nodes).flatMap((node) => {
              const on = shown.filter((chain) => chain.type === type && chain.node === node);
              return on.length === 0 ? [] : [{ allocations: on.map(allocationOf) }];
            }),
          })),
        },
      ],
      jobs: [...groupBy(shown, ({ jobId }) => jobId)].map(([jobId, chains]) => ({
        jobId,
        workloadKind: 'WORKLOAD_KIND_BATCH',
        ranks: [...groupBy(chains, ({ type }) => type)].map(([type, ofRank]) => ({
          rankId: type.id,
          podRequirements: [{ poolId: 'p', nodeTypeId: type.id, acceleratorCount: type.podSize }],
          chains: ofRank.map(({ chainId, node }) => {
            const phase = node === undefined ? 'WORKLOAD_PHASE_PENDING' : 'WORKLOAD_PHASE_RUNNING';
            return { chainId, pods: [{ podIndex: 0, status: { phase } }], status: { phase } };
          }),
        })),
      })),
    };
  }

  #endOver(): void {
    const nowMs = this.now();
    this.#running = this.#running.filter(({ endsMs }) => nowMs < endsMs);
  }

  #isThere(type: NodeType, node: number): boolean {
    return this.now() >= (this.#away.get(`${type.id}/${node}`) ?? 0);
  }

  /** The cluster's own scheduler: whoever waits goes to the first node with room. */
  #place(): void {
    for (const chain of this.#running) {
      if (chain.node !== undefined) continue;
      const { type } = chain;
      chain.node = numbers(type.nodes).find(
        (node) =>
          this.#isThere(type, node) &&
          this.#running.filter((other) => other.type === type && other.node === node).length <
            type.perNode / type.podSize,
      );
    }
  }
}

function allocationOf({ jobId, chainId, type }: RunningChain): object {
  return { jobId, rankId: type.id, chainId, podIndex: 0, acceleratorCount: type.podSize };
}

function typeOf(id: string): NodeType {
  const type = NODE_TYPES.find((one) => one.id === id);
  if (type === undefined) throw new Error(`There is no node type ${id}.`);
  return type;
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Node 20 has no Map.groupBy. */
function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): ReadonlyMap<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? [];
    groups.set(keyOf(item), [...group, item]);
  }
  return groups;
}
