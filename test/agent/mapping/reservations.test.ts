import { expect, test } from 'vitest';
import { NO_MEMORY } from '../../../functions/agent/mapping/memory.ts';
import { readDump } from '../../../functions/agent/mapping/read-objects.ts';
import { readSettings } from '../../../functions/agent/mapping/settings.ts';
import { snapshotOf } from '../../../functions/agent/mapping/snapshot.ts';
import { checkSnapshot } from '../../../functions/core/snapshot/rules/index.ts';

const GPU = 'nvidia.com/gpu';

/** Two node types, with a chain of one job on each: two ranks. */
const OBJECTS = ['h100', 'a100'].flatMap((pool) => [
  {
    kind: 'Node',
    metadata: { name: pool, labels: { 'karpenter.sh/nodepool': pool } },
    status: {
      capacity: { [GPU]: '8' },
      allocatable: { [GPU]: '8' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  },
  {
    kind: 'Pod',
    metadata: {
      name: `p-${pool}`,
      namespace: 'a',
      labels: { 'tandemn.com/job-id': 'llama', 'tandemn.com/rank-id': pool, 'tandemn.com/chain-id': pool },
    },
    spec: { nodeName: pool, containers: [{ name: 'c', resources: { requests: { [GPU]: '4' } } }] },
    status: { phase: 'Running' },
  },
]);

function mapped(reservations: unknown) {
  const read = readSettings({ cluster: { id: 'c' }, reservations });
  if ('faults' in read) throw new Error(read.faults.join());
  const { facts } = readDump(OBJECTS, read.settings);
  const { snapshot } = snapshotOf({
    facts,
    settings: read.settings,
    memory: NO_MEMORY,
    collectedAtMs: Date.now(),
    counter: 1n,
  });
  const rejected = checkSnapshot(snapshot, { nowMs: Date.now() }).findings.filter(
    ({ severity }) => severity === 'reject',
  );
  expect(rejected).toEqual([]);
  return Object.fromEntries(
    snapshot.capacityPools.map((pool) => [
      pool.id,
      pool.nodeTypes.flatMap(({ reservedForAutoscaling }) =>
        reservedForAutoscaling.map(({ jobId, rankId, additionalChains }) => [
          jobId,
          rankId,
          additionalChains,
        ]),
      ),
    ]),
  );
}

test('nothing is reserved without a setting', () => {
  expect(mapped([])).toEqual({ a100: [], h100: [] });
});

test('room is reserved on the node types of a rank, or of every rank of a job', () => {
  expect(mapped([{ job: 'llama', rank: 'h100', chains: 2 }])).toEqual({
    a100: [],
    h100: [['llama', 'h100', 2]],
  });
  expect(mapped([{ job: 'llama', chains: 3 }])).toEqual({
    a100: [['llama', 'a100', 3]],
    h100: [['llama', 'h100', 3]],
  });
});

test('the first setting of a rank counts, and one of work that is not there reserves nothing', () => {
  expect(
    mapped([
      { job: 'llama', rank: 'a100', chains: 1 },
      { job: 'llama', chains: 3 },
      { job: 'gone', chains: 3 },
      { job: 'llama', rank: 'gone', chains: 3 },
    ]),
  ).toEqual({ a100: [['llama', 'a100', 1]], h100: [['llama', 'h100', 3]] });
});

test('a reservation of no chains is a fault of the settings', () => {
  expect(readSettings({ reservations: [{ job: 'llama', chains: 0 }] })).toEqual({
    faults: ['reservations.0.chains: Too small: expected number to be >=1'],
  });
});
