/**
 * Valid snapshots of every shape, for property tests: none breaks a rule that
 * refuses, many break one that warns.
 *
 * A snapshot is built from a tape of numbers, each of which decides one thing, and
 * past whose end every decision is the simplest one. So a failing snapshot shrinks to
 * a small one, and what must hold across it (an allocation fits on its node) holds by
 * construction, not by filtering.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { isValidId } from '../../../functions/core/snapshot/rules/ids.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type NodeTypeCapacitySchema,
  type PurchaseModel,
  type RankStateSchema,
  type TopologyMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { NOW_SECONDS } from './builders.ts';

export interface ArbitrarySnapshotOptions {
  /** Every snapshot is of this cluster; by default each is of one of its own. */
  readonly clusterId?: string;
  /** Nothing is collected after this second since the epoch. By default the builders' now. */
  readonly nowSeconds?: bigint;
}

/** Ids that have caught something: in objects, paths, patterns, joins, UTF-16 and at the limit of length. */
const AWKWARD_IDS = [
  '__proto__',
  'constructor',
  'toString',
  '.',
  '..',
  ' ',
  '/',
  'a/b',
  'a b',
  '%2F',
  '"',
  '\\',
  "'; --",
  'jobs[0]',
  '0',
  '-0',
  'null',
  '\u00a0',
  '\u2028',
  'é',
  'e\u0301',
  '\ufeff',
  '\uffff',
  '\u{10ffff}',
  'arn:aws:eks:eu-west-1:123456789012:cluster/prod',
  'x'.repeat(253),
  '\u{1f9ea}'.repeat(63),
];

/** Valid ids of any kind; not all of them are cluster ids. */
export const arbitraryId: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...AWKWARD_IDS),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter(isValidId),
  fc.string({
    unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-'),
    minLength: 1,
    maxLength: 63,
  }),
);

const arbitraryClusterId = arbitraryId.filter((id) => !['.', '..', '__proto__'].includes(id));

/** Any valid snapshot. */
export function arbitrarySnapshot(options: ArbitrarySnapshotOptions = {}): fc.Arbitrary<ClusterResourceMap> {
  const { clusterId, nowSeconds = NOW_SECONDS } = options;
  return fc
    .record({
      clusterId: clusterId === undefined ? arbitraryClusterId : fc.constant(clusterId),
      seconds: fc.oneof(
        fc.bigInt({ min: nowSeconds - 86_400n, max: nowSeconds }),
        fc.bigInt({ min: -62_135_596_800n, max: nowSeconds }),
      ),
      nanos: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 999_999_999 })),
      logicalCounter: fc.oneof(
        fc.bigInt({ min: 1n, max: 1_000n }),
        fc.bigInt({ min: 1n, max: 2n ** 64n - 2n }),
      ),
      ids: fc.uniqueArray(arbitraryId, { maxLength: 24, size: 'max' }),
      tape: fc.array(fc.nat(0xffff_ffff), { maxLength: 600, size: 'max' }),
    })
    .map(({ clusterId: id, seconds, nanos, logicalCounter, ids, tape }) => {
      const choices = new Choices(tape, ids);
      return create(ClusterResourceMapSchema, {
        cluster: {
          clusterId: id,
          displayName: choices.text(),
          provider: choices.text(),
          region: choices.text(),
          site: choices.text(),
        },
        // The last second before now may not have nanos that lie behind it.
        collectedAt: { seconds, nanos: seconds === nowSeconds ? 0 : nanos },
        logicalCounter,
        ...contentOf(choices),
      });
    });
}

/** The decisions of one snapshot. */
class Choices {
  #position = 0;

  constructor(
    private readonly tape: readonly number[],
    private readonly ids: readonly string[],
  ) {}

  /** An integer from 0 to `max`. */
  upTo(max: number): number {
    const decision = this.tape[this.#position++] ?? 0;
    return max >= 0xffff_ffff ? decision : decision % (max + 1);
  }

  /** True once in `of` times. */
  oneIn(of: number): boolean {
    return this.upTo(of - 1) === of - 1;
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.upTo(values.length - 1)] ?? values[0];
  }

