/** What planning answers. Unions say what can be there with what. */
import type { AdviceCode, ValidationCode } from '../model/codes.ts';
import type { ValidationFinding } from '../model/model.ts';
import type { NodeName } from '../search/fleet.ts';
import type { Copy } from '../search/search-model.ts';

/**
 * Filters in the order in which they are applied; each leaves fewer nodes.
 *
 * @example
 * ```ts
 * import { FILTERS } from '@resource-map/client/bundle';
 *
 * console.log(FILTERS.join(', '));
 * ```
 */
export const FILTERS = [
  'pool',
  'eligible',
  'reachable',
  'cordoned',
  'capacity',
  'cores',
  'gpu',
  'capabilities',
  'coLocation',
  'separation',
  'sameAz',
  'demand',
] as const;
export type Filter = (typeof FILTERS)[number];

/** What became of one bundle. */
export type BundlePlan = { readonly bundleId: string; readonly message: string } & (
  | { readonly outcome: 'placed'; readonly copies: readonly PlacedCopy[] }
  /** The primary stands; its backup has no plan. */
  | {
      readonly outcome: 'partial';
      readonly copies: readonly [PlacedCopy, UnplacedCopy];
    }
  /** There is no plan. Nothing is taken. */
  | { readonly outcome: 'unplaced'; readonly copies: readonly UnplacedCopy[] }
  /** The bound on work was reached before a plan was found or shown not to exist. Nothing is taken. */
  | { readonly outcome: 'undecided'; readonly copies: readonly UnplacedCopy[] }
  /** No plan can be made of it. */
  | {
      readonly outcome: 'invalid';
      readonly findings: readonly ValidationFinding<ValidationCode | AdviceCode>[];
    }
  /** It is being deleted. */
  | { readonly outcome: 'skipped' }
);

export interface PlacedCopy {
  readonly copy: Copy;
  readonly outcome: 'placed';
  /** One a job, in the bundle's order. */
  readonly placements: readonly JobPlacement[];
  /** Domains that it shares with the primary although the policy forbids it; only ever of a backup. */
  readonly degraded: readonly SharedDomain[];
}

export interface UnplacedCopy {
  readonly copy: Copy;
  readonly outcome: 'unplaced' | 'undecided';
  /** One a job, in the bundle's order. */
  readonly unplaced: readonly UnplacedJob[];
}

export interface NodeRef {
  readonly clusterId: string;
  /** Capacity pool of the map. */
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly node: NodeName;
}

export interface JobPlacement {
  readonly jobName: string;
  readonly poolName: string;
  /** From 0, in the pool's order. */
  readonly tier: number;
  readonly tierName: string;
  readonly node: NodeRef;
  /** Devices that the job gets: one for a share, several whole ones, none where devices are not known one by one. */
  readonly gpuIndexes: readonly number[];
  /** Amounts that the node is not known to have. */
  readonly unverified: readonly ('capacity' | 'cores')[];
}

export interface UnplacedJob {
  readonly jobName: string;
  /**
   * The first filter that left no node, with the nodes that the bundle's other jobs stand
   * on as far as they could be placed; `bundle` where nodes are left for this job and
   * another one of the bundle has none; `work` where the bound on work was reached.
   */
  readonly filter: Filter | 'bundle' | 'work';
  /** Nodes that each filter left, up to and with the one that left none. */
  readonly counts: readonly { readonly filter: Filter; readonly left: number }[];
  readonly message: string;
  /** Instance types of the pool's elastic tiers of which a new node would hold the job with those that share its node: the first 16. */
  readonly wouldFit: readonly {
    readonly tier: number;
    readonly tierName: string;
    readonly instanceType: string;
  }[];
}

export interface SharedDomain {
  readonly domain: 'node' | 'az' | 'cloud';
  /** Jobs of the backup that stand in it, in the bundle's order. */
  readonly jobs: readonly string[];
  /** The node's id or slot, the zone, the provider; empty where no name is known. */
  readonly value: string;
  /** False: nothing shows that the domains differ, and nothing that they are one. */
  readonly known: boolean;
  /** Whether it was shown that no other domain was free. */
  readonly unavoidable: boolean;
}

/** What became of one node service. */
export type NodeServicePlan = { readonly serviceId: string } & (
  | {
      readonly outcome: 'planned';
      readonly placements: readonly NodeServicePlacement[];
      /** Eligible nodes that run it already. */
      readonly running: number;
      /** Nodes that each filter left. */
      readonly counts: readonly { readonly filter: Filter; readonly left: number }[];
      /** Pools that it names and that are not configured. */
      readonly unknownPools: readonly string[];
    }
  /** Lazy: it is placed when it is asked for. */
  | { readonly outcome: 'deferred' }
);

export interface NodeServicePlacement {
  readonly poolName: string;
  readonly tier: number;
  readonly tierName: string;
  /** The first of the nodes. */
  readonly node: NodeRef;
  /** Nodes from this one on; above 1 only for slots, which have successive numbers. */
  readonly nodes: number;
}
