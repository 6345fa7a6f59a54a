/**
 * For every rule the smallest snapshot that breaks it and nothing else, and the
 * nearest one that does not.
 */
import {
  PurchaseModel,
  WorkloadKind,
  WorkloadPhase,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  allocation,
  chain,
  job,
  type NodeTypeInit,
  nodeType,
  pool,
  type RankInit,
  rank,
  requirement,
  reservation,
  type SnapshotInit,
} from '../builders.ts';

export interface RuleCase {
  readonly code: string;
  /** Reads on after "refuses" or "warns of". */
  readonly breaks: string;
  readonly broken: SnapshotInit;
  readonly legal: SnapshotInit;
  readonly path: string;
  readonly message: string;
}

const { ON_DEMAND, FLEX_START, SPOT, UNSPECIFIED } = PurchaseModel;
const { PENDING, STARTING, RUNNING, DEGRADED, DRAINING, SUCCEEDED, FAILED } = WorkloadPhase;

/** One pool of one node type. */
function typed(init: NodeTypeInit): SnapshotInit {
  return { capacityPools: [pool({ nodeTypes: [nodeType(init)] })] };
}

/** That, and one job of one rank of one chain. */
function working(onNodeType: NodeTypeInit, ofRank: RankInit = {}): SnapshotInit {
  return { ...typed(onNodeType), jobs: [job([rank({ chains: [chain()], ...ofRank })])] };
}

/** A chain of one pod in that phase. */
function inPhase(phase: WorkloadPhase): RankInit {
  return { chains: [chain({ pods: [{ podIndex: 0, status: { phase } }] })] };
}

/** A rank whose chains have a pod on each of the node types `t` and `u`, reserved as given. */
function spanning(onT: number | undefined, onU: number | undefined): SnapshotInit {
  const reserved = (count: number | undefined) =>
    count === undefined ? [] : [reservation({ additionalChains: count })];
  return {
    capacityPools: [
      pool({
        nodeTypes: [
          nodeType({ reservedForAutoscaling: reserved(onT) }),
          nodeType({ id: 'u', reservedForAutoscaling: reserved(onU) }),
        ],
      }),
    ],
    jobs: [job([rank({ podRequirements: [requirement(), requirement({ nodeTypeId: 'u' })] })])],
  };
}

/** The jobs, and the same again. */
function twice(init: SnapshotInit): SnapshotInit {
  return { ...init, jobs: [...(init.jobs ?? []), ...(init.jobs ?? [])] };
}

const TYPE = 'capacity_pools[0].node_types[0]';
const RANK = 'jobs[0].ranks[0]';

