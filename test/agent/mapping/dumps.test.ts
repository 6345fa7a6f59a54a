/**
 * Real clusters' objects, which are not part of this repository: RESOURCE_MAP_DUMPS names the
 * folder that they are in.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { memoryOf, NO_MEMORY } from '../../../functions/agent/mapping/memory.ts';
import { readDump } from '../../../functions/agent/mapping/read-objects.ts';
import { type AgentSettings, DEFAULT_SETTINGS } from '../../../functions/agent/mapping/settings.ts';
import { snapshotOf } from '../../../functions/agent/mapping/snapshot.ts';
import { checkSnapshot } from '../../../functions/core/snapshot/rules/index.ts';
import { PurchaseModel, WorkloadPhase } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

const folder = process.env.RESOURCE_MAP_DUMPS;
if (folder === undefined)
  console.log('Skipped: dumps of real clusters. Set RESOURCE_MAP_DUMPS to their folder.');

const NOW = Date.parse('2026-06-01T00:00:00Z');

function objectsOf(...numbers: readonly string[]): unknown[] {
  const files = readdirSync(folder ?? '').filter((file) => file.endsWith('.json'));
  return numbers.map((number) => {
    const file = files.find((each) => each.startsWith(`${number}-`));
    if (file === undefined) throw new Error(`${folder} has no dump ${number}.`);
    return JSON.parse(readFileSync(join(folder ?? '', file), 'utf8'));
  });
}

function mapped(objects: readonly unknown[], settings: AgentSettings = DEFAULT_SETTINGS) {
  const { facts } = readDump(objects, settings);
  const input = { facts: { ...facts, clusterUid: 'dump' }, settings, collectedAtMs: NOW, counter: 1n };
  const result = snapshotOf({ ...input, memory: NO_MEMORY });
  const findings = checkSnapshot(result.snapshot, { nowMs: NOW }).findings;
  expect(findings.filter(({ severity }) => severity === 'reject')).toEqual([]);
  // An agent that starts again, and knows only what it pushed, has the same types.
  const again = snapshotOf({ ...input, memory: memoryOf(result.snapshot) });
  expect(again.snapshot).toEqual(result.snapshot);
  return { ...result, types: typesOf(result) };
}

interface Figures {
  readonly nodes: number;
  readonly per: number;
  readonly allocated: number;
  readonly external: number;
  readonly unavailable: number;
  readonly model: string;
}

function typesOf({ snapshot }: ReturnType<typeof snapshotOf>): Record<string, Figures> {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return Object.fromEntries(
    snapshot.capacityPools.flatMap((pool) =>
      pool.nodeTypes.map((type) => [
        `${pool.id}/${type.id}`,
        {
          nodes: type.totalCount,
          per: type.acceleratorsPerNode,
          allocated: sum(
            type.inUse.flatMap(({ allocations }) => allocations.map((each) => each.acceleratorCount)),
          ),
          external: sum(type.inUse.map((each) => each.externalAcceleratorsInUse)),
          unavailable: sum(type.inUse.map((each) => each.unavailableAccelerators)),
          model: type.acceleratorModel,
        },
      ]),
    ),
  );
}

function figures(nodes: number, per: number, rest: Partial<Figures> = {}): Figures {
  return { nodes, per, allocated: 0, external: 0, unavailable: 0, model: '', ...rest };
}

/** Slices were dumped without the nodes that they are of. */
function nodesOfSlices(objects: readonly unknown[]): unknown[] {
  const names = new Set(
    readDump(objects, DEFAULT_SETTINGS).facts.slices.flatMap(({ nodeName }) => nodeName ?? []),
  );
  return [...names].map((name) => ({ kind: 'Node', metadata: { name } }));
}

