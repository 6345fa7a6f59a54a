/** Objects of clusters as they are, as they should not be, and as they cannot be. */
import fc from 'fast-check';
import type { AgentSettings } from '../../../functions/agent/mapping/settings.ts';
import { DEFAULT_SETTINGS } from '../../../functions/agent/mapping/settings.ts';

const NODE_NAMES = ['n0', 'n1', 'n2', 'n3', 'gke-c-pool-0a1b2c3d-aaaa', 'gke-c-pool-0a1b2c3d-bbbb', 'gone'];
const POD_NAMES = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
const RESOURCES = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
  'nvidia.com/mig-1g.5gb',
  'nvidia.com/gpu.shared',
  'rdma/hca',
];

/** What no reader asked for, in the place of anything. */
const junk = fc.oneof(
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
  fc.constant(-1),
  fc.constant('\u0000\ud800'),
  fc.boolean(),
);
const odd = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | unknown> =>
  fc.oneof({ weight: 40, arbitrary: value }, { weight: 1, arbitrary: junk });
const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(odd(value), { nil: undefined, freq: 3 });

const quantity = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 8 }).map(String) },
  fc.constantFrom('8e0', '1k', '500m', '-3', '9999999999999999999', 'lots', 8, 2.5, null),
);
const anyResources = fc.dictionary(fc.constantFrom(...RESOURCES), quantity, { maxKeys: 3 });
/** What most nodes offer. */
const offer = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('8', '8', '7', '4').map((count) => ({ 'nvidia.com/gpu': count })) },
  { weight: 1, arbitrary: anyResources },
);
/** What most pods ask for. */
const request = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('1', '2', '4', '8').map((count) => ({ 'nvidia.com/gpu': count })) },
  { weight: 1, arbitrary: anyResources },
);

const label = (key: string, ...values: readonly string[]) =>
  fc.option(
    fc.constantFrom(...values).map((value) => [key, value] as const),
    { nil: undefined, freq: 1 },
  );
const rareLabel = (key: string, ...values: readonly string[]) =>
  fc
    .option(
      fc.constantFrom(...values).map((value) => [key, value] as const),
      { nil: undefined, freq: 1 },
    )
    .chain((pair) =>
      fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant(pair) }),
    );
const nodeLabels = fc
  .tuple(
    label(
      'node.kubernetes.io/instance-type',
      'p5.48xlarge',
      'n1-standard-8',
      'k3s',
      'x'.repeat(300),
      'bad\u0007type',
    ),
    label('cloud.google.com/gke-nodepool', 'pool', 'other'),
    label('karpenter.sh/nodepool', 'kp', 'constructor', '__proto__'),
    label('topology.kubernetes.io/zone', 'z1', '0', 'z2'),
    label(
      'nvidia.com/gpu.product',
      'H100',
      'H100',
      'H100',
      'A100',
      'A100-SHARED',
      'A100-MIG-1g.5gb',
      'GRID-A100-4C',
    ),
    label('nvidia.com/gpu.count', '8', '8', '8', '4', '0', 'many'),
    rareLabel('nvidia.com/gpu.replicas', '4', '1', 'NaN'),
    rareLabel('nvidia.com/mig.strategy', 'single', 'mixed'),
    label('nvidia.com/gpu.clique', 'c1', 'c2', 'f\u0000'),
    label('karpenter.sh/capacity-type', 'spot', 'reserved', 'odd'),
  )
  .map((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== undefined)));

const taint = fc.record({
  key: fc.constantFrom('nvidia.com/gpu', 'node.kubernetes.io/not-ready', 'team', 'sku'),
  effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule', 'Odd'),
  value: fc.constantFrom('gpu', 'x'),
});

