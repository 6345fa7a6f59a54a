import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WorkloadPhase } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { freeOf, PLATFORMS, Scenario } from './scenario.ts';

let played: Scenario;
beforeAll(async () => {
  const { CONTROL_PLANE_BIN: bin, CONTROL_PLANE_FOLDER: folder } = process.env;
  if (bin === undefined || folder === undefined) throw new Error('Run it by npm run test:kubernetes.');
  played = await Scenario.start(bin, folder);
});
afterAll(async () => played?.stop());

const GPU = 'nvidia.com/gpu';
const node = (name: string) => `/api/v1/nodes/${name}`;
const pods = '/api/v1/namespaces/default/pods';
const nameOf = (i: number) => `n${String(i).padStart(3, '0')}`;

function nodeObject(i: number): object {
  const platform = PLATFORMS[i % PLATFORMS.length] ?? '';
  // One in eight has no accelerators; one in five of the others has lost one.
  const per = i % 8 === 7 ? 0 : i % 3 === 0 ? 4 : 8;
  const healthy = per > 0 && i % 5 === 4 ? per - 1 : per;
  const devices = (count: number) => (per === 0 ? {} : { [GPU]: String(count) });
  return {
    metadata: {
      name: nameOf(i),
      labels: {
        [platform]: `pool-${i % PLATFORMS.length}`,
        'node.kubernetes.io/instance-type': per === 0 ? 'cpu' : `gpu-${per}`,
        'topology.kubernetes.io/zone': `z${i % 2}`,
        'kubernetes.io/hostname': nameOf(i),
      },
    },
    spec: { ...(i % 10 === 9 ? { taints: [{ key: GPU, effect: 'NoSchedule' }] } : {}) },
    status: {
      capacity: { cpu: '64', memory: '512Gi', pods: '110', ...devices(per) },
      allocatable: { cpu: '64', memory: '512Gi', pods: '110', ...devices(healthy) },
    },
  };
}

function podObject(name: string, gpus: number, more: { labels?: object; spec?: object } = {}): object {
  return {
    metadata: { name, labels: more.labels ?? {} },
    spec: {
      containers: [
        {
          name: 'work',
          image: 'registry.example/work:1',
          env: [{ name: 'PASSWORD', value: 'not-for-the-map' }],
          resources: gpus === 0 ? { requests: { cpu: '10m' } } : { limits: { [GPU]: String(gpus) } },
        },
      ],
      tolerations: [{ key: GPU, operator: 'Exists' }],
      ...more.spec,
    },
  };
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < items.length; i += 20) await Promise.all(items.slice(i, i + 20).map(work));
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

test('200 nodes of several platforms are in the map, before the first pod', async () => {
  await inTurns(range(200), async (i) => played.plane.must('POST', '/api/v1/nodes', nodeObject(i)));
  await played.projectTokens();
  await played.startAgent();
  const snapshot = await played.agree(60);
  expect(snapshot.capacityPools.map(({ id }) => id)).toEqual(['pool-0', 'pool-1', 'pool-2', 'pool-3']);
  expect(
    snapshot.capacityPools
      .flatMap(({ nodeTypes }) => nodeTypes)
      .reduce((sum, { totalCount }) => sum + totalCount, 0),
  ).toBe(200);
  expect(snapshot.apiResources.find(({ kind }) => kind === 'ResourceClaim')?.servedVersions).toContain('v1');
  expect(snapshot.installedComponents).toContainEqual(
    expect.objectContaining({ name: 'kube-apiserver', version: 'v1.37.2' }),
  );
  expect(await played.status(0, '/healthz')).toBe(200);
  expect(await played.status(0, '/readyz')).toBe(200);
});

