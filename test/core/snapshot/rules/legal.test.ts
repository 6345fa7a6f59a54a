/** What looks wrong and is right: the snapshots that validators wrongly refuse. */
import { describe, expect, it } from 'vitest';
import { checkSnapshot } from '../../../../functions/core/snapshot/rules/index.ts';
import { PurchaseModel, WorkloadPhase } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  allocation,
  chain,
  job,
  NOW_MS,
  nodeType,
  pool,
  rank,
  requirement,
  reservation,
  type SnapshotInit,
  snapshotOf,
} from '../builders.ts';

function findingsOf(init: SnapshotInit) {
  return checkSnapshot(snapshotOf(init), { nowMs: NOW_MS }).findings;
}

it('an empty cluster is legal', () => {
  expect(findingsOf({})).toEqual([]);
});

it('several node types of one instance type are legal', () => {
  const variant = { instanceType: 'p5.48xlarge', acceleratorModel: 'H100' };
  const nodeTypes = [
    nodeType({ ...variant, id: 'a', zone: 'eu-west-1a' }),
    nodeType({ ...variant, id: 'b', zone: 'eu-west-1b' }),
    nodeType({ ...variant, id: 'c', purchaseModel: PurchaseModel.SPOT }),
  ];
  expect(findingsOf({ capacityPools: [pool({ nodeTypes })] })).toEqual([]);
});

it('one job id in two clusters is legal', () => {
  for (const clusterId of ['c1', 'c2']) {
    const snapshot = snapshotOf({ cluster: { clusterId }, jobs: [job()] });
    expect(checkSnapshot(snapshot, { clusterId, nowMs: NOW_MS }).findings).toEqual([]);
  }
});

it('a link without its reverse is legal', () => {
  const topology = { fabrics: [{ id: 'a' }, { id: 'b' }], links: [{ fromFabricId: 'a', toFabricId: 'b' }] };
  expect(findingsOf({ topology })).toEqual([]);
});

it('a node type that is scaled to zero is legal, and so are requirements and reservations on it', () => {
  const scaledToZero = nodeType({ totalCount: 0, reservedForAutoscaling: [reservation()] });
  expect(
    findingsOf({
      capacityPools: [pool({ minNodes: 0, nodeTypes: [scaledToZero] })],
      jobs: [job([rank({ chains: [chain()] })])],
    }),
  ).toEqual([]);
});

it('a node type without accelerators is legal', () => {
  expect(
    findingsOf({ capacityPools: [pool({ nodeTypes: [nodeType({ acceleratorsPerNode: 0 })] })] }),
  ).toEqual([]);
});

it('a pool without node types is legal', () => {
  expect(findingsOf({ capacityPools: [pool({ minNodes: 0, maxNodes: 0, maxAccelerators: 0 })] })).toEqual([]);
});

it('running pods under parents of unknown phase are legal', () => {
  expect(
    findingsOf({
      capacityPools: [pool({ nodeTypes: [nodeType({ inUse: [{ allocations: [allocation()] }] })] })],
      jobs: [
        job(
          [
            rank({
              status: {},
              chains: [
                chain({ status: {}, pods: [{ podIndex: 0, status: { phase: WorkloadPhase.RUNNING } }] }),
              ],
            }),
          ],
          { status: { phase: WorkloadPhase.UNKNOWN } },
        ),
      ],
    }),
  ).toEqual([]);
});

it('a drained, ineligible node type with running work is legal', () => {
  const drained = nodeType({ eligibleForTandemn: false, inUse: [{ allocations: [allocation()] }] });
  const running = { podIndex: 0, status: { phase: WorkloadPhase.RUNNING } };
  expect(
    findingsOf({
      capacityPools: [pool({ nodeTypes: [drained] })],
      jobs: [job([rank({ chains: [chain({ pods: [running] })] })])],
    }),
  ).toEqual([]);
});

it('parallelism degrees whose product is not the number of accelerators are legal', () => {
  const runtime = { parallelism: { tensor: 8, pipeline: 2, data: 16, expert: 16 } };
  expect(
    findingsOf({
      capacityPools: [pool({ nodeTypes: [nodeType()] })],
      jobs: [job([rank({ runtime })])],
    }),
  ).toEqual([]);
});

it('an absent parallelism degree is not a degree of 0', () => {
  expect(
    findingsOf({
      capacityPools: [pool({ nodeTypes: [nodeType()] })],
      jobs: [job([rank({ runtime: { parallelism: {} } })])],
    }),
  ).toEqual([]);
});