const POOLS: readonly RuleCase[] = [
  {
    code: 'duplicate_pool_id',
    breaks: 'two pools of one id',
    broken: { capacityPools: [pool(), pool({ id: 'q' }), pool()] },
    legal: { capacityPools: [pool(), pool({ id: 'q' }), pool({ id: 'P' })] },
    path: 'capacity_pools[2].id',
    message: 'id "p" is that of capacity_pools[0] already; give each pool of the cluster an id of its own',
  },
  {
    code: 'duplicate_pool_id',
    breaks: 'a whole pool twice',
    broken: { capacityPools: [pool({ nodeTypes: [nodeType()] }), pool({ nodeTypes: [nodeType()] })] },
    legal: { capacityPools: [pool({ nodeTypes: [nodeType()] }), pool({ id: 'q', nodeTypes: [nodeType()] })] },
    path: 'capacity_pools[1].id',
    message: 'id "p" is that of capacity_pools[0] already; give each pool of the cluster an id of its own',
  },
  {
    code: 'pool_bounds_inverted',
    breaks: 'a minimum of nodes above the maximum',
    broken: { capacityPools: [pool({ minNodes: 2, maxNodes: 1, nodeTypes: [] })] },
    legal: { capacityPools: [pool({ minNodes: 0, maxNodes: 0 })] },
    path: 'capacity_pools[0].min_nodes',
    message: 'min_nodes 2 of pool "p" is above its max_nodes 1; it must be at most that',
  },
  {
    code: 'pool_out_of_bounds',
    breaks: 'fewer nodes than the minimum, where pending ones would make it up',
    broken: { capacityPools: [pool({ minNodes: 3, nodeTypes: [nodeType({ pendingNodeCount: 1 })] })] },
    legal: {
      capacityPools: [pool({ minNodes: 3, nodeTypes: [nodeType(), nodeType({ id: 'u', totalCount: 1 })] })],
    },
    path: 'capacity_pools[0].min_nodes',
    message: 'pool "p" has 2 nodes, fewer than its min_nodes 3',
  },
  {
    code: 'pool_out_of_bounds',
    breaks: 'more nodes, pending ones included, than the maximum',
    broken: { capacityPools: [pool({ maxNodes: 2, nodeTypes: [nodeType({ pendingNodeCount: 1 })] })] },
    legal: { capacityPools: [pool({ maxNodes: 3, nodeTypes: [nodeType({ pendingNodeCount: 1 })] })] },
    path: 'capacity_pools[0].max_nodes',
    message: 'pool "p" has 2 nodes and 1 pending ones, more than its max_nodes 2',
  },
  {
    code: 'pool_out_of_bounds',
    breaks: 'more accelerators than the maximum',
    broken: {
      capacityPools: [pool({ maxAccelerators: 23, nodeTypes: [nodeType({ pendingNodeCount: 1 })] })],
    },
    legal: { capacityPools: [pool({ maxAccelerators: 24, nodeTypes: [nodeType({ pendingNodeCount: 1 })] })] },
    path: 'capacity_pools[0].max_accelerators',
    message: 'pool "p" has 24 accelerators on its nodes and pending nodes, more than its max_accelerators 23',
  },
  {
    code: 'duplicate_node_type_id',
    breaks: 'two node types of one id in one pool',
    broken: { capacityPools: [pool({ nodeTypes: [nodeType(), nodeType()] })] },
    legal: { capacityPools: [pool({ nodeTypes: [nodeType()] }), pool({ id: 'q', nodeTypes: [nodeType()] })] },
    path: 'capacity_pools[0].node_types[1].id',
    message: `id "t" is that of ${TYPE} already; give each node type of pool "p" an id of its own`,
  },
  ...(['provider', 'region', 'site'] as const).map((field) => ({
    code: 'identity_too_long',
    breaks: `a ${field} of more than 253 bytes`,
    broken: { cluster: { clusterId: 'c1', [field]: 'é'.repeat(127) } },
    legal: { cluster: { clusterId: 'c1', [field]: 'x'.repeat(253) } },
    path: `cluster.${field}`,
    message: `${field} "${'é'.repeat(127)}" has 254 bytes; give it at most 253, or the status shows it cut`,
  })),
  {
    code: 'identity_too_long',
    breaks: 'a display name of more than 128 bytes',
    broken: { cluster: { clusterId: 'c1', displayName: 'x'.repeat(129) } },
    legal: { cluster: { clusterId: 'c1', displayName: 'x'.repeat(128) } },
    path: 'cluster.display_name',
    message: `display_name "${'x'.repeat(128)}"… (129 characters) has 129 bytes; give it at most 128, or the status shows it cut`,
  },
  {
    code: 'implausible_count',
    breaks: 'more nodes of a type than anybody has',
    broken: typed({ totalCount: 100_001 }),
    legal: typed({ totalCount: 100_000 }),
    path: `${TYPE}.total_count`,
    message:
      'total_count of node type "t" of pool "p" is 100001; at most 100000 are plausible: check that the agent counts nodes',
  },
  {
    code: 'implausible_count',
    breaks: 'more accelerators on a node than any machine has',
    broken: typed({ acceleratorsPerNode: 1_025 }),
    legal: typed({ acceleratorsPerNode: 1_024 }),
    path: `${TYPE}.accelerators_per_node`,
    message:
      'accelerators_per_node of node type "t" of pool "p" is 1025; at most 1024 are plausible: check that the agent counts the accelerators of one node',
  },
  {
    code: 'too_many_occupied_nodes',
    breaks: 'more occupied nodes than there are',
    broken: typed({ totalCount: 1, inUse: [{ unavailableAccelerators: 1 }, { unavailableAccelerators: 1 }] }),
    legal: typed({ totalCount: 2, inUse: [{ unavailableAccelerators: 1 }, { unavailableAccelerators: 1 }] }),
    path: `${TYPE}.in_use`,
    message:
      'in_use of node type "t" of pool "p" has 2 entries, but total_count is 1; each entry is one of its nodes',
  },
  {
    code: 'invalid_price',
    breaks: 'a currency that is no code',
    broken: typed({ pricePerNodeHour: { currencyCode: 'usd', decimalAmount: '1' } }),
    legal: typed({ pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '1' } }),
    path: `${TYPE}.price_per_node_hour.currency_code`,
    message:
      'currency_code "usd" of node type "t" of pool "p" is not three capital letters such as "USD"; leave price_per_node_hour out where the price is unknown',
  },
  {
    code: 'invalid_price',
    breaks: 'an amount that is no plain decimal',
    broken: typed({ pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '.5' } }),
    legal: typed({ pricePerNodeHour: { currencyCode: 'USD', decimalAmount: '0.5' } }),
    path: `${TYPE}.price_per_node_hour.decimal_amount`,
    message:
      'decimal_amount ".5" of node type "t" of pool "p" is not plain digits with at most one point between them, such as "12.50"; "0" is free, and an absent price_per_node_hour is unknown',
  },
  {
    code: 'unknown_currency',
    breaks: 'a currency that ISO 4217 does not have',
    broken: typed({ pricePerNodeHour: { currencyCode: 'BTC', decimalAmount: '1' } }),
    legal: typed({ pricePerNodeHour: { currencyCode: 'XTS', decimalAmount: '1' } }),
    path: `${TYPE}.price_per_node_hour.currency_code`,
    message: 'currency_code "BTC" of node type "t" of pool "p" is not in ISO 4217; it is kept as sent',
  },
  {
    code: 'unspecified_purchase_model',
    breaks: 'a node type without a purchase model',
    broken: typed({ purchaseModel: UNSPECIFIED }),
    legal: typed({ purchaseModel: ON_DEMAND }),
    path: `${TYPE}.purchase_model`,
    message: 'purchase_model of node type "t" of pool "p" is not set; say how its nodes are paid for',
  },
  {
    code: 'unknown_enum_value',
    breaks: 'a purchase model of a newer agent',
    broken: typed({ purchaseModel: 6 as PurchaseModel }),
    legal: typed({ purchaseModel: 5 }),
    path: `${TYPE}.purchase_model`,
    message: 'purchase_model is 6, which is no PurchaseModel that is known here (0 to 5); it is kept as sent',
  },
  {
    code: 'unknown_fabric',
    breaks: 'a fabric that is not in the topology',
    broken: { ...typed({ fabricId: 'f' }), topology: { fabrics: [{ id: 'F' }] } },
    legal: { ...typed({ fabricId: 'f' }), topology: { fabrics: [{ id: 'f' }] } },
    path: `${TYPE}.fabric_id`,
    message:
      'fabric_id "f" of node type "t" of pool "p" is not in topology.fabrics; list the fabric, or leave fabric_id empty where it is unknown',
  },
  {
    code: 'invalid_duration',
    breaks: 'a run duration of zero',
    broken: typed({ purchaseModel: FLEX_START, maxRunDuration: {} }),
    legal: typed({ purchaseModel: FLEX_START, maxRunDuration: { nanos: 1 } }),
    path: `${TYPE}.max_run_duration`,
    message:
      'max_run_duration of node type "t" of pool "p" is 0 s and 0 ns; it must be above zero and at most 315576000000 s, with nanos from 0 to 999999999',
  },
  {
    code: 'run_duration_without_flex_start',
    breaks: 'a run duration of nodes that are not flex-start',
    broken: typed({ purchaseModel: SPOT, maxRunDuration: { seconds: 1n } }),
    legal: typed({ purchaseModel: FLEX_START, maxRunDuration: { seconds: 1n } }),
    path: `${TYPE}.max_run_duration`,
    message:
      'max_run_duration of node type "t" of pool "p" needs the purchase model FLEX_START, whose nodes alone end by themselves',
  },
];