  /** A value, or its absence. */
  maybe<T>(make: () => T): T | undefined {
    return this.upTo(1) === 1 ? make() : undefined;
  }

  /** Mostly small, now and then at the end of the range. */
  uint32(): number {
    const max = this.pick([8, 1_000, 0, 0xffff_ffff]);
    return max === 0 ? 0xffff_ffff : this.upTo(max);
  }

  text(): string {
    return this.pick(['', 'H100', 'eu-west-1', '😀', '"\\', '\u2028', 'x'.repeat(300)]);
  }

  /** Up to `max` different ids; awkward ones as often as plain ones. */
  distinctIds(max: number, prefix: string): string[] {
    const start = this.upTo(this.ids.length);
    const count = this.upTo(max);
    const chosen = new Set<string>();
    for (let i = 0; i < count; i++) {
      const awkward = this.upTo(1) === 1 ? this.ids[(start + i) % this.ids.length] : undefined;
      chosen.add(awkward ?? `${prefix}${i}`);
    }
    return [...chosen];
  }

  shuffled<T>(values: readonly T[]): T[] {
    const shuffled = [...values];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.upTo(i);
      [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
    }
    return shuffled;
  }
}

type Init<T> = Extract<T, { readonly $typeName?: never }>;
type NodeTypeInit = Init<MessageInitShape<typeof NodeTypeCapacitySchema>>;
type RankInit = Init<MessageInitShape<typeof RankStateSchema>>;
type TopologyInit = Init<MessageInitShape<typeof TopologyMapSchema>>;

/** A node type while it is being filled. */
interface Target {
  readonly poolId: string;
  readonly id: string;
  readonly perNode: number;
  readonly totalCount: number;
  readonly nodes: Node[];
  readonly reservations: { jobId: string; rankId: string; additionalChains: number }[];
}

interface Node {
  readonly allocations: {
    jobId: string;
    rankId: string;
    chainId: string;
    podIndex: number;
    acceleratorCount: number;
  }[];
  external: number;
  unavailable: number;
}

function freeOf(target: Target, node: Node): number {
  const allocated = node.allocations.reduce((sum, a) => sum + a.acceleratorCount, 0);
  return target.perNode - allocated - node.external - node.unavailable;
}

function contentOf(choices: Choices) {
  const topology = choices.maybe(() => topologyOf(choices));
  const poolIds = choices.distinctIds(4, 'pool-');
  const pools = poolIds.map((poolId) => ({
    poolId,
    targets: choices.distinctIds(4, 'type-').map((id): Target => {
      const perNode = choices.pick([8, 4, 1, 0, 16, choices.uint32()]);
      const totalCount = choices.pick([4, 1, 0, 2, choices.uint32()]);
      return { poolId, id, perNode, totalCount, nodes: [], reservations: [] };
    }),
  }));
  const targets = pools.flatMap((pool) => pool.targets);
  const jobs = choices.distinctIds(4, 'job-').map((jobId) => ({
    jobId,
    workloadKind: choices.pick([1, 2, 0, 7]),
    status: choices.maybe(() => statusOf(choices)),
    ranks: choices.distinctIds(3, 'rank-').flatMap((rankId) => rankOf(jobId, rankId, targets, choices) ?? []),
  }));
  for (const target of targets) addOthers(target, choices);
  return {
    ...(topology === undefined ? {} : { topology }),
    capacityPools: pools.map(({ poolId, targets: types }) => ({
      id: poolId,
      autoscalingEnabled: choices.oneIn(2),
      ...boundsOf(choices, 'minNodes', 'maxNodes'),
      ...optional(
        'maxAccelerators',
        choices.maybe(() => choices.uint32()),
      ),
      nodeTypes: types.map((target) => nodeTypeOf(target, topology, choices)),
    })),
    jobs,
    installedComponents: choices
      .distinctIds(3, 'component-')
      .flatMap((name) => choices.distinctIds(2, '1.').map((version) => ({ name, version }))),
    apiResources: choices.distinctIds(3, 'Kind').map((kind) => ({
      group: choices.pick(['', 'apps', 'kueue.x-k8s.io']),
      kind,
      servedVersions: ['v1', 'v1'],
    })),
  };
}

