import { expect, test } from 'vitest';
import { ExclusionList } from '../../../functions/agent/exclusions.ts';
import { NO_MEMORY } from '../../../functions/agent/mapping/memory.ts';
import { readDump } from '../../../functions/agent/mapping/read-objects.ts';
import { DEFAULT_SETTINGS } from '../../../functions/agent/mapping/settings.ts';
import { type Exclusions, snapshotOf } from '../../../functions/agent/mapping/snapshot.ts';
import { WorkloadPhase } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

const GPU = 'nvidia.com/gpu';
const NOW = Date.parse('2026-06-01T00:00:00Z');

function nodeObject(name: string, type = 'p5.48xlarge', pool = 'h100') {
  return {
    kind: 'Node',
    metadata: { name, labels: { 'karpenter.sh/nodepool': pool, 'node.kubernetes.io/instance-type': type } },
    status: { capacity: { [GPU]: '8' }, allocatable: { [GPU]: '8' } },
  };
}

interface PodInit {
  readonly nodeName?: string;
  readonly gpus?: string;
  readonly labels?: object;
  readonly annotations?: object;
  readonly owner?: { kind: string; name: string };
  readonly metadata?: object;
  readonly spec?: object;
  readonly ready?: boolean;
}

function podObject(
  name: string,
  { nodeName, gpus = '8', labels, annotations, owner, metadata, spec, ready = true }: PodInit,
) {
  return {
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'a',
      uid: name,
      labels,
      annotations,
      ...(owner === undefined ? {} : { ownerReferences: [{ ...owner, controller: true }] }),
      ...metadata,
    },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [{ name: 'c', image: 'vllm/vllm-openai:v0.9.1', resources: { requests: { [GPU]: gpus } } }],
      ...spec,
    },
    status: {
      phase: nodeName === undefined ? 'Pending' : 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

const lws = (group: number, worker: number) => ({
  'leaderworkerset.sigs.k8s.io/name': 'llama',
  'leaderworkerset.sigs.k8s.io/group-index': String(group),
  'leaderworkerset.sigs.k8s.io/worker-index': String(worker),
});

function take(objects: readonly object[], exclusions?: Exclusions) {
  const { facts } = readDump(objects, DEFAULT_SETTINGS);
  return snapshotOf({
    facts: { ...facts, clusterUid: 'c' },
    settings: DEFAULT_SETTINGS,
    memory: NO_MEMORY,
    collectedAtMs: NOW,
    counter: 1n,
    ...(exclusions === undefined ? {} : { exclusions }),
  });
}

const LWS = {
  kind: 'LeaderWorkerSet',
  metadata: { name: 'llama', namespace: 'a' },
  spec: { replicas: 3, leaderWorkerTemplate: { size: 2 } },
};
const HPA = {
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'h', namespace: 'a' },
  spec: { scaleTargetRef: { kind: 'LeaderWorkerSet', name: 'llama' }, minReplicas: 1, maxReplicas: 6 },
};

test('a LeaderWorkerSet: each group is a chain, and a worker that is not there yet is pending', () => {
  const { snapshot } = take([
    nodeObject('n0'),
    nodeObject('n1'),
    nodeObject('n2'),
    LWS,
    HPA,
    podObject('llama-0', { nodeName: 'n0', labels: lws(0, 0) }),
    podObject('llama-0-1', { nodeName: 'n1', labels: lws(0, 1) }),
    podObject('llama-1', { nodeName: 'n2', labels: lws(1, 0), ready: false }),
  ]);
  const [rank] = snapshot.jobs[0]?.ranks ?? [];
  expect(snapshot.jobs[0]?.jobId).toBe('a/leaderworkerset/llama');
  expect(rank).toMatchObject({
    rankId: 'llama@h100/p5.48xlarge:8x2',
    minChains: 1,
    maxChains: 6,
    desiredChains: 3,
  });
  expect(rank?.runtime).toMatchObject({ engine: 'vllm', engineVersion: 'v0.9.1' });
  expect(
    rank?.chains.map(({ chainId, pods, status }) => [
      chainId,
      pods.map((each) => each.status?.phase),
      status?.phase,
    ]),
  ).toEqual([
    ['0', [WorkloadPhase.RUNNING, WorkloadPhase.RUNNING], WorkloadPhase.RUNNING],
    ['1', [WorkloadPhase.STARTING, WorkloadPhase.PENDING], WorkloadPhase.PENDING],
  ]);
});