const OCCUPANCY: readonly RuleCase[] = [
  {
    code: 'empty_occupancy',
    breaks: 'an entry of an idle node',
    broken: typed({ inUse: [{}] }),
    legal: typed({ inUse: [{ externalAcceleratorsInUse: 1 }] }),
    path: `${TYPE}.in_use[0]`,
    message:
      'the entry holds no accelerators of node type "t" of pool "p"; leave it out: a node that is not listed is idle',
  },
  {
    code: 'node_overcommitted',
    breaks: 'a node with more in use than it has',
    broken: working({
      inUse: [{ allocations: [allocation()], externalAcceleratorsInUse: 3, unavailableAccelerators: 2 }],
    }),
    legal: working({
      inUse: [{ allocations: [allocation()], externalAcceleratorsInUse: 3, unavailableAccelerators: 1 }],
    }),
    path: `${TYPE}.in_use[0]`,
    message:
      '4 allocated, 3 external and 2 unavailable accelerators are 9, but a node of node type "t" of pool "p" has 8',
  },
  {
    code: 'node_overcommitted',
    breaks: 'anything in use on a node without accelerators',
    broken: typed({ acceleratorsPerNode: 0, inUse: [{ unavailableAccelerators: 1 }] }),
    legal: typed({ acceleratorsPerNode: 0 }),
    path: `${TYPE}.in_use[0]`,
    message:
      '0 allocated, 0 external and 1 unavailable accelerators are 1, but a node of node type "t" of pool "p" has 0',
  },
  {
    code: 'zero_allocation',
    breaks: 'an allocation of nothing',
    broken: working({ inUse: [{ allocations: [allocation({ acceleratorCount: 0 })] }] }),
    legal: working(
      { inUse: [{ allocations: [allocation({ acceleratorCount: 1 })] }] },
      { podRequirements: [requirement({ acceleratorCount: 1 })] },
    ),
    path: `${TYPE}.in_use[0].allocations[0].accelerator_count`,
    message:
      'accelerator_count is 0; an allocation holds at least 1, and a pod that holds none has no allocation',
  },
  {
    code: 'unknown_allocation',
    breaks: 'an allocation of a job that is not there',
    broken: working({ inUse: [{ allocations: [allocation({ jobId: 'J' })] }] }),
    legal: working({ inUse: [{ allocations: [allocation()] }] }),
    path: `${TYPE}.in_use[0].allocations[0].job_id`,
    message:
      'job_id "J" is not in jobs; list the job, or count its accelerators as external_accelerators_in_use',
  },
  {
    code: 'unknown_allocation',
    breaks: 'an allocation of a rank that the job does not have',
    broken: working({ inUse: [{ allocations: [allocation({ rankId: 'R' })] }] }),
    legal: working({ inUse: [{ allocations: [allocation()] }] }),
    path: `${TYPE}.in_use[0].allocations[0].rank_id`,
    message: 'rank_id "R" is not a rank of job "j"; list the rank there',
  },
  {
    code: 'unknown_allocation',
    breaks: 'an allocation of a chain that the rank does not have',
    broken: working({ inUse: [{ allocations: [allocation({ chainId: 'C' })] }] }),
    legal: working({ inUse: [{ allocations: [allocation()] }] }),
    path: `${TYPE}.in_use[0].allocations[0].chain_id`,
    message: 'chain_id "C" is not a chain of rank "r" of job "j"; list the chain there',
  },
  {
    code: 'unknown_allocation',
    breaks: 'an allocation of a pod that the chain does not have',
    broken: working({ inUse: [{ allocations: [allocation({ podIndex: 1 })] }] }),
    legal: working({ inUse: [{ allocations: [allocation({ podIndex: 0 })] }] }),
    path: `${TYPE}.in_use[0].allocations[0].pod_index`,
    message: 'pod_index is 1, but rank "r" of job "j" has 1 pod_requirements; the highest index is 0',
  },
  {
    code: 'allocation_off_target',
    breaks: 'an allocation on another node type than required',
    broken: {
      capacityPools: [
        pool({ nodeTypes: [nodeType(), nodeType({ id: 'u', inUse: [{ allocations: [allocation()] }] })] }),
      ],
      jobs: [job([rank({ chains: [chain()] })])],
    },
    legal: {
      capacityPools: [
        pool({ nodeTypes: [nodeType({ inUse: [{ allocations: [allocation()] }] }), nodeType({ id: 'u' })] }),
      ],
      jobs: [job([rank({ chains: [chain()] })])],
    },
    path: 'capacity_pools[0].node_types[1].in_use[0].allocations[0]',
    message:
      'pod 0 of chain "c" of rank "r" of job "j" is on node type "u" of pool "p", but its pod requirement names node type "t" of pool "p"; it must be there',
  },
  {
    code: 'allocation_off_target',
    breaks: 'an allocation on the node type of that id in another pool',
    broken: {
      capacityPools: [
        pool({ nodeTypes: [nodeType()] }),
        pool({ id: 'q', nodeTypes: [nodeType({ inUse: [{ allocations: [allocation()] }] })] }),
      ],
      jobs: [job([rank({ chains: [chain()] })])],
    },
    legal: {
      capacityPools: [
        pool({ nodeTypes: [nodeType({ inUse: [{ allocations: [allocation()] }] })] }),
        pool({ id: 'q', nodeTypes: [nodeType()] }),
      ],
      jobs: [job([rank({ chains: [chain()] })])],
    },
    path: 'capacity_pools[1].node_types[0].in_use[0].allocations[0]',
    message:
      'pod 0 of chain "c" of rank "r" of job "j" is on node type "t" of pool "q", but its pod requirement names node type "t" of pool "p"; it must be there',
  },
  {
    code: 'allocation_count_mismatch',
    breaks: 'an allocation of another size than required',
    broken: working({ inUse: [{ allocations: [allocation({ acceleratorCount: 3 })] }] }),
    legal: working({ inUse: [{ allocations: [allocation({ acceleratorCount: 4 })] }] }),
    path: `${TYPE}.in_use[0].allocations[0].accelerator_count`,
    message: 'accelerator_count is 3, but pod 0 of rank "r" of job "j" requires 4; they must be equal',
  },
  {
    code: 'duplicate_allocation',
    breaks: 'a pod that is allocated on two nodes',
    broken: working({ inUse: [{ allocations: [allocation()] }, { allocations: [allocation()] }] }),
    legal: working(
      { inUse: [{ allocations: [allocation()] }, { allocations: [allocation({ chainId: 'd' })] }] },
      { chains: [chain(), chain({ chainId: 'd' })] },
    ),
    path: `${TYPE}.in_use[1].allocations[0]`,
    message: `pod 0 of chain "c" of rank "r" of job "j" is allocated in ${TYPE}.in_use[0] already; a pod is allocated once`,
  },
  {
    code: 'allocation_after_end',
    breaks: 'an allocation of a pod that has succeeded',
    broken: working({ inUse: [{ allocations: [allocation()] }] }, inPhase(SUCCEEDED)),
    legal: working({ inUse: [{ allocations: [allocation()] }] }, inPhase(DRAINING)),
    path: `${TYPE}.in_use[0].allocations[0]`,
    message:
      'pod 0 of chain "c" of rank "r" of job "j" has SUCCEEDED, but still holds its accelerators; they count as used until the allocation is gone',
  },
  {
    code: 'allocation_after_end',
    breaks: 'an allocation of a pod that has failed',
    broken: working({ inUse: [{ allocations: [allocation()] }] }, inPhase(FAILED)),
    legal: working({ inUse: [{ allocations: [allocation()] }] }, inPhase(PENDING)),
    path: `${TYPE}.in_use[0].allocations[0]`,
    message:
      'pod 0 of chain "c" of rank "r" of job "j" has FAILED, but still holds its accelerators; they count as used until the allocation is gone',
  },
];