test('pods that the scheduler places hold what they ask for, init containers and sidecars too', async () => {
  await inTurns(range(150), async (i) =>
    played.plane.must('POST', pods, podObject(`p${i}`, [1, 2, 4, 8][i % 4] ?? 1)),
  );
  await played.plane.must(
    'POST',
    pods,
    podObject('init', 1, {
      spec: { initContainers: [{ name: 'i', image: 'x', resources: { limits: { [GPU]: '3' } } }] },
    }),
  );
  await played.plane.must(
    'POST',
    pods,
    podObject('sidecar', 1, {
      spec: {
        initContainers: [
          { name: 's', image: 'x', restartPolicy: 'Always', resources: { limits: { [GPU]: '1' } } },
        ],
      },
    }),
  );
  await played.agree();
});

test('a job that its deployer labelled is managed, the rest is external', async () => {
  const labels = (chain: number, index: number) => ({
    'tandemn.com/job-id': 'llama',
    'tandemn.com/rank-id': 'decode',
    'tandemn.com/chain-id': `c${chain}`,
    'tandemn.com/pod-index': String(index),
  });
  const selector = {
    'node.kubernetes.io/instance-type': 'gpu-8',
    'eks.amazonaws.com/nodegroup': 'pool-0',
    'topology.kubernetes.io/zone': 'z0',
  };
  await inTurns(range(4), async (i) =>
    played.plane.must(
      'POST',
      pods,
      podObject(`llama-${i}`, 2, {
        labels: labels(Math.floor(i / 2), i % 2),
        spec: { nodeSelector: selector },
      }),
    ),
  );
  await played.agree();
  let snapshot = await played.agree();
  await expect
    .poll(
      async () => {
        snapshot = await played.agree();
        return snapshot.jobs.map(({ jobId, status }) => [jobId, status?.phase]);
      },
      { timeout: 30_000 },
    )
    .toEqual([['llama', WorkloadPhase.RUNNING]]);
  const [rank] = snapshot.jobs[0]?.ranks ?? [];
  expect(rank?.rankId).toBe('decode');
  expect(rank?.podRequirements.map(({ poolId, acceleratorCount }) => [poolId, acceleratorCount])).toEqual([
    ['pool-0', 2],
    ['pool-0', 2],
  ]);
  expect(rank?.chains.map(({ chainId }) => chainId)).toEqual(['c0', 'c1']);
  expect(
    JSON.stringify(snapshot, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toContain('not-for-the-map');
});

test('cordons, taints and nodes that are not ready', async () => {
  await inTurns(range(12), async (i) =>
    played.plane.patch(node(nameOf(i)), { spec: { unschedulable: true } }),
  );
  await inTurns(range(6), async (i) =>
    played.plane.patch(node(nameOf(20 + i)), {
      spec: { taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }] },
    }),
  );
  await inTurns(range(6), async (i) =>
    played.plane.patch(`${node(nameOf(30 + i))}/status`, {
      status: {
        conditions: [
          { type: 'Ready', status: i % 2 === 0 ? 'False' : 'Unknown', reason: 'Test', message: 'x' },
        ],
      },
    }),
  );
  await played.agree();
  await inTurns(range(12), async (i) =>
    played.plane.patch(node(nameOf(i)), { spec: { unschedulable: null } }),
  );
  await played.agree();
});

test('devices that are lost, all of a node too', async () => {
  await inTurns(range(5), async (i) =>
    played.plane.patch(`${node(nameOf(40 + i))}/status`, { status: { allocatable: { [GPU]: '2' } } }),
  );
  await inTurns(range(3), async (i) =>
    played.plane.patch(`${node(nameOf(48 + i))}/status`, {
      status: { capacity: { [GPU]: null }, allocatable: { [GPU]: null } },
    }),
  );
  const snapshot = await played.agree();
  // They are unavailable and not absent: their types stay what they were.
  expect(
    snapshot.capacityPools
      .flatMap(({ nodeTypes }) => nodeTypes.map((type) => type.acceleratorsPerNode))
      .sort(),
  ).toEqual(expect.arrayContaining([0, 4, 8]));
  expect(
    new Set(
      snapshot.capacityPools.flatMap(({ nodeTypes }) => nodeTypes.map((type) => type.acceleratorsPerNode)),
    ),
  ).toEqual(new Set([0, 4, 8]));
});