export const arbitraryNode = fc.record({
  kind: fc.constant('Node'),
  metadata: fc.record(
    {
      name: fc.constantFrom(...NODE_NAMES.slice(0, -1)),
      labels: odd(nodeLabels),
      annotations: rarely(
        fc.record(
          { 'hami.io/node-nvidia-register': fc.constantFrom('[{},{}]', 'a,1:b,2:', '{}') },
          { requiredKeys: [] },
        ),
      ),
      deletionTimestamp: rarely(fc.constant('2026-01-01T00:00:00Z')),
    },
    { requiredKeys: ['name'] },
  ),
  spec: odd(
    fc.record({
      unschedulable: maybe(fc.boolean()),
      taints: maybe(fc.array(odd(taint), { maxLength: 2 })),
      providerID: maybe(fc.constantFrom('aws:///a/i-1', 'x')),
    }),
  ),
  status: odd(
    fc.record({
      capacity: odd(offer),
      allocatable: odd(offer),
      conditions: maybe(
        fc.array(
          odd(
            fc.record({
              type: fc.constantFrom('Ready', 'Other'),
              status: fc.constantFrom('True', 'False', 'Unknown'),
            }),
          ),
          { maxLength: 2 },
        ),
      ),
    }),
  ),
});

const container = fc.record({
  name: fc.constant('c'),
  image: fc.constantFrom('vllm/vllm:v1', 'x', ''),
  args: maybe(fc.constantFrom(['--tp', '4'], ['--tensor-parallel-size=2'], ['--tp'], [3])),
  restartPolicy: maybe(fc.constant('Always')),
  resources: odd(fc.record({ requests: maybe(request), limits: maybe(request) })),
});

const contractLabels = fc.record({
  'tandemn.com/job-id': fc.constantFrom('j1', 'j2'),
  'tandemn.com/rank-id': fc.constantFrom('r1', 'r2'),
  'tandemn.com/chain-id': fc.constantFrom('c1', 'c2'),
  'tandemn.com/pod-index': fc.constantFrom('0', '1'),
});
const anyPodLabels = fc
  .tuple(
    label('tandemn.com/job-id', 'j1', 'j2', ''),
    label('tandemn.com/rank-id', 'r1', 'r2', 'r1@default/node:1'),
    label('tandemn.com/chain-id', 'c1', 'c2'),
    label('tandemn.com/pod-index', '0', '1', '7', '-1'),
    label('leaderworkerset.sigs.k8s.io/name', 'lws'),
    label('leaderworkerset.sigs.k8s.io/group-index', '0', '1'),
    label('leaderworkerset.sigs.k8s.io/worker-index', '0', '1', '2'),
    label('batch.kubernetes.io/job-name', 'job'),
    label('batch.kubernetes.io/job-completion-index', '0', '1', '2'),
    label('jobset.sigs.k8s.io/jobset-name', 'js'),
    label('pod-template-hash', 'abc'),
  )
  .map((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== undefined)));

const podLabels = fc.oneof({ weight: 2, arbitrary: contractLabels }, { weight: 1, arbitrary: anyPodLabels });