describe('one chain', () => {
  const twoPods = rank({
    podRequirements: [requirement(), requirement()],
    chains: [chain({ pods: [{ podIndex: 0 }, { podIndex: 1 }] })],
  });
  const allocations = [allocation(), allocation({ podIndex: 1 })];

  it('may stand in one entry', () => {
    const inUse = [{ allocations }];
    expect(
      findingsOf({ capacityPools: [pool({ nodeTypes: [nodeType({ inUse })] })], jobs: [job([twoPods])] }),
    ).toEqual([]);
  });

  it('may stand in several entries', () => {
    const inUse = allocations.map((a) => ({ allocations: [a] }));
    expect(
      findingsOf({ capacityPools: [pool({ nodeTypes: [nodeType({ inUse })] })], jobs: [job([twoPods])] }),
    ).toEqual([]);
  });

  it('may have some pods allocated and some not', () => {
    const inUse = [{ allocations: [allocation({ podIndex: 1 })] }];
    expect(
      findingsOf({ capacityPools: [pool({ nodeTypes: [nodeType({ inUse })] })], jobs: [job([twoPods])] }),
    ).toEqual([]);
  });
});

it('a job without ranks and a rank without chains are legal', () => {
  const nodeTypes = [nodeType()];
  expect(
    findingsOf({ capacityPools: [pool({ nodeTypes })], jobs: [job(), job([rank()], { jobId: 'k' })] }),
  ).toEqual([]);
});

it('absent bounds are unspecified, neither 0 nor unlimited', () => {
  const nodeTypes = [nodeType({ totalCount: 100_000, pendingNodeCount: 1_000_000 })];
  expect(findingsOf({ capacityPools: [pool({ autoscalingEnabled: true, nodeTypes })] })).toEqual([]);
  expect(findingsOf({ capacityPools: [pool({ nodeTypes })], jobs: [job([rank({ minChains: 3 })])] })).toEqual(
    [],
  );
});

it.each(['0', '0.0', '00.10', '12.50', '98.320000', '9'.repeat(400)])(
  'a price of %s is legal',
  (decimalAmount) => {
    const price = { currencyCode: 'EUR', decimalAmount };
    const nodeTypes = [nodeType({ pricePerNodeHour: price })];
    expect(findingsOf({ capacityPools: [pool({ nodeTypes })] })).toEqual([]);
  },
);

it.each(['', '-1', '+1', '1e3', ' 1', '1 ', '1\n', '.5', '5.', '1.2.3', '1,5', '0x1', '١', 'NaN', '1_000'])(
  'a price of %j is not',
  (decimalAmount) => {
    const price = { currencyCode: 'EUR', decimalAmount };
    const nodeTypes = [nodeType({ pricePerNodeHour: price })];
    expect(findingsOf({ capacityPools: [pool({ nodeTypes })] }).map((f) => f.code)).toEqual([
      'invalid_price',
    ]);
  },
);

it.each(['', 'usd', 'US', 'USDT', 'U D', 'ÜSD', 'USD\n', '$'])('a currency of %j is not', (currencyCode) => {
  const price = { currencyCode, decimalAmount: '1' };
  const nodeTypes = [nodeType({ pricePerNodeHour: price })];
  expect(findingsOf({ capacityPools: [pool({ nodeTypes })] }).map((f) => f.code)).toEqual(['invalid_price']);
});

it.each([
  [{ seconds: 315_576_000_000n }, true],
  [{ seconds: 1n, nanos: 999_999_999 }, true],
  [{ seconds: 315_576_000_001n }, false],
  [{ seconds: -1n }, false],
  [{ nanos: -1 }, false],
  [{ seconds: 1n, nanos: -1 }, false],
  [{ seconds: -1n, nanos: 1 }, false],
  [{ nanos: 1_000_000_000 }, false],
])('a run duration of %o is legal: %s', (maxRunDuration, legal) => {
  const nodeTypes = [nodeType({ purchaseModel: PurchaseModel.FLEX_START, maxRunDuration })];
  expect(findingsOf({ capacityPools: [pool({ nodeTypes })] }).map((f) => f.code)).toEqual(
    legal ? [] : ['invalid_duration'],
  );
});

it('the core API group is the empty one, and holds many kinds', () => {
  const apiResources = ['Pod', 'Node'].map((kind) => ({ group: '', kind, servedVersions: ['v1'] }));
  expect(findingsOf({ apiResources })).toEqual([]);
});

it('every phase is a legitimate observation', () => {
  const phases = [0, 1, 2, 3, 4, 5] as const;
  const chains = phases.map((phase) =>
    chain({ chainId: `c${phase}`, status: { phase }, pods: [{ podIndex: 0, status: { phase } }] }),
  );
  const inUse = phases.map((phase) => ({ allocations: [allocation({ chainId: `c${phase}` })] }));
  expect(
    findingsOf({
      capacityPools: [pool({ nodeTypes: [nodeType({ totalCount: 6, inUse })] })],
      jobs: [job([rank({ chains })])],
    }),
  ).toEqual([]);
});