test('pods and nodes that are deleted', async () => {
  await inTurns(range(60), async (i) =>
    played.plane.must('DELETE', `${pods}/p${i}`, { gracePeriodSeconds: 1 }),
  );
  await inTurns(range(5), async (i) => played.plane.must('DELETE', node(nameOf(195 + i))));
  await played.agree();
});

test('preemption: the victims go, and the map follows', async () => {
  await played.plane.must('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
    metadata: { name: 'high' },
    value: 1_000,
  });
  const selector = { 'kubernetes.io/hostname': nameOf(65) };
  await played.plane.must('POST', pods, podObject('victim', 4, { spec: { nodeSelector: selector } }));
  await played.plane.must(
    'POST',
    pods,
    podObject('preemptor', 8, { spec: { nodeSelector: selector, priorityClassName: 'high' } }),
  );
  await expect
    .poll(
      async () =>
        ((await played.plane.must('GET', `${pods}/preemptor`)) as { spec: { nodeName?: string } }).spec
          .nodeName,
      { timeout: 60_000 },
    )
    .toBe(nameOf(65));
  await played.agree();
});

test('devices of DRA, by claims', async () => {
  await inTurns(range(4), async (i) => {
    const name = `dra${i}`;
    await played.plane.must('POST', '/api/v1/nodes', {
      metadata: { name, labels: { 'karpenter.sh/nodepool': 'dra', 'kubernetes.io/hostname': name } },
      status: {
        capacity: { cpu: '64', memory: '512Gi', pods: '110' },
        allocatable: { cpu: '64', memory: '512Gi', pods: '110' },
      },
    });
    await played.plane.must('POST', '/apis/resource.k8s.io/v1/resourceslices', {
      metadata: { name: `${name}-gpu` },
      spec: {
        driver: 'gpu.nvidia.com',
        nodeName: name,
        pool: { name, generation: 1, resourceSliceCount: 1 },
        devices: range(4).map((device) => ({
          name: `${name}-gpu-${device}`,
          attributes: { type: { string: 'gpu' }, productName: { string: 'NVIDIA H100 80GB HBM3' } },
          ...(i === 3 && device === 0 ? { taints: [{ key: 'broken', effect: 'NoSchedule' }] } : {}),
        })),
      },
    });
  });
  await played.plane.must('POST', '/apis/resource.k8s.io/v1/deviceclasses', {
    metadata: { name: 'gpu.nvidia.com' },
    spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.nvidia.com"' } }] },
  });
  await played.agree();
  await inTurns(range(5), async (i) => {
    await played.plane.must('POST', '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims', {
      metadata: { name: `claim${i}` },
      spec: {
        devices: {
          requests: [
            {
              name: 'gpu',
              exactly: {
                deviceClassName: 'gpu.nvidia.com',
                allocationMode: 'ExactCount',
                count: 1 + (i % 2),
              },
            },
          ],
        },
      },
    });
    await played.plane.must(
      'POST',
      pods,
      podObject(`dra-pod-${i}`, 0, {
        spec: {
          nodeSelector: { 'karpenter.sh/nodepool': 'dra' },
          resourceClaims: [{ name: 'gpu', resourceClaimName: `claim${i}` }],
        },
      }),
    );
  });
  await expect
    .poll(
      async () =>
        (await played.state()).claims.filter(({ status }) => status?.allocation !== undefined).length,
      { timeout: 60_000 },
    )
    .toBe(5);
  const snapshot = await played.agree();
  const [type] = snapshot.capacityPools.find(({ id }) => id === 'dra')?.nodeTypes ?? [];
  expect(type).toMatchObject({
    acceleratorsPerNode: 4,
    totalCount: 4,
    acceleratorModel: 'NVIDIA-H100-80GB-HBM3',
  });
  expect(freeOf(snapshot).dra?.reduce((sum, free) => sum + free, 0)).toBe(15 - 7);
});