describe.skipIf(folder === undefined)('real clusters', () => {
  test('01 and 02, AKS: one node of 33 has 7 usable GPUs of 8, and a job has the others', () => {
    const { types, snapshot } = mapped(objectsOf('01', '02'));
    expect(types).toEqual({
      'agentpool/Standard_D2s_v3': figures(1, 0),
      'nodepool1/standard_nd40rs_v2': figures(33, 8, { allocated: 256, unavailable: 1, model: 'V100-32GB' }),
    });
    expect(snapshot.cluster).toMatchObject({ provider: 'azure', region: 'westus2', displayName: '' });
    expect(snapshot.capacityPools[1]?.nodeTypes[0]).toMatchObject({ zone: '', eligibleForTandemn: true });
    expect(
      snapshot.jobs.map(({ jobId, ranks }) => [
        jobId,
        ranks[0]?.chains.length,
        ranks[0]?.podRequirements.length,
      ]),
    ).toEqual([['default/job/flux-sample', 1, 32]]);
    expect(snapshot.jobs[0]?.status?.phase).toBe(WorkloadPhase.DRAINING);
  });

  test('01 alone: 7 of 8 stay 7 of 8 whichever nodes are healthy', () => {
    expect(mapped(objectsOf('01')).types['nodepool1/standard_nd40rs_v2']).toEqual(
      figures(33, 8, { unavailable: 1, model: 'V100-32GB' }),
    );
  });

  test('03, EKS: eight nodes of eight, whose model no label names', () => {
    const { types, snapshot } = mapped(objectsOf('03'));
    expect(types).toEqual({ 'workers/p3dn.24xlarge~on-demand~us-east-1a': figures(8, 8, { model: 'v100' }) });
    expect(snapshot.cluster).toMatchObject({
      provider: 'aws',
      region: 'us-east-1',
      displayName: 'performance-study-gpu',
    });
  });

  test('04, GKE while drivers are installed: GPUs that are not there yet are unavailable, not absent', () => {
    expect(mapped(objectsOf('04')).types).toEqual({
      'default-pool/n1-standard-32~nvidia-tesla-v100~on-demand~us-central1-a': figures(32, 8, {
        unavailable: 27 * 8,
        model: 'nvidia-tesla-v100',
      }),
    });
  });

  test('05, GKE: the same machine type with four GPUs', () => {
    expect(Object.values(mapped(objectsOf('05')).types)).toEqual([
      figures(4, 4, { model: 'nvidia-tesla-v100' }),
    ]);
  });

  test('06, GKE: 94 of 128 nodes have no GPU yet', () => {
    expect(Object.values(mapped(objectsOf('06')).types)).toEqual([
      figures(128, 1, { unavailable: 94, model: 'nvidia-tesla-v100' }),
    ]);
  });

  test('07 and 08, a PyTorchJob that succeeded holds nothing', () => {
    const { types, snapshot } = mapped(objectsOf('07', '08'));
    expect(Object.values(types)).toEqual([figures(1, 4, { model: 'nvidia-tesla-v100' })]);
    expect(snapshot.jobs.map(({ jobId, status }) => [jobId, status?.phase])).toEqual([
      ['default/pytorchjob/pytorch-mnist', WorkloadPhase.SUCCEEDED],
    ]);
  });

  test('09, EKS on spot: one pool of several machine types', () => {
    const { types, snapshot } = mapped(objectsOf('09'));
    expect(Object.fromEntries(Object.entries(types).map(([id, { nodes }]) => [id, nodes]))).toEqual({
      'spot-instance-testing-cluster-worker-group/c6i.8xlarge~spot~us-east-2b': 1,
      'spot-instance-testing-cluster-worker-group/c6in.8xlarge~spot~us-east-2a': 2,
      'spot-instance-testing-cluster-worker-group/r5dn.8xlarge~spot~us-east-2b': 1,
      'sticky-node/m5.8xlarge~on-demand~us-east-2a': 1,
    });
    expect(
      snapshot.capacityPools[0]?.nodeTypes.every(({ purchaseModel }) => purchaseModel === PurchaseModel.SPOT),
    ).toBe(true);
  });

  test('10, machines without labels: nothing is guessed', () => {
    expect(mapped(objectsOf('10')).types).toEqual({ 'default/node': figures(4, 0) });
  });

  test('11 to 14, MIG: a cut GPU is one GPU, withheld, whatever its instances are called', () => {
    const a100 = { model: 'NVIDIA-A100-SXM4-40GB' };
    const id = 'default/node~NVIDIA-A100-SXM4-40GB~x1~shared';
    for (const number of ['11', '12', '13']) {
      const { types, snapshot } = mapped(objectsOf(number));
      expect(types).toEqual({ [id]: figures(1, 1, { ...a100, unavailable: 1 }) });
      expect(snapshot.capacityPools[0]?.nodeTypes[0]?.eligibleForTandemn).toBe(false);
    }
    // The pod has its instance by way of run:ai, and requests nothing.
    expect(mapped(objectsOf('11', '14')).types).toEqual({ [id]: figures(1, 1, { ...a100, unavailable: 1 }) });
  });

  test('15, MIG strategy mixed on GPUs that cannot be cut: two whole T4', () => {
    expect(mapped(objectsOf('15')).types).toEqual({
      'default/node~Tesla-T4~x2': figures(1, 2, { model: 'Tesla-T4' }),
    });
  });

  test('16 and 17, fractions of run:ai: the reservation pod holds the GPU, for nobody that is known', () => {
    const node = {
      kind: 'Node',
      metadata: {
        name: 'i-6660924feb927f137',
        labels: { 'node.kubernetes.io/instance-type': 'g4dn.xlarge' },
      },
      status: { capacity: { 'nvidia.com/gpu': '1' }, allocatable: { 'nvidia.com/gpu': '1' } },
    };
    const { types, snapshot } = mapped([...objectsOf('16', '17'), node]);
    expect(types).toEqual({ 'default/g4dn.xlarge': figures(1, 1, { external: 1, model: 't4' }) });
    expect(snapshot.jobs).toEqual([]);
  });

  test('18 and 26, vGPU: a share of another host, withheld', () => {
    expect(mapped(objectsOf('18')).types).toEqual({
      'default/node~NVIDIA-A16-4Q~x1~shared': figures(1, 1, { unavailable: 1, model: 'NVIDIA-A16-4Q' }),
    });
    expect(mapped(objectsOf('26')).types).toEqual({
      'node-pool-40c/node~GRID-A100-40C~x1~shared': figures(1, 1, { unavailable: 1, model: 'GRID-A100-40C' }),
    });
  });

  test('19, DRA: sixteen H100 of two nodes; channels and daemons are none', () => {
    const objects = objectsOf('19');
    expect(mapped([...objects, ...nodesOfSlices(objects)]).types).toEqual({
      'default/node~NVIDIA-H100-80GB-HBM3~x8': figures(2, 8, { model: 'NVIDIA-H100-80GB-HBM3' }),
    });
  });

  test('20, claims as applied: what is not allocated holds nothing', () => {
    const slices = objectsOf('19');
    const { types, snapshot } = mapped([...slices, ...nodesOfSlices(slices), ...objectsOf('20')]);
    expect(Object.values(types)).toEqual([figures(2, 8, { model: 'NVIDIA-H100-80GB-HBM3' })]);
    expect(snapshot.jobs).toEqual([]);
  });

  test('21, vGPU by DRA: shares that look like devices are withheld', () => {
    const objects = objectsOf('21');
    const { types } = mapped([...objects, ...nodesOfSlices(objects)]);
    expect(Object.keys(types).every((id) => id.endsWith('~shared'))).toBe(true);
    expect(types['default/node~GRID-A100-40C~x1~shared']).toMatchObject({ nodes: 1, per: 1, unavailable: 1 });
    expect(types['default/node~GRID-A100-4C~x1~shared']).toMatchObject({ per: 1 });
  });

  test('22 and 24, DRA on OpenShift and for Gaudi', () => {
    for (const [number, model] of [
      ['22', 'Tesla-T4'],
      ['24', 'Gaudi2'],
    ] as const) {
      const objects = objectsOf(number);
      expect(mapped([...objects, ...nodesOfSlices(objects)]).types).toEqual({
        [`default/node~${model}~x2`]: figures(1, 2, { model }),
      });
    }
  });

  test('23 and 25, slices without a node or of a network: no accelerators of any node', () => {
    for (const number of ['23', '25']) expect(mapped(objectsOf(number)).types).toEqual({});
  });

  test('27, Alibaba: shares of a thousandth are not added to the devices', () => {
    const { types } = mapped(objectsOf('27'));
    expect(types['default/node~V100M32~x8']).toEqual(figures(4, 8, { model: 'V100M32' }));
    expect(types['default/node~P100~x1']).toEqual(figures(3, 1, { model: 'P100' }));
    expect(Object.values(types).reduce((sum, { nodes }) => sum + nodes, 0)).toBe(45);
    expect(Object.values(types).reduce((sum, { nodes, per }) => sum + nodes * per, 0)).toBe(
      8 * 2 + 16 * 8 + 12 * 4 + 9 * 1,
    );
  });

  test("28, GKE: the autoscaler's bounds of a pool, by the hash in the names of its nodes", () => {
    const { types, snapshot } = mapped(objectsOf('28'));
    expect(types).toEqual({
      'demo2-gpu-worker/a3-megagpu-8g~us-central1-c': figures(2, 8, { model: 'nvidia-h100-mega-80gb' }),
    });
    expect(snapshot.capacityPools[0]).toMatchObject({ minNodes: 2, maxNodes: 2, autoscalingEnabled: false });
    expect(snapshot.capacityPools[0]?.nodeTypes[0]?.pendingNodeCount).toBe(0);
  });

  test('29, EKS: a reservation that no label shows is for a setting to say', () => {
    const objects = objectsOf('29');
    expect(Object.keys(mapped(objects).types)).toEqual(['default/p5.48xlarge~us-east-1e']);
    const settings = {
      ...DEFAULT_SETTINGS,
      poolLabel: 'nodeGroup',
      pools: { 'gpu-worker': { purchaseModel: 'RESERVED' as const } },
    };
    expect(mapped(objects, settings).types).toEqual({
      'gpu-worker/p5.48xlarge~reserved~us-east-1e': figures(2, 8, { model: 'NVIDIA-H100-80GB-HBM3' }),
    });
  });

  test('30 and 31, machines on their way and workloads without pods: nothing is there yet', () => {
    expect(mapped(objectsOf('30', '31')).types).toEqual({});
  });

  test('32, time slicing: twelve shares are not twelve GPUs, where labels or settings say so', () => {
    const settings: AgentSettings = {
      ...DEFAULT_SETTINGS,
      poolLabel: 'kubernetes.io/arch',
      instanceTypes: { 'n1-standard-8': { accelerators: 2, model: 'Tesla-T4' } },
      pools: { amd64: { acceleratorsPerNode: 1 } },
    };
    expect(mapped(objectsOf('32'), settings).types).toEqual({
      'amd64/node~nvidia.com/gpu~x12~shared': figures(1, 1, { unavailable: 1 }),
      'default/n1-standard-8~shared': figures(1, 2, { unavailable: 2, model: 'Tesla-T4' }),
      'default/node~nvidia.com/gpu~x2~shared': figures(1, 2, { unavailable: 2 }),
    });
  });

  test('33, OKE: the NVLink domain of a GB200 is its fabric', () => {
    const { types, snapshot } = mapped(objectsOf('33'));
    expect(types).toEqual({ 'default/node~pvtkj3zctga': figures(1, 0) });
    expect(snapshot.topology?.fabrics).toMatchObject([
      { id: 'pvtkj3zctga', transport: 'NVLink', rdmaReady: true },
    ]);
  });

  test('34, Ray: what Ray was told is no request, and holds nothing', () => {
    const node = {
      kind: 'Node',
      metadata: { name: 'gke-cluster-1-default-pool-a5503908-dpst' },
      status: { capacity: { 'nvidia.com/gpu': '1' }, allocatable: { 'nvidia.com/gpu': '1' } },
    };
    const { types, snapshot } = mapped([...objectsOf('34'), node]);
    expect(Object.values(types)).toEqual([figures(1, 1)]);
    expect(snapshot.jobs).toEqual([]);
  });

  test('35, Neuron, Gaudi and AMD: one chip under three names is one', () => {
    expect(mapped(objectsOf('35')).types).toEqual({
      'aiml/inf2.xlarge~on-demand~us-west-2b': figures(1, 1, { model: 'inferentia2' }),
      'default/node~amd.com/gpu~x8': figures(1, 8),
      'default/node~habana.ai/gaudi~x8': figures(1, 8),
    });
  });
});