const RESERVATIONS: readonly RuleCase[] = [
  {
    code: 'reservation_on_ineligible_type',
    breaks: 'a reservation where nothing new may be placed',
    broken: working({ eligibleForTandemn: false, reservedForAutoscaling: [reservation()] }),
    legal: working({ eligibleForTandemn: true, reservedForAutoscaling: [reservation()] }),
    path: `${TYPE}.reserved_for_autoscaling[0]`,
    message:
      'node type "t" of pool "p" is not eligible_for_tandemn, so nothing new will be placed on what is reserved there',
  },
  {
    code: 'unknown_reservation_rank',
    breaks: 'a reservation of a job that is not there',
    broken: working({ reservedForAutoscaling: [reservation({ jobId: 'J' })] }),
    legal: working({ reservedForAutoscaling: [reservation()] }),
    path: `${TYPE}.reserved_for_autoscaling[0].job_id`,
    message: 'job_id "J" is not in jobs; list the job, or leave the reservation out',
  },
  {
    code: 'unknown_reservation_rank',
    breaks: 'a reservation of a rank that the job does not have',
    broken: working({ reservedForAutoscaling: [reservation({ rankId: 'R' })] }),
    legal: working({ reservedForAutoscaling: [reservation()] }),
    path: `${TYPE}.reserved_for_autoscaling[0].rank_id`,
    message: 'rank_id "R" is not a rank of job "j"; list the rank there, or leave the reservation out',
  },
  {
    code: 'zero_reservation',
    breaks: 'a reservation of no chains',
    broken: working({ reservedForAutoscaling: [reservation({ additionalChains: 0 })] }),
    legal: working({ reservedForAutoscaling: [reservation({ additionalChains: 1 })] }),
    path: `${TYPE}.reserved_for_autoscaling[0].additional_chains`,
    message: 'additional_chains is 0; a reservation is for at least 1 chain, so leave the entry out',
  },
  {
    code: 'zero_reservation',
    breaks: 'a reservation of no chains beside one of some',
    broken: spanning(0, 2),
    legal: spanning(2, 2),
    path: `${TYPE}.reserved_for_autoscaling[0].additional_chains`,
    message: 'additional_chains is 0; a reservation is for at least 1 chain, so leave the entry out',
  },
  {
    code: 'duplicate_reservation',
    breaks: 'two reservations of one rank on one node type',
    broken: working({ reservedForAutoscaling: [reservation(), reservation({ additionalChains: 2 })] }),
    legal: {
      ...typed({ reservedForAutoscaling: [reservation(), reservation({ rankId: 's' })] }),
      jobs: [job([rank(), rank({ rankId: 's' })])],
    },
    path: `${TYPE}.reserved_for_autoscaling[1]`,
    message: `rank "r" of job "j" is reserved on node type "t" of pool "p" in ${TYPE}.reserved_for_autoscaling[0] already; give one entry with the number of all chains`,
  },
  {
    code: 'reservation_off_target',
    breaks: 'a reservation on a node type that no pod of the rank stands on',
    broken: {
      capacityPools: [
        pool({ nodeTypes: [nodeType(), nodeType({ id: 'u', reservedForAutoscaling: [reservation()] })] }),
      ],
      jobs: [job([rank()])],
    },
    legal: {
      capacityPools: [
        pool({ nodeTypes: [nodeType({ reservedForAutoscaling: [reservation()] }), nodeType({ id: 'u' })] }),
      ],
      jobs: [job([rank()])],
    },
    path: 'capacity_pools[0].node_types[1].reserved_for_autoscaling[0]',
    message:
      'rank "r" of job "j" has no pod requirement on node type "u" of pool "p"; reserve it where its pods stand',
  },
  {
    code: 'reservation_incomplete',
    breaks: 'a reservation on one of the two node types that a rank spans',
    broken: spanning(undefined, 2),
    legal: spanning(2, 2),
    path: 'capacity_pools[0].node_types[1].reserved_for_autoscaling[0]',
    message:
      'rank "r" of job "j" spans 2 node types, but is not reserved on node type "t" of pool "p"; reserve the same count on each',
  },
  {
    code: 'reservation_incomplete',
    breaks: 'another count on one of the two node types that a rank spans',
    broken: spanning(2, 1),
    legal: spanning(1, 1),
    path: 'capacity_pools[0].node_types[1].reserved_for_autoscaling[0].additional_chains',
    message: `additional_chains is 1, but ${TYPE}.reserved_for_autoscaling[0] reserves 2 of rank "r" of job "j", whose chains span both node types; the counts must be equal`,
  },
  {
    code: 'reservation_above_max',
    breaks: 'more chains to come than the maximum leaves',
    broken: working({ reservedForAutoscaling: [reservation({ additionalChains: 2 })] }, { maxChains: 2 }),
    legal: working(
      { reservedForAutoscaling: [reservation({ additionalChains: 2 })] },
      { maxChains: 2, chains: [chain({ status: { phase: FAILED } })] },
    ),
    path: `${TYPE}.reserved_for_autoscaling[0].additional_chains`,
    message:
      'additional_chains is 2; with 1 chains that have not ended, rank "r" of job "j" would have more than its max_chains 2',
  },
];