test('a request of an extended resource that DRA serves counts once, as its claim', async () => {
  const before = freeOf(await played.agree()).dra ?? [];
  await played.plane.patch('/apis/resource.k8s.io/v1/deviceclasses/gpu.nvidia.com', {
    spec: { extendedResourceName: GPU },
  });
  await played.plane.must(
    'POST',
    pods,
    podObject('extended', 1, { spec: { nodeSelector: { 'karpenter.sh/nodepool': 'dra' } } }),
  );
  await expect
    .poll(
      async () =>
        ((await played.plane.must('GET', `${pods}/extended`)) as { spec: { nodeName?: string } }).spec
          .nodeName,
      { timeout: 60_000 },
    )
    .toMatch(/^dra/);
  const claims = (await played.plane.must('GET', '/apis/resource.k8s.io/v1/resourceclaims')) as {
    items: { metadata: { annotations?: Record<string, string> } }[];
  };
  const extended = 'resource.kubernetes.io/extended-resource-claim';
  expect(claims.items.filter(({ metadata }) => metadata.annotations?.[extended] === 'true')).toHaveLength(1);
  const sum = (list: readonly number[]) => list.reduce((total, free) => total + free, 0);
  const after = freeOf(await played.agree()).dra ?? [];
  expect(sum(after)).toBe(sum(before) - 1);
});

test('a flood of pods without accelerators changes nothing, and costs no push', async () => {
  const before = await played.metric(0, 'resource_map_agent_pushes_total{outcome="accepted"}');
  const started = performance.now();
  await inTurns(range(400), async (i) => played.plane.must('POST', pods, podObject(`cpu${i}`, 0)));
  await inTurns(range(400), async (i) =>
    played.plane.must('DELETE', `${pods}/cpu${i}`, { gracePeriodSeconds: 0 }),
  );
  const seconds = (performance.now() - started) / 1_000;
  await played.agree();
  const after = await played.metric(0, 'resource_map_agent_pushes_total{outcome="accepted"}');
  // Heartbeats, every 5 s, and nothing else.
  expect((after ?? 0) - (before ?? 0)).toBeLessThanOrEqual(Math.ceil((seconds + 5) / 5) + 2);
});

/** Watches what the map says while nothing in the cluster changes: it may say only that. */
async function watchMap(during: () => Promise<unknown>): Promise<Set<string>> {
  const seen = new Set<string>();
  let over = false;
  const watching = (async () => {
    while (!over) {
      const snapshot = await played.snapshot().catch(() => undefined);
      if (snapshot !== undefined) seen.add(JSON.stringify(freeOf(snapshot)));
      await sleep(100);
    }
  })();
  await during();
  over = true;
  await watching;
  return seen;
}

test('the API server is killed and comes back: the map says nothing else meanwhile', async () => {
  const truth = JSON.stringify(freeOf(await played.agree()));
  const seen = await watchMap(async () => {
    await played.plane.killApiServer();
    await sleep(3_000);
    expect(await played.status(0, '/readyz')).toBe(503);
    await played.plane.startApiServer();
    await expect.poll(async () => played.status(0, '/readyz'), { timeout: 60_000 }).toBe(200);
    await sleep(1_000);
  });
  expect([...seen]).toEqual([truth]);
  await played.plane.must('POST', pods, podObject('after-restart', 1));
  await played.agree();
});

test('the history of watches is gone (410): everything is listed again', async () => {
  const [agent] = played.agents;
  agent?.signal('SIGSTOP');
  await inTurns(range(40), async (i) => played.plane.must('POST', pods, podObject(`gone${i}`, 1)));
  await inTurns(range(20), async (i) =>
    played.plane.must('DELETE', `${pods}/p${60 + i}`, { gracePeriodSeconds: 0 }),
  );
  await played.plane.killApiServer();
  await played.plane.startApiServer();
  await played.plane.compact();
  agent?.signal('SIGCONT');
  await played.agree(60);
  expect(
    await played.metric(0, 'resource_map_agent_watch_restarts_total{kind="pods",reason="relist"}'),
  ).toBeGreaterThan(0);
});

