/** Small cases of planning, dense in what is contested: few names, few sizes. Amounts are quarters, which doubles hold exactly. */
import fc from 'fast-check';
import type {
  Bundle,
  BundleJobSpec,
  GpuResource,
  JobRequirements,
  NodeInventory,
  Pool,
} from '../../../functions/core/bundle/model/model.ts';
import type { InventoryCandidate } from '../../../functions/core/bundle/search/candidates.ts';

const rarely = fc.integer({ min: 0, max: 9 }).map((n) => n === 0);
const quarters = (max: number) => fc.integer({ min: 0, max: max * 4 }).map((n) => n / 4);
const model = fc.constantFrom('A', 'B');

const gpu: fc.Arbitrary<Omit<GpuResource, 'index'>> = fc.record({
  model,
  totalCapacity: fc.constantFrom(1, 0.5),
  reservedCapacity: fc.constantFrom(0, 0, 0, 0.25),
  exclusivelyReserved: rarely,
});

const inventory: fc.Arbitrary<NodeInventory> = fc.record({
  totalCapacity: fc.integer({ min: 4, max: 12 }),
  utilizationCap: fc.constantFrom(1, 1, 0.75, 0.5),
  totalCores: fc.integer({ min: 1, max: 6 }),
  gpus: fc.array(gpu, { maxLength: 3 }).map((gpus) => gpus.map((g, index) => ({ index, ...g }))),
  capabilities: fc.array(
    fc.record({
      name: fc.constantFrom('n/x', 'norsk.io/nvidia-gpu'),
      count: fc.integer({ min: 1, max: 3 }),
      attributes: fc.constantFrom({}, { k: 'v' }),
    }),
    { maxLength: 2 },
  ),
  reservedCapacity: fc.constantFrom(0, 0, 1),
  reservedCores: fc.constantFrom(0, 0, 1),
  reservedCapabilities: fc.array(fc.record({ name: fc.constant('n/x'), count: fc.constant(1) }), {
    maxLength: 1,
  }),
  reachable: rarely.map((no) => !no),
  cordoned: rarely,
});

const node: fc.Arbitrary<Omit<InventoryCandidate, 'nodeId'>> = fc.record({
  kind: fc.constant('inventory' as const),
  place: fc.record({
    clusterId: fc.constant('c'),
    provider: fc.constantFrom('aws', 'gcp', ''),
    region: fc.constantFrom('r1', ''),
    zone: fc.constantFrom('z1', 'z2', ''),
    poolId: fc.constantFrom('cheap', 'cheap', 'dear', 'dear', 'other'),
    nodeTypeId: fc.constant('t'),
    instanceType: fc.constant(''),
    acceleratorModels: fc.constant([]),
  }),
  eligible: rarely.map((no) => !no),
  inventory,
});

/** Nodes of which some are equal but for their names. */
export const nodes = (maxLength: number): fc.Arbitrary<readonly InventoryCandidate[]> =>
  fc.array(fc.tuple(node, fc.integer({ min: 1, max: 2 })), { minLength: 1, maxLength }).map((kinds) =>
    kinds
      .flatMap(([kind, copies]) => Array.from({ length: copies }, () => kind))
      .slice(0, maxLength)
      .map((kind, i) => ({ ...kind, nodeId: `n${i}` })),
  );

const requirements: fc.Arbitrary<JobRequirements> = fc.record({
  requiredCapacity: fc.integer({ min: 0, max: 4 }),
  requiredCores: fc.constantFrom(0, 0, 1, 2),
  requiredGpuCapacity: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: quarters(1) },
  ),
  requiredGpuModel: fc.oneof({ weight: 8, arbitrary: fc.constant('') }, { weight: 1, arbitrary: model }),
  requiredCapabilities: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.record({
          name: fc.constantFrom('n/x', 'norsk.io/nvidia-gpu'),
          count: fc.integer({ min: 0, max: 2 }),
          attributeMatches: fc.constantFrom({}, {}, { k: 'v' }),
        }),
        { minLength: 1, maxLength: 2 },
      ),
    },
  ),
  priorityBand: fc.constantFrom('gold', 'silver', 'bronze', undefined),
});

const NAMES: readonly string[] = ['j0', 'j1', 'j2', 'j3'];

/**
 * Jobs with references that are legal one by one; together they may contradict each other.
 * Half of the time all need the same, as replicas do, which is where a search takes
 * shortcuts.
 */
const jobs = (maxLength: number): fc.Arbitrary<readonly BundleJobSpec[]> =>
  fc
    .tuple(anyJobs(maxLength), fc.boolean())
    .map(([specs, alike]) =>
      alike ? specs.map((spec) => ({ ...spec, requirements: specs[0]?.requirements ?? {} })) : specs,
    );

const anyJobs = (maxLength: number): fc.Arbitrary<readonly BundleJobSpec[]> =>
  fc
    .array(
      fc.record({
        requirements,
        together: fc.oneof(
          { weight: 3, arbitrary: fc.constant<string[]>([]) },
          fc.subarray([...NAMES], { maxLength: 1 }),
        ),
        apart: fc.oneof(
          { weight: 2, arbitrary: fc.constant<string[]>([]) },
          fc.subarray([...NAMES], { maxLength: 2 }),
        ),
      }),
      { minLength: 1, maxLength },
    )
    .map((specs) =>
      specs.map(({ requirements, together, apart }, i) => {
        const others = NAMES.slice(0, specs.length).filter((name) => name !== `j${i}`);
        const coLocateWith = others.filter((name) => together.includes(name));
        const separateFrom = others.filter((name) => apart.includes(name) && !coLocateWith.includes(name));
        return { jobName: `j${i}`, requirements, coLocateWith, separateFrom };
      }),
    );

const rule = fc.constantFrom('allow', 'forbid');

export const bundleOf = (maxJobs: number, policy: 'none' | 'always' | 'maybe'): fc.Arbitrary<Bundle> =>
  fc.record({
    bundleId: fc.constant('b'),
    pool: fc.constant('p'),
    jobs: jobs(maxJobs),
    intraReplicaPlacement: fc.record({
      sameNodeDefault: rarely,
      sameAz: fc.constantFrom('off', 'off', 'soft', 'hard'),
    }),
    resiliencePolicy:
      policy === 'none'
        ? fc.constant(undefined)
        : fc.option(
            fc.record({
              pool: fc.constantFrom(undefined, undefined, 'p', 'q'),
              sameNode: rule,
              sameAz: rule,
              sameCloud: rule,
            }),
            { nil: undefined, freq: policy === 'always' ? Number.MAX_SAFE_INTEGER : 2 },
          ),
  });

/** Pool `p` takes cheap nodes before dear ones, and neither others; `q` takes others before dear ones. */
export const POOLS: readonly Pool[] = [
  {
    poolName: 'p',
    tiers: [
      { tierName: 'cheap', cluster: { poolId: ['cheap'] } },
      { tierName: 'dear', cluster: { poolId: ['dear', 'cheap'] } },
    ],
  },
  {
    poolName: 'q',
    tiers: [{ cluster: { poolId: ['other'] } }, { cluster: { poolId: ['dear'] } }],
  },
];