test('a Deployment: one chain a replica, on two node types two ranks, whose bounds nobody has', () => {
  const replica = (name: string, nodeName?: string) =>
    podObject(name, {
      ...(nodeName === undefined ? {} : { nodeName }),
      gpus: '4',
      labels: { 'pod-template-hash': 'abc' },
      owner: { kind: 'ReplicaSet', name: 'web-abc' },
    });
  const { snapshot } = take([
    nodeObject('n0'),
    nodeObject('n1', 'p4d.24xlarge'),
    { kind: 'Deployment', metadata: { name: 'web', namespace: 'a' }, spec: { replicas: 2 } },
    replica('web-1', 'n0'),
    replica('web-2', 'n1'),
  ]);
  expect(snapshot.jobs[0]?.jobId).toBe('a/deployment/web');
  expect(snapshot.jobs[0]?.ranks.map(({ rankId, desiredChains }) => [rankId, desiredChains])).toEqual([
    ['web@h100/p4d.24xlarge:4', undefined],
    ['web@h100/p5.48xlarge:4', undefined],
  ]);
});

test('an annotation goes before the label of the same name, and a target before a guess', () => {
  const { snapshot } = take([
    nodeObject('n0'),
    nodeObject('n1', 'p4d.24xlarge'),
    podObject('p', {
      labels: { 'tandemn.com/job-id': 'short', 'tandemn.com/rank-id': 'r', 'tandemn.com/chain-id': 'c' },
      annotations: {
        'tandemn.com/job-id': 'a job with a name that no label can have',
        'tandemn.com/target': 'h100/p5.48xlarge',
      },
    }),
  ]);
  expect(snapshot.jobs.map(({ jobId }) => jobId)).toEqual(['a job with a name that no label can have']);
  expect(snapshot.jobs[0]?.ranks[0]).toMatchObject({
    rankId: 'r',
    podRequirements: [{ nodeTypeId: 'p5.48xlarge', acceleratorCount: 8 }],
  });
});

test('a pod that was made again counts, and its terminating predecessor is external use', () => {
  const { snapshot } = take([
    nodeObject('n0'),
    nodeObject('n1'),
    podObject('old', {
      nodeName: 'n0',
      labels: lws(0, 0),
      metadata: { deletionTimestamp: '2026-05-01T00:00:00Z' },
    }),
    podObject('new', { nodeName: 'n1', labels: lws(0, 0) }),
  ]);
  const inUse = snapshot.capacityPools[0]?.nodeTypes[0]?.inUse ?? [];
  expect(
    inUse.map(({ externalAcceleratorsInUse, allocations }) => [
      externalAcceleratorsInUse,
      allocations.length,
    ]),
  ).toEqual([
    [8, 0],
    [0, 1],
  ]);
});

test('more than a node has: external use is cut first, then the newest chain, with its reason', () => {
  const owned = (name: string, time: string) =>
    podObject(name, {
      nodeName: 'n0',
      gpus: '6',
      owner: { kind: 'StatefulSet', name: 's' },
      metadata: { creationTimestamp: time },
    });
  const { snapshot, notes } = take([
    nodeObject('n0'),
    podObject('static', { nodeName: 'n0', gpus: '8' }),
    owned('s-0', '2026-01-01T00:00:00Z'),
    owned('s-1', '2026-01-02T00:00:00Z'),
  ]);
  expect(snapshot.jobs[0]?.ranks[0]?.chains.map(({ chainId }) => chainId)).toEqual(['s-0']);
  expect(snapshot.capacityPools[0]?.nodeTypes[0]?.inUse[0]).toMatchObject({
    externalAcceleratorsInUse: 2,
    unavailableAccelerators: 0,
  });
  expect(notes).toEqual([
    {
      object: 'Node n0',
      message:
        'more devices are bound than the 8 that it has, so chain s-1 of job a/statefulset/s is left out',
    },
  ]);
});

test('what a service refuses is left out: a job becomes external use, a node unavailable', () => {
  const objects = [
    nodeObject('n0'),
    nodeObject('n1'),
    podObject('s-0', { nodeName: 'n0', owner: { kind: 'StatefulSet', name: 's' } }),
    podObject('other', { nodeName: 'n1', gpus: '2' }),
  ];
  const first = take(objects);
  const list = new ExclusionList();
  const finding = (path: string) => ({
    code: 'some_new_rule',
    severity: 'reject' as const,
    path,
    message: 'No.',
  });
  const lines = list.add(
    [finding('jobs[0].ranks[0]'), finding('capacity_pools[0].node_types[0].in_use[1]'), finding('topology')],
    first,
    NOW,
  );
  expect(lines).toEqual([
    'job a/statefulset/s: some_new_rule at jobs[0].ranks[0]: No.',
    'node n1: some_new_rule at capacity_pools[0].node_types[0].in_use[1]: No.',
    'the snapshot: some_new_rule at topology: No.',
  ]);
  const { snapshot } = take(objects, list.current(NOW + 1));
  expect(snapshot.jobs).toEqual([]);
  expect(
    snapshot.capacityPools[0]?.nodeTypes[0]?.inUse.map((each) => [
      each.externalAcceleratorsInUse,
      each.unavailableAccelerators,
    ]),
  ).toEqual([
    [8, 0],
    [0, 8],
  ]);
  expect(list.current(NOW + 3_600_000)).toEqual({ jobs: new Set(), nodes: new Set() });
});