const JOBS: readonly RuleCase[] = [
  {
    code: 'duplicate_job_id',
    breaks: 'two jobs of one id',
    broken: { jobs: [job(), job()] },
    legal: { jobs: [job(), job([], { jobId: 'J' })] },
    path: 'jobs[1].job_id',
    message: 'job_id "j" is that of jobs[0] already; list a job once, with all its ranks',
  },
  {
    code: 'duplicate_job_id',
    breaks: 'a whole job twice, running pods included',
    broken: twice(working({ inUse: [{ allocations: [allocation()] }] }, inPhase(RUNNING))),
    legal: working({ inUse: [{ allocations: [allocation()] }] }, inPhase(RUNNING)),
    path: 'jobs[1].job_id',
    message: 'job_id "j" is that of jobs[0] already; list a job once, with all its ranks',
  },
  {
    code: 'duplicate_rank_id',
    breaks: 'two ranks of one id in one job',
    broken: { ...typed({}), jobs: [job([rank(), rank()])] },
    legal: { ...typed({}), jobs: [job([rank()]), job([rank()], { jobId: 'k' })] },
    path: 'jobs[0].ranks[1].rank_id',
    message: `rank_id "r" of job "j" is that of ${RANK} already; give each rank of a job an id of its own`,
  },
  {
    code: 'duplicate_chain_id',
    breaks: 'two chains of one id in one rank',
    broken: working({}, { chains: [chain(), chain()] }),
    legal: {
      ...typed({}),
      jobs: [job([rank({ chains: [chain()] }), rank({ rankId: 's', chains: [chain()] })])],
    },
    path: `${RANK}.chains[1].chain_id`,
    message: `chain_id "c" of rank "r" of job "j" is that of ${RANK}.chains[0] already; give each chain of a rank an id of its own`,
  },
  {
    code: 'unspecified_workload_kind',
    breaks: 'a job of no kind',
    broken: { jobs: [job([], { workloadKind: WorkloadKind.UNSPECIFIED })] },
    legal: { jobs: [job([], { workloadKind: WorkloadKind.BATCH })] },
    path: 'jobs[0].workload_kind',
    message: 'workload_kind of job "j" is not set; say ONLINE or BATCH',
  },
  {
    code: 'unknown_enum_value',
    breaks: 'a workload kind of a newer agent',
    broken: { jobs: [job([], { workloadKind: 3 as WorkloadKind })] },
    legal: { jobs: [job([], { workloadKind: 2 })] },
    path: 'jobs[0].workload_kind',
    message: 'workload_kind is 3, which is no WorkloadKind that is known here (0 to 2); it is kept as sent',
  },
  ...[
    ['job', 'jobs[0].status.phase', { jobs: [job([], { status: { phase: -1 as WorkloadPhase } })] }],
    ['rank', `${RANK}.status.phase`, working({}, { status: { phase: -1 as WorkloadPhase } })],
    [
      'chain',
      `${RANK}.chains[0].status.phase`,
      working({}, { chains: [chain({ status: { phase: -1 as WorkloadPhase } })] }),
    ],
    ['pod', `${RANK}.chains[0].pods[0].status.phase`, working({}, inPhase(-1 as WorkloadPhase))],
  ].map(([what, path, broken]) => ({
    code: 'unknown_enum_value',
    breaks: `a phase of a ${what} that is no phase`,
    broken: broken as SnapshotInit,
    legal: working({}, inPhase(0)),
    path: path as string,
    message: 'phase is -1, which is no WorkloadPhase that is known here (0 to 7); it is kept as sent',
  })),
  {
    code: 'missing_pod_requirements',
    breaks: 'a rank without a shape',
    broken: { ...typed({}), jobs: [job([rank({ podRequirements: [] })])] },
    legal: { ...typed({}), jobs: [job([rank({ podRequirements: [requirement()] })])] },
    path: `${RANK}.pod_requirements`,
    message:
      'rank "r" of job "j" has no pod_requirements; list one for each pod with accelerators of a chain',
  },
  {
    code: 'unknown_requirement_target',
    breaks: 'a requirement on a pool that is not there',
    broken: { ...typed({}), jobs: [job([rank({ podRequirements: [requirement({ poolId: 'P' })] })])] },
    legal: { ...typed({ totalCount: 0 }), jobs: [job([rank()])] },
    path: `${RANK}.pod_requirements[0].pool_id`,
    message:
      'pool_id "P" is not in capacity_pools; list the pool, its node types at total_count 0 where it has no nodes',
  },
  {
    code: 'unknown_requirement_target',
    breaks: 'a requirement on a node type that the pool does not have',
    broken: {
      capacityPools: [
        pool({ nodeTypes: [nodeType()] }),
        pool({ id: 'q', nodeTypes: [nodeType({ id: 'u' })] }),
      ],
      jobs: [job([rank({ podRequirements: [requirement({ nodeTypeId: 'u' })] })])],
    },
    legal: {
      capacityPools: [
        pool({ nodeTypes: [nodeType()] }),
        pool({ id: 'q', nodeTypes: [nodeType({ id: 'u' })] }),
      ],
      jobs: [job([rank({ podRequirements: [requirement({ poolId: 'q', nodeTypeId: 'u' })] })])],
    },
    path: `${RANK}.pod_requirements[0].node_type_id`,
    message:
      'node type "u" of pool "p" is not in the snapshot; list the node type, at total_count 0 where it has no nodes',
  },
  {
    code: 'requirement_exceeds_node',
    breaks: 'a pod that is larger than its node',
    broken: {
      ...typed({}),
      jobs: [job([rank({ podRequirements: [requirement({ acceleratorCount: 9 })] })])],
    },
    legal: { ...typed({}), jobs: [job([rank({ podRequirements: [requirement({ acceleratorCount: 8 })] })])] },
    path: `${RANK}.pod_requirements[0].accelerator_count`,
    message: 'accelerator_count is 9, but a node of node type "t" of pool "p" has 8; a pod fits on one node',
  },
  {
    code: 'requirement_exceeds_node',
    breaks: 'a pod without accelerators',
    broken: {
      ...typed({}),
      jobs: [job([rank({ podRequirements: [requirement({ acceleratorCount: 0 })] })])],
    },
    legal: { ...typed({}), jobs: [job([rank({ podRequirements: [requirement({ acceleratorCount: 1 })] })])] },
    path: `${RANK}.pod_requirements[0].accelerator_count`,
    message:
      'accelerator_count is 0; a pod requirement is for at least 1, so leave pods without accelerators out',
  },
  {
    code: 'chain_bounds_inverted',
    breaks: 'a minimum of chains above what is desired',
    broken: working({}, { minChains: 2, desiredChains: 1 }),
    legal: working({}, { minChains: 1, desiredChains: 1 }),
    path: `${RANK}.min_chains`,
    message: 'min_chains 2 of rank "r" of job "j" is above its desired_chains 1; it must be at most that',
  },
  {
    code: 'chain_bounds_inverted',
    breaks: 'a minimum of chains above the maximum',
    broken: working({}, { minChains: 2, maxChains: 1 }),
    legal: working({}, { minChains: 2 }),
    path: `${RANK}.min_chains`,
    message: 'min_chains 2 of rank "r" of job "j" is above its max_chains 1; it must be at most that',
  },
  {
    code: 'chain_bounds_inverted',
    breaks: 'more chains desired than the maximum',
    broken: working({}, { desiredChains: 1, maxChains: 0, chains: [] }),
    legal: working({}, desired(1, 1)),
    path: `${RANK}.desired_chains`,
    message: 'desired_chains 1 of rank "r" of job "j" is above its max_chains 0; it must be at most that',
  },
  {
    code: 'pod_states_incomplete',
    breaks: 'a chain that leaves a pod out',
    broken: working({}, { podRequirements: [requirement(), requirement()] }),
    legal: working(
      {},
      {
        podRequirements: [requirement(), requirement()],
        chains: [chain({ pods: [{ podIndex: 1 }, { podIndex: 0 }] })],
      },
    ),
    path: `${RANK}.chains[0].pods`,
    message:
      'pod_index 1 is missing in chain "c" of rank "r" of job "j", whose rank has 2 pod_requirements; give one PodState for each index from 0 to 1',
  },
  {
    code: 'pod_states_incomplete',
    breaks: 'a chain that lists a pod twice',
    broken: working(
      {},
      {
        podRequirements: [requirement(), requirement()],
        chains: [chain({ pods: [{ podIndex: 1 }, { podIndex: 1 }] })],
      },
    ),
    legal: working(
      {},
      {
        podRequirements: [requirement(), requirement()],
        chains: [chain({ pods: [{ podIndex: 0 }, { podIndex: 1 }] })],
      },
    ),
    path: `${RANK}.chains[0].pods`,
    message:
      'pod_index 1 is given twice in chain "c" of rank "r" of job "j", whose rank has 2 pod_requirements; give one PodState for each index from 0 to 1',
  },
  {
    code: 'pod_states_incomplete',
    breaks: 'a chain with a pod too many',
    broken: working({}, { chains: [chain({ pods: [{ podIndex: 0 }, { podIndex: 1 }] })] }),
    legal: working({}, { chains: [chain({ pods: [{ podIndex: 0 }] })] }),
    path: `${RANK}.chains[0].pods`,
    message:
      'pod_index 1 is out of range in chain "c" of rank "r" of job "j", whose rank has 1 pod_requirements; give one PodState for each index from 0 to 0',
  },
  {
    code: 'chains_above_max',
    breaks: 'more chains than the maximum',
    broken: working({}, { maxChains: 0 }),
    legal: working({}, { maxChains: 0, chains: [chain({ status: { phase: SUCCEEDED } })] }),
    path: `${RANK}.chains`,
    message: 'rank "r" of job "j" has 1 chains that have not ended, more than its max_chains 0',
  },
  {
    code: 'chains_below_desired',
    breaks: 'fewer chains than desired',
    broken: working({}, { desiredChains: 1, chains: [chain({ status: { phase: FAILED } })] }),
    legal: working({}, { desiredChains: 1, chains: [chain({ status: { phase: PENDING } })] }),
    path: `${RANK}.chains`,
    message:
      'rank "r" of job "j" has 0 chains that have not ended, fewer than its desired_chains 1; list intended chains as PENDING before their pods exist',
  },
  ...[
    { phase: STARTING, name: 'STARTING' },
    { phase: RUNNING, name: 'RUNNING' },
    { phase: DEGRADED, name: 'DEGRADED' },
  ].map(({ phase, name }) => ({
    code: 'running_without_allocation',
    breaks: `a pod that is ${name} on nothing`,
    broken: working({}, inPhase(phase)),
    legal: working({ inUse: [{ allocations: [allocation()] }] }, inPhase(phase)),
    path: `${RANK}.chains[0].pods[0]`,
    message: `pod 0 of chain "c" of rank "r" of job "j" is ${name}, but no in_use entry has an allocation of it; list the allocation, or the pod as PENDING`,
  })),
  ...(['tensor', 'pipeline', 'data', 'expert', 'context', 'sequence'] as const).map((degree) => ({
    code: 'zero_parallelism',
    breaks: `a ${degree} parallelism of 0`,
    broken: working({}, { runtime: { parallelism: { [degree]: 0 } } }),
    legal: working({}, { runtime: { parallelism: { [degree]: 1 } } }),
    path: `${RANK}.runtime.parallelism.${degree}`,
    message: `${degree} of rank "r" of job "j" is 0; without that parallelism it is 1, and unknown it is left out`,
  })),
];

