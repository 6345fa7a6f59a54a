/** What follows from one finding is not reported as another. */
import { expect, it } from 'vitest';
import { checkSnapshot } from '../../../../functions/core/snapshot/rules/index.ts';
import { PurchaseModel, WorkloadPhase } from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  allocation,
  chain,
  job,
  NOW_MS,
  nodeType,
  pool,
  type RankInit,
  rank,
  requirement,
  reservation,
  type SnapshotInit,
  snapshotOf,
} from '../builders.ts';

function codesOf(init: SnapshotInit): string[] {
  return checkSnapshot(snapshotOf(init), { nowMs: NOW_MS }).findings.map((f) => f.code);
}

/** A chain that runs, and one more that is reserved, with the rank as given. */
function running(ofRank: RankInit, taken = 4): SnapshotInit {
  const inUse = [{ allocations: [allocation({ acceleratorCount: taken })] }];
  const pods = [{ podIndex: 0, status: { phase: WorkloadPhase.RUNNING } }];
  return {
    capacityPools: [pool({ nodeTypes: [nodeType({ inUse, reservedForAutoscaling: [reservation()] })] })],
    jobs: [job([rank({ chains: [chain({ pods })], ...ofRank })])],
  };
}

it('an allocation and a reservation are not off a target that does not exist', () => {
  expect(codesOf(running({ podRequirements: [requirement({ poolId: 'q' })] }))).toEqual([
    'unknown_requirement_target',
  ]);
  expect(codesOf(running({ podRequirements: [requirement({ nodeTypeId: 'u' })] }))).toEqual([
    'unknown_requirement_target',
  ]);
});

it('chains, allocations and reservations are not measured against requirements that are missing', () => {
  expect(codesOf(running({ podRequirements: [] }))).toEqual(['missing_pod_requirements']);
});

it('an allocation is not compared with a requirement that no node could meet', () => {
  expect(codesOf(running({ podRequirements: [requirement({ acceleratorCount: 9 })] }))).toEqual([
    'requirement_exceeds_node',
  ]);
  expect(codesOf(running({ podRequirements: [requirement({ acceleratorCount: 0 })] }))).toEqual([
    'requirement_exceeds_node',
  ]);
});

it('an allocation of nothing is not of the wrong size as well', () => {
  expect(codesOf(running({}, 0))).toEqual(['zero_allocation']);
});

it('an allocation of an unknown chain does not make its pod look unallocated twice over', () => {
  const init = running({});
  const other = { ...init, jobs: [job([rank({ chains: [chain({ chainId: 'd' })] })])] };
  expect(codesOf(other)).toEqual(['unknown_allocation']);
});

it('no number of nodes is out of bounds that are inverted, but accelerators can be', () => {
  for (const totalCount of [0, 3, 9]) {
    const nodeTypes = [nodeType({ totalCount })];
    expect(codesOf({ capacityPools: [pool({ minNodes: 5, maxNodes: 2, nodeTypes })] })).toEqual([
      'pool_bounds_inverted',
    ]);
  }
  const nodeTypes = [nodeType()];
  expect(
    codesOf({ capacityPools: [pool({ minNodes: 5, maxNodes: 2, maxAccelerators: 1, nodeTypes })] }),
  ).toEqual(['pool_bounds_inverted', 'pool_out_of_bounds']);
});

it('no number of chains is out of bounds that are inverted', () => {
  expect(codesOf(running({ desiredChains: 5, maxChains: 2 }))).toEqual(['chain_bounds_inverted']);
});

it('both pairs of chain bounds that are inverted are reported', () => {
  const ranks = [rank({ minChains: 3, desiredChains: 2, maxChains: 1 })];
  expect(codesOf({ capacityPools: [pool({ nodeTypes: [nodeType()] })], jobs: [job(ranks)] })).toEqual([
    'chain_bounds_inverted',
    'chain_bounds_inverted',
  ]);
});

it('a whole rank or chain that stands twice is one duplicate', () => {
  const { capacityPools = [] } = running({});
  const pods = [{ podIndex: 0, status: { phase: WorkloadPhase.RUNNING } }];
  const limits = { maxChains: 2, desiredChains: 1 };
  const theRank = () => rank({ chains: [chain({ pods })], ...limits });
  expect(codesOf({ capacityPools, jobs: [job([theRank(), theRank()])] })).toEqual(['duplicate_rank_id']);
  const chains = [chain({ pods }), chain({ pods })];
  expect(codesOf({ capacityPools, jobs: [job([rank({ chains, ...limits })])] })).toEqual([
    'duplicate_chain_id',
  ]);
});

it('what only the second of two definitions has is found under their id', () => {
  const nodeTypes = [nodeType({ inUse: [{ allocations: [allocation({ rankId: 's' })] }] })];
  const jobs = [job([rank()]), job([rank({ rankId: 's', chains: [chain()] })])];
  expect(codesOf({ capacityPools: [pool({ nodeTypes })], jobs })).toEqual(['duplicate_job_id']);
});

it('so are chains of a rank, and node types of a pool', () => {
  const held = allocation({ chainId: 'd' });
  const capacityPools = [
    pool({ nodeTypes: [nodeType({ id: 'other' })] }),
    pool({ nodeTypes: [nodeType({ inUse: [{ allocations: [held] }] })] }),
  ];
  const twoRanks = [rank({ chains: [chain()] }), rank({ chains: [chain({ chainId: 'd' })] })];
  expect(codesOf({ capacityPools, jobs: [job(twoRanks)] })).toEqual([
    'duplicate_pool_id',
    'duplicate_rank_id',
  ]);
  const twoJobs = twoRanks.map((each) => job([each]));
  expect(codesOf({ capacityPools, jobs: twoJobs })).toEqual(['duplicate_pool_id', 'duplicate_job_id']);
});

it('a reservation off target does not set the count for those that are on it', () => {
  const two = [reservation({ additionalChains: 2 })];
  const nodeTypes = [
    nodeType({ id: 'elsewhere', reservedForAutoscaling: [reservation({ additionalChains: 9 })] }),
    nodeType({ reservedForAutoscaling: two }),
    nodeType({ id: 'u', reservedForAutoscaling: two }),
  ];
  const podRequirements = [requirement(), requirement({ nodeTypeId: 'u' })];
  expect(codesOf({ capacityPools: [pool({ nodeTypes })], jobs: [job([rank({ podRequirements })])] })).toEqual(
    ['reservation_off_target'],
  );
});

it('independent faults of one thing are all reported', () => {
  const nodeTypes = [
    nodeType({
      totalCount: 0,
      purchaseModel: PurchaseModel.UNSPECIFIED,
      pricePerNodeHour: { currencyCode: 'euro', decimalAmount: 'ten' },
      fabricId: 'f',
      maxRunDuration: {},
      eligibleForTandemn: false,
      inUse: [{}],
      reservedForAutoscaling: [reservation({ additionalChains: 0 })],
    }),
  ];
  expect(codesOf({ capacityPools: [pool({ nodeTypes })] })).toEqual([
    'invalid_price',
    'invalid_price',
    'unspecified_purchase_model',
    'unknown_fabric',
    'too_many_occupied_nodes',
    'empty_occupancy',
    'reservation_on_ineligible_type',
    'unknown_reservation_rank',
    'zero_reservation',
    'invalid_duration',
    'run_duration_without_flex_start',
  ]);
});