function topologyOf(choices: Choices): TopologyInit {
  const fabrics = choices.distinctIds(3, 'fabric-').map((id) => ({
    id,
    transport: choices.text(),
    rdmaReady: choices.oneIn(2),
    ...optional(
      'bandwidthPerNodeBps',
      choices.maybe(() => BigInt(choices.uint32()) ** 2n),
    ),
  }));
  const links = fabrics.flatMap((from) =>
    fabrics
      .filter(() => choices.oneIn(3))
      .map((to) => ({
        fromFabricId: from.id,
        toFabricId: to.id,
        ...optional(
          'roundTripLatencyNs',
          choices.maybe(() => BigInt(choices.uint32())),
        ),
      })),
  );
  return { fabrics, links };
}

/** A rank with its chains, allocated and reserved on the targets; none where no target has accelerators. */
function rankOf(
  jobId: string,
  rankId: string,
  targets: readonly Target[],
  choices: Choices,
): RankInit | undefined {
  const [first, ...others] = targets.filter((target) => target.perNode > 0);
  if (first === undefined) return undefined;
  const requirements = Array.from({ length: 1 + choices.upTo(3) }, () => {
    const target = choices.pick([first, ...others]);
    return { target, acceleratorCount: 1 + choices.upTo(target.perNode - 1) };
  });
  const chains = choices.distinctIds(4, 'chain-').map((chainId) => {
    const pods = requirements.map(({ target, acceleratorCount }, podIndex) => {
      const allocation = { jobId, rankId, chainId, podIndex, acceleratorCount };
      if (!choices.oneIn(3)) allocate(target, allocation, choices);
      return {
        podIndex,
        ...optional(
          'status',
          choices.maybe(() => statusOf(choices)),
        ),
      };
    });
    return {
      chainId,
      pods: choices.shuffled(pods),
      ...optional(
        'status',
        choices.maybe(() => statusOf(choices)),
      ),
    };
  });
  if (choices.oneIn(2)) {
    const additionalChains = 1 + choices.upTo(choices.pick([2, 0xffff_fffe]));
    for (const target of new Set(requirements.map((requirement) => requirement.target))) {
      target.reservations.push({ jobId, rankId, additionalChains });
    }
  }
  return {
    rankId,
    ...optional(
      'runtime',
      choices.maybe(() => runtimeOf(choices)),
    ),
    podRequirements: requirements.map(({ target, acceleratorCount }) => ({
      poolId: target.poolId,
      nodeTypeId: target.id,
      acceleratorCount,
    })),
    ...chainBoundsOf(choices),
    chains,
    ...optional(
      'status',
      choices.maybe(() => statusOf(choices)),
    ),
  };
}

/** Places a pod on a node that has room, or on a new one; leaves it out where there is neither. */
function allocate(target: Target, allocation: Node['allocations'][number], choices: Choices): void {
  const roomy = target.nodes.filter((node) => freeOf(target, node) >= allocation.acceleratorCount);
  const node = choices.oneIn(2) ? roomy[0] : roomy[choices.upTo(Math.max(0, roomy.length - 1))];
  if (node !== undefined) {
    node.allocations.push(allocation);
  } else if (target.nodes.length < target.totalCount) {
    target.nodes.push({ allocations: [allocation], external: 0, unavailable: 0 });
  }
}

