/** The smallest bundles, pools and nodes that mean something, for tests to change one thing of. */

import type {
  Bundle,
  BundleJobSpec,
  JobRequirements,
  NodeInventory,
  NodeProfile,
  Pool,
  PoolDescriptor,
} from '../../../functions/core/bundle/model/model.ts';
import type { Place } from '../../../functions/core/bundle/model/place.ts';
import type { InventoryCandidate } from '../../../functions/core/bundle/search/candidates.ts';

/** A job that needs nothing but what is given. */
export function job(
  jobName: string,
  requirements: JobRequirements = {},
  lists: Pick<BundleJobSpec, 'coLocateWith' | 'separateFrom'> = {},
): BundleJobSpec {
  return { jobName, requirements, ...lists };
}

/** A bundle for pool `p`. */
export function bundle(jobs: readonly BundleJobSpec[], more: Partial<Bundle> = {}): Bundle {
  return { bundleId: 'b', pool: 'p', jobs, ...more };
}

/** An elastic pool `p` over two clouds whose profiles are the given ones. */
export function descriptor(
  nodeProfiles: readonly NodeProfile[],
  more: Partial<PoolDescriptor> = {},
): PoolDescriptor {
  return { poolName: 'p', kind: 'elastic', nodeProfiles, clouds: ['aws', 'gcp'], ...more };
}

/** A pool `p` of one tier that takes every node. */
export function pool(more: Partial<Pool> = {}): Pool {
  return { poolName: 'p', tiers: [{ tierName: 'all', cluster: {} }], ...more };
}

export const NOWHERE: Place = {
  clusterId: 'c',
  provider: 'aws',
  region: 'eu-north-1',
  zone: 'eu-north-1a',
  poolId: 'cp',
  nodeTypeId: 'nt',
  instanceType: 'g6.xlarge',
  acceleratorModels: [],
};

/** A usable node of capacity 10 and 8 cores on which nothing stands. */
export function node(
  nodeId: string,
  inventory: Partial<NodeInventory> = {},
  place: Partial<Place> = {},
  eligible = true,
): InventoryCandidate {
  return {
    kind: 'inventory',
    nodeId,
    place: { ...NOWHERE, ...place },
    eligible,
    inventory: { totalCapacity: 10, utilizationCap: 1, totalCores: 8, reachable: true, ...inventory },
  };
}