test('tokens are rotated, and so is the key that signs them', async () => {
  await played.plane.killApiServer();
  played.plane.newSigningKey();
  await played.plane.startApiServer();
  await played.projectTokens();
  await played.plane.must('POST', pods, podObject('after-rotation', 1));
  await played.agree(90);
});

test('a job that the service refuses is left out, with its object in the log, and the rest is pushed', async () => {
  const labels = { 'tandemn.com/job-id': 'odd', 'tandemn.com/chain-id': 'c0' };
  played.relay.spoil = ({ jobs }) => {
    for (const { jobId, ranks } of jobs) if (jobId === 'odd') for (const rank of ranks) rank.rankId = '';
  };
  await played.plane.must('POST', pods, podObject('odd', 1, { labels }));
  await expect
    .poll(async () => played.metric(0, 'resource_map_agent_pushes_total{outcome="refused"}'), {
      timeout: 30_000,
    })
    .toBe(1);
  const snapshot = await played.agree();
  played.relay.spoil = undefined;
  expect(snapshot.jobs.map(({ jobId }) => jobId)).toEqual(['llama']);
  expect(readFileSync(join(process.env.CONTROL_PLANE_FOLDER ?? '', 'agent-0.log'), 'utf8')).toMatch(
    /refused: job odd: \w+ at jobs\[1\]\.ranks\[0\]/,
  );
});

test('the service is away for a minute: the newest state is pushed once it is back, not the states between', async () => {
  await played.service.program.stop('SIGKILL');
  for (const i of range(12)) {
    await played.plane.must('POST', pods, podObject(`away${i}`, 1));
    await sleep(5_000);
  }
  const before = await played.metric(0, 'resource_map_agent_pushes_total{outcome="accepted"}');
  played.service.program.start();
  await played.service.ready();
  await played.agree(60);
  const after = await played.metric(0, 'resource_map_agent_pushes_total{outcome="accepted"}');
  expect((after ?? 0) - (before ?? 0)).toBeLessThanOrEqual(4);
});

test('of two agents one pushes; the other takes over when that one hangs, which then pushes nothing old', async () => {
  await played.startAgent();
  const [first] = played.agents;
  await expect.poll(async () => played.status(1, '/readyz').catch(() => 0), { timeout: 30_000 }).toBe(200);
  expect(await played.metric(1, 'resource_map_agent_pushes_total{outcome="accepted"}')).toBeUndefined();
  first?.signal('SIGSTOP');
  await played.plane.must('POST', pods, podObject('takeover', 1));
  await played.agree(60);
  expect(await played.metric(1, 'resource_map_agent_leader')).toBe(1);
  const truth = JSON.stringify(freeOf(await played.agree()));
  const seen = await watchMap(async () => {
    first?.signal('SIGCONT');
    await sleep(8_000);
  });
  expect([...seen]).toEqual([truth]);
  expect(await played.metric(0, 'resource_map_agent_leader')).toBe(0);
});

test('an agent that is told to end ends at once, and the other goes on', async () => {
  const [first, second] = played.agents;
  expect(await second?.stop()).toBeLessThan(3_000);
  await played.plane.must('POST', pods, podObject('after-end', 1));
  await played.agree(60);
  expect(await first?.stop()).toBeLessThan(3_000);
});

test('every snapshot that was accepted is a state that the cluster had, and none goes back', () => {
  expect(played.relay.accepted.length).toBeGreaterThan(20);
  expect(played.untruths()).toEqual([]);
  // Were the first one pushed again at the end, it would be seen.
  const [first, last] = [played.relay.accepted[0], played.relay.accepted.at(-1)];
  if (first === undefined || last === undefined) throw new Error('Nothing was pushed.');
  const back = { ...first, atMs: last.atMs };
  expect(played.untruths([...played.relay.accepted, back])).toHaveLength(1);
});