export const arbitraryPod = fc.record({
  kind: fc.constant('Pod'),
  metadata: fc.record(
    {
      name: fc.constantFrom(...POD_NAMES),
      namespace: fc.constantFrom('a', 'b'),
      uid: fc.constantFrom('u1', 'u2', 'u3'),
      creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', 'never'),
      labels: odd(podLabels),
      annotations: maybe(
        fc.record(
          { 'tandemn.com/target': fc.constantFrom('default/node', 'kp/p5.48xlarge', '/', 'pool/') },
          { requiredKeys: [] },
        ),
      ),
      deletionTimestamp: rarely(fc.constant('2026-01-01T00:00:00Z')),
      ownerReferences: maybe(
        fc.constantFrom(
          [{ kind: 'ReplicaSet', name: 'd-abc', controller: true }],
          [{ kind: 'StatefulSet', name: 's', controller: true }],
          [{ kind: 'Job', name: 'job', controller: true }],
          [{ kind: 'DaemonSet', name: 'ds', controller: 'true' }],
        ),
      ),
    },
    { requiredKeys: ['name', 'namespace'] },
  ),
  spec: odd(
    fc.record({
      nodeName: maybe(fc.constantFrom(...NODE_NAMES)),
      containers: odd(fc.array(odd(container), { maxLength: 2 })),
      initContainers: rarely(fc.array(odd(container), { maxLength: 2 })),
      nodeSelector: maybe(fc.constantFrom({ 'topology.kubernetes.io/zone': 'z1' }, { none: 'x' })),
      tolerations: maybe(
        fc.constantFrom([{ operator: 'Exists' }], [{ key: 'nvidia.com/gpu', operator: 'Exists' }]),
      ),
      resourceClaims: rarely(
        fc.array(
          fc.record({ name: fc.constant('x'), resourceClaimName: fc.constantFrom('claim0', 'claim1') }),
          { maxLength: 2 },
        ),
      ),
    }),
  ),
  status: odd(
    fc.record({
      phase: fc.constantFrom('Pending', 'Running', 'Running', 'Running', 'Succeeded', 'Failed', 'Odd'),
      conditions: maybe(
        fc.constantFrom(
          [{ type: 'Ready', status: 'True' }],
          [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
        ),
      ),
      extendedResourceClaimStatus: rarely(fc.constant({ resourceClaimName: 'claim1' })),
    }),
  ),
});

const device = fc.record({
  name: fc.constantFrom('gpu-0', 'gpu-1', 'gpu-2', 'mig-0'),
  attributes: odd(
    fc.record({
      type: maybe(
        fc.constantFrom({ string: 'gpu' }, { string: 'mig' }, { string: 'vfio' }, { string: 'channel' }),
      ),
      productName: maybe(fc.constantFrom({ string: 'NVIDIA H100 80GB HBM3' }, { string: 'GRID A100-4C' })),
      'resource.kubernetes.io/pciBusID': maybe(fc.constantFrom({ string: '0000:01' }, { string: '0000:02' })),
    }),
  ),
  taints: maybe(fc.constant([{ key: 'x', effect: 'NoSchedule' }])),
  consumesCounters: maybe(fc.constant([{ counterSet: 'gpu-0-counters' }])),
});

export const arbitrarySlice = fc.record({
  kind: fc.constant('ResourceSlice'),
  metadata: fc.record({ name: fc.constantFrom('s0', 's1', 's2') }),
  spec: fc.record({
    driver: fc.constantFrom('gpu.nvidia.com', 'gpu.amd.com', 'dra.net', 'compute-domain.nvidia.com'),
    nodeName: maybe(fc.constantFrom(...NODE_NAMES)),
    pool: odd(
      fc.record({
        name: fc.constantFrom('n0', 'n1', 'pool'),
        generation: fc.constantFrom(1, 2, '3'),
        resourceSliceCount: fc.constantFrom(1, 2),
      }),
    ),
    devices: odd(fc.array(odd(device), { maxLength: 4 })),
  }),
});

export const arbitraryClaim = fc.record({
  kind: fc.constant('ResourceClaim'),
  metadata: fc.record({ name: fc.constantFrom('claim0', 'claim1'), namespace: fc.constantFrom('a', 'b') }),
  spec: odd(
    fc.record({
      devices: fc.record({
        requests: fc.array(
          fc.record({
            exactly: fc.record({
              deviceClassName: fc.constant('gpu.nvidia.com'),
              count: fc.integer({ min: 0, max: 4 }),
            }),
          }),
          { maxLength: 2 },
        ),
      }),
    }),
  ),
  status: maybe(
    fc.record({
      allocation: odd(
        fc.record({
          devices: fc.record({
            results: odd(
              fc.array(
                fc.record({
                  driver: fc.constantFrom('gpu.nvidia.com', 'dra.net'),
                  pool: fc.constantFrom('n0', 'n1', 'pool', 'gone'),
                  device: fc.constantFrom('gpu-0', 'gpu-1', 'mig-0', 'vanished'),
                  adminAccess: maybe(fc.boolean()),
                }),
                { maxLength: 3 },
              ),
            ),
          }),
        }),
      ),
      reservedFor: maybe(
        fc.array(fc.record({ resource: fc.constant('pods'), name: fc.constantFrom(...POD_NAMES) }), {
          maxLength: 2,
        }),
      ),
    }),
  ),
});

const workload = fc.oneof(
  fc.record({
    kind: fc.constant('LeaderWorkerSet'),
    metadata: fc.constant({ name: 'lws', namespace: 'a' }),
    spec: odd(
      fc.record({
        replicas: fc.integer({ min: 0, max: 3 }),
        leaderWorkerTemplate: fc.record({ size: fc.integer({ min: 0, max: 4 }) }),
      }),
    ),
  }),
  fc.record({
    kind: fc.constant('Job'),
    metadata: fc.constant({ name: 'job', namespace: 'a' }),
    spec: odd(
      fc.record({
        completions: fc.integer({ min: 1, max: 4 }),
        parallelism: fc.integer({ min: 1, max: 4 }),
        completionMode: fc.constant('Indexed'),
      }),
    ),
    status: maybe(fc.constantFrom({ completedIndexes: '0-1' }, { completedIndexes: '0-999999999' })),
  }),
  fc.record({
    kind: fc.constant('Deployment'),
    metadata: fc.constant({ name: 'd', namespace: 'a' }),
    spec: odd(fc.record({ replicas: fc.integer({ min: 0, max: 3 }) })),
  }),
  fc.record({
    kind: fc.constant('HorizontalPodAutoscaler'),
    metadata: fc.constant({ name: 'h', namespace: 'a' }),
    spec: odd(
      fc.record({
        scaleTargetRef: fc.constantFrom(
          { kind: 'Deployment', name: 'd' },
          { kind: 'LeaderWorkerSet', name: 'lws' },
        ),
        minReplicas: fc.integer({ min: 0, max: 5 }),
        maxReplicas: fc.integer({ min: 0, max: 5 }),
      }),
    ),
  }),
  fc.record({
    kind: fc.constant('NodePool'),
    metadata: fc.constantFrom({ name: 'kp' }, { name: 'empty' }),
    spec: odd(
      fc.record({
        limits: maybe(fc.constantFrom({ 'nvidia.com/gpu': '16', nodes: '3' }, { nodes: 'x' })),
        replicas: maybe(fc.integer({ min: 0, max: 3 })),
      }),
    ),
  }),
  fc.record({
    kind: fc.constant('NodeClaim'),
    metadata: fc.record({
      name: fc.constantFrom('nc0', 'nc1'),
      labels: fc.constant({
        'karpenter.sh/nodepool': 'kp',
        'node.kubernetes.io/instance-type': 'p5.48xlarge',
      }),
    }),
  }),
);

/** One cluster's objects: readable ones, and what a proxy or a bug might make of others. */
export const arbitraryObjects: fc.Arbitrary<readonly unknown[]> = fc
  .tuple(
    fc.array(arbitraryNode, { minLength: 3, maxLength: 6 }),
    fc.array(arbitraryPod, { minLength: 2, maxLength: 10 }),
    fc.array(arbitrarySlice, { maxLength: 4 }),
    fc.array(arbitraryClaim, { maxLength: 3 }),
    fc.array(workload, { maxLength: 4 }),
    fc.array(junk, { maxLength: 1 }),
  )
  .map((lists) => lists.flat());

export const arbitrarySettings: fc.Arbitrary<AgentSettings> = fc.constantFrom(
  DEFAULT_SETTINGS,
  { ...DEFAULT_SETTINGS, nodesWithoutAccelerators: false },
  { ...DEFAULT_SETTINGS, fabricLabel: '', poolLabel: 'topology.kubernetes.io/zone', recogniseJobs: [] },
  {
    ...DEFAULT_SETTINGS,
    pools: { default: { shared: true, acceleratorsPerNode: 2 }, kp: { shared: false, minNodes: 5 } },
  },
);