/** Others take a part, or all, of what is free, on nodes that are in use and on idle ones. */
function addOthers(target: Target, choices: Choices): void {
  for (const node of target.nodes) {
    if (choices.oneIn(3)) node.external = choices.upTo(freeOf(target, node));
    if (choices.oneIn(3))
      node.unavailable = choices.pick([freeOf(target, node), choices.upTo(freeOf(target, node))]);
  }
  for (let n = choices.upTo(2); n > 0; n--) {
    if (target.perNode === 0 || target.nodes.length >= target.totalCount) return;
    const taken = 1 + choices.upTo(target.perNode - 1);
    const unavailable = choices.pick([0, taken]);
    target.nodes.push({ allocations: [], external: taken - unavailable, unavailable });
  }
}

function nodeTypeOf(target: Target, topology: TopologyInit | undefined, choices: Choices): NodeTypeInit {
  const fabricIds = (topology?.fabrics ?? []).map((fabric) => fabric.id ?? '');
  return {
    id: target.id,
    instanceType: choices.text(),
    acceleratorModel: choices.text(),
    acceleratorsPerNode: target.perNode,
    totalCount: target.totalCount,
    ...optional(
      'pricePerNodeHour',
      choices.maybe(() => ({
        currencyCode: choices.pick(['USD', 'EUR', 'XTS', 'QQQ']),
        decimalAmount: choices.pick(['12.50', '0', '98.320000', '9'.repeat(60)]),
      })),
    ),
    purchaseModel: choices.pick([1, 2, 3, 4, 5, 0, 99 as PurchaseModel]),
    zone: choices.text(),
    fabricId: choices.pick(['', ...fabricIds]),
    intraNodeInterconnect: choices.text(),
    eligibleForTandemn: !choices.oneIn(3),
    ...optional(
      'pendingNodeCount',
      choices.maybe(() => choices.uint32()),
    ),
    inUse: choices.shuffled(
      target.nodes.map((node) => ({
        allocations: choices.shuffled(node.allocations),
        externalAcceleratorsInUse: node.external,
        unavailableAccelerators: node.unavailable,
      })),
    ),
    reservedForAutoscaling: choices.shuffled(target.reservations),
    ...optional(
      'maxRunDuration',
      choices.maybe(() => ({ seconds: BigInt(choices.uint32()), nanos: 1 })),
    ),
  };
}

function statusOf(choices: Choices) {
  return {
    phase: choices.pick([3, 1, 0, 2, 4, 5, 6, 7, 42]),
    reason: choices.text(),
    message: choices.text(),
  };
}

function runtimeOf(choices: Choices) {
  return {
    engine: choices.text(),
    ...optional(
      'parallelism',
      choices.maybe(() => ({
        ...optional(
          'tensor',
          choices.maybe(() => choices.upTo(8)),
        ),
        ...optional(
          'expert',
          choices.maybe(() => choices.uint32()),
        ),
      })),
    ),
    engineParameters: Object.fromEntries(
      Array.from({ length: choices.upTo(3) }, (_, i) => [`--parameter-${i}`, choices.text()]),
    ),
  };
}

function boundsOf<Low extends string, High extends string>(choices: Choices, low: Low, high: High) {
  const [least, most] = [choices.uint32(), choices.uint32()].sort((a, b) => a - b);
  return {
    ...optional(
      low,
      choices.maybe(() => least ?? 0),
    ),
    ...optional(
      high,
      choices.maybe(() => most ?? 0),
    ),
  };
}

function chainBoundsOf(choices: Choices) {
  const bound = () => choices.pick([choices.upTo(3), choices.uint32()]);
  const [least, middle, most] = [bound(), bound(), bound()].sort((a, b) => a - b);
  return {
    ...optional(
      'minChains',
      choices.maybe(() => least ?? 0),
    ),
    ...optional(
      'desiredChains',
      choices.maybe(() => middle ?? 0),
    ),
    ...optional(
      'maxChains',
      choices.maybe(() => most ?? 0),
    ),
  };
}

/** A field that is there only with a value, as exact optional properties want it. */
function optional<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}