function desired(desiredChains: number, maxChains: number): RankInit {
  return {
    desiredChains,
    maxChains,
    chains: Array.from({ length: desiredChains }, (_, c) => chain({ chainId: `c${c}` })),
  };
}

const TOPOLOGY: readonly RuleCase[] = [
  {
    code: 'duplicate_fabric_id',
    breaks: 'two fabrics of one id',
    broken: { topology: { fabrics: [{ id: 'f' }, { id: 'f' }] } },
    legal: { topology: { fabrics: [{ id: 'f' }, { id: 'F' }] } },
    path: 'topology.fabrics[1].id',
    message: 'id "f" is that of topology.fabrics[0] already; give each fabric an id of its own',
  },
  {
    code: 'unknown_link_fabric',
    breaks: 'a link from a fabric that is not there',
    broken: { topology: { fabrics: [{ id: 'f' }], links: [{ fromFabricId: 'F', toFabricId: 'f' }] } },
    legal: {
      topology: { fabrics: [{ id: 'f' }, { id: 'F' }], links: [{ fromFabricId: 'F', toFabricId: 'f' }] },
    },
    path: 'topology.links[0].from_fabric_id',
    message: 'from_fabric_id "F" is not in topology.fabrics; list the fabric, or leave the link out',
  },
  {
    code: 'unknown_link_fabric',
    breaks: 'a link to a fabric that is not there',
    broken: { topology: { fabrics: [{ id: 'f' }], links: [{ fromFabricId: 'f', toFabricId: 'F' }] } },
    legal: {
      topology: { fabrics: [{ id: 'f' }, { id: 'F' }], links: [{ fromFabricId: 'f', toFabricId: 'F' }] },
    },
    path: 'topology.links[0].to_fabric_id',
    message: 'to_fabric_id "F" is not in topology.fabrics; list the fabric, or leave the link out',
  },
  {
    code: 'duplicate_link',
    breaks: 'two links of one direction',
    broken: {
      topology: {
        fabrics: [{ id: 'f' }, { id: 'g' }],
        links: [
          { fromFabricId: 'f', toFabricId: 'g' },
          { fromFabricId: 'f', toFabricId: 'g', bandwidthBps: 1n },
        ],
      },
    },
    legal: {
      topology: {
        fabrics: [{ id: 'f' }, { id: 'g' }],
        links: [
          { fromFabricId: 'f', toFabricId: 'g' },
          { fromFabricId: 'g', toFabricId: 'f' },
        ],
      },
    },
    path: 'topology.links[1]',
    message: 'the link from "f" to "g" is topology.links[0] already; give one link a direction',
  },
  {
    code: 'self_link',
    breaks: 'a link from a fabric to itself',
    broken: { topology: { fabrics: [{ id: 'f' }], links: [{ fromFabricId: 'f', toFabricId: 'f' }] } },
    legal: {
      topology: { fabrics: [{ id: 'f' }, { id: 'g' }], links: [{ fromFabricId: 'f', toFabricId: 'g' }] },
    },
    path: 'topology.links[0]',
    message: 'the link is from "f" to itself; what holds within a fabric belongs to the fabric',
  },
  {
    code: 'duplicate_api_resource',
    breaks: 'one kind of one group twice',
    broken: {
      apiResources: [
        { group: 'g', kind: 'K', servedVersions: ['v1'] },
        { group: 'g', kind: 'K', servedVersions: ['v2'] },
      ],
    },
    legal: {
      apiResources: [
        { group: 'g', kind: 'K', servedVersions: ['v1'] },
        { group: '', kind: 'K', servedVersions: ['v1'] },
      ],
    },
    path: 'api_resources[1]',
    message: 'kind "K" of group "g" is api_resources[0] already; list it once, with all its served_versions',
  },
  {
    code: 'incomplete_api_resource',
    breaks: 'an API resource without a kind',
    broken: { apiResources: [{ group: 'g', servedVersions: ['v1'] }] },
    legal: { apiResources: [{ kind: 'Pod', servedVersions: ['v1'] }] },
    path: 'api_resources[0].kind',
    message: 'kind is not set in group "g"; set it, such as "Pod"',
  },
  {
    code: 'incomplete_api_resource',
    breaks: 'an API resource without a version',
    broken: { apiResources: [{ group: 'g', kind: 'K', servedVersions: [''] }] },
    legal: { apiResources: [{ group: 'g', kind: 'K', servedVersions: ['v1'] }] },
    path: 'api_resources[0].served_versions',
    message: 'kind "K" of group "g" has no served_versions; list at least one, such as "v1"',
  },
  {
    code: 'duplicate_component',
    breaks: 'one version of a component twice',
    broken: {
      installedComponents: [
        { name: 'kueue', version: '1' },
        { name: 'kueue', version: '1' },
      ],
    },
    legal: {
      installedComponents: [
        { name: 'kueue', version: '1' },
        { name: 'volcano', version: '1' },
      ],
    },
    path: 'installed_components[1]',
    message: 'component "kueue" "1" is installed_components[0] already; list it once',
  },
  {
    code: 'component_versions_differ',
    breaks: 'two versions of a component',
    broken: {
      installedComponents: [
        { name: 'kueue', version: '1' },
        { name: 'kueue', version: '2' },
      ],
    },
    legal: {
      installedComponents: [
        { name: 'kueue', version: '1' },
        { name: 'Kueue', version: '2' },
      ],
    },
    path: 'installed_components[1]',
    message: 'component "kueue" has version "2" here, and "1" in installed_components[0]',
  },
];

/** Of the sections that have no test of their own. */
export const RULE_CASES: readonly RuleCase[] = [
  ...POOLS,
  ...OCCUPANCY,
  ...RESERVATIONS,
  ...JOBS,
  ...TOPOLOGY,
];