test('a heartbeat that is too slow for the service is refused, with what would do', async () => {
  const agent = await played.startAgent('--heartbeat', '201');
  expect(await agent.ended()).toBe(2);
  expect(readFileSync(join(process.env.CONTROL_PLANE_FOLDER ?? '', 'agent-2.log'), 'utf8')).toContain(
    'A heartbeat of 201 s is too slow: the service takes a cluster out of the map that is silent for 600 s, so --heartbeat may be 200 s at most.',
  );
});

test('a node that the service refuses stays counted and is wholly unavailable, and the rest is pushed', async () => {
  // With allocations of a job that is refused for its node: the job keeps its pods elsewhere.
  const labels = (chain: string) => ({ 'tandemn.com/job-id': 'spread', 'tandemn.com/chain-id': chain });
  for (const name of ['odd', 'even']) {
    await played.plane.must('POST', '/api/v1/nodes', {
      metadata: { name, labels: { 'karpenter.sh/nodepool': 'refused' } },
      status: {
        capacity: { cpu: '64', memory: '512Gi', pods: '110', [GPU]: '8' },
        allocatable: { cpu: '64', memory: '512Gi', pods: '110', [GPU]: '8' },
      },
    });
    const spec = { nodeName: name };
    await played.plane.must('POST', pods, podObject(`on-${name}`, 2, { labels: labels(name), spec }));
  }
  await played.plane.must('POST', pods, podObject('stranger', 1, { spec: { nodeName: 'odd' } }));
  // Of the two only this one is in external use, which is how the relay knows it.
  played.relay.spoil = ({ capacityPools }) => {
    for (const type of capacityPools.find(({ id }) => id === 'refused')?.nodeTypes ?? [])
      for (const each of type.inUse)
        if (each.externalAcceleratorsInUse === 1) each.externalAcceleratorsInUse = 99;
  };
  await played.projectTokens();
  const agent = await played.startAgent();
  const index = played.agents.indexOf(agent);
  const nodes = async () => {
    const pool = (await played.snapshot())?.capacityPools.find(({ id }) => id === 'refused');
    return pool?.nodeTypes.map(({ totalCount, inUse }) => ({
      totalCount,
      inUse: inUse
        .map((each) => [
          each.allocations.map(
            ({ jobId, chainId, acceleratorCount }) => `${jobId}/${chainId}:${acceleratorCount}`,
          ),
          each.externalAcceleratorsInUse,
          each.unavailableAccelerators,
        ])
        .sort((a, b) => Number(a[2]) - Number(b[2])),
    }));
  };
  await expect.poll(nodes, { timeout: 60_000 }).toEqual([
    {
      totalCount: 2,
      inUse: [
        [['spread/even:2'], 0, 0],
        [[], 0, 8],
      ],
    },
  ]);
  played.relay.spoil = undefined;
  expect(await played.metric(index, 'resource_map_agent_pushes_total{outcome="refused"}')).toBe(1);
  expect(readFileSync(join(process.env.CONTROL_PLANE_FOLDER ?? '', `agent-${index}.log`), 'utf8')).toMatch(
    /refused: node odd: node_overcommitted at capacity_pools\[\d\]\.node_types\[0\]\.in_use\[\d\]/,
  );
  // What is pushed next is accepted too, and still says so of the node.
  await played.plane.must('POST', pods, podObject('after-refusal', 1, { spec: { nodeName: 'even' } }));
  await expect.poll(async () => (await nodes())?.[0]?.inUse[0]?.[1], { timeout: 30_000 }).toBe(1);
  expect((await nodes())?.[0]?.inUse[1]).toEqual([[], 0, 8]);
});
