/** The two questions of the API. */

import type { ValidateBundleRequest } from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import type { PlanRequest } from '../../../gen/resourcemap/bundle/v1/plan_pb.ts';
import { ResourceMapError } from '../../errors.ts';
import { maxAgeOf } from '../../max-age.ts';
import { MAX_BUNDLES, MAX_POOLS, MAX_SERVICE_PLACEMENTS } from '../model/limits.ts';
import type { Bundle, NodeService, Pool, PoolDescriptor } from '../model/model.ts';
import type { InventoryCandidate } from '../search/candidates.ts';
import { Faults } from './faults.ts';
import { readBundles } from './read-bundle.ts';
import { readCandidates } from './read-candidates.ts';
import { readPool } from './read-pool.ts';
import { readDescriptor } from './read-profile.ts';
import { readServices } from './read-service.ts';

export interface ParsedValidateRequest {
  readonly bundle: Bundle;
  /** Absent: the configured ones. */
  readonly pools: readonly PoolDescriptor[] | undefined;
}

/** @throws ResourceMapError `invalid_bundle_request` */
export function readValidateRequest({
  bundle: message,
  pools,
}: ValidateBundleRequest): ParsedValidateRequest {
  const faults = new Faults();
  if (message === undefined) faults.add('bundle', 'It is missing; send the bundle that is to be validated.');
  const [bundle = NO_BUNDLE] = readBundles(
    message === undefined ? [] : [{ message, path: 'bundle' }],
    'bundle',
    faults,
  );
  const descriptors = faults
    .atMost('pools', pools, MAX_POOLS)
    .map((pool, i) => readDescriptor(pool, `pools[${i}]`, faults));
  faults.throwIfAny();
  return { bundle, pools: descriptors.length === 0 ? undefined : descriptors };
}

const NO_BUNDLE: Bundle = { bundleId: '', pool: '', jobs: [] };

export interface ParsedPlanRequest {
  readonly bundles: readonly Bundle[];
  readonly services: readonly NodeService[];
  /** Absent: the configured ones. */
  readonly pools: readonly Pool[] | undefined;
  /** Absent: the nodes of the map. With pools of the request, never absent. */
  readonly candidates: readonly InventoryCandidate[] | undefined;
  /** Nanoseconds; absent: clusters of the map of any age count. */
  readonly maxAge: bigint | undefined;
}

/** @throws ResourceMapError `invalid_bundle_request` */
export function readPlanRequest(request: PlanRequest): ParsedPlanRequest {
  const faults = new Faults();
  if (request.bundles.length === 0 && request.services.length === 0) {
    faults.add('bundles', 'There is nothing to plan; send bundles, services or both.');
  }
  const bundles = faults
    .atMost('bundles', request.bundles, MAX_BUNDLES)
    .map((message, i) => ({ message, path: `bundles[${i}]` }));
  const perService = request.services.length * request.candidates.length;
  if (perService > MAX_SERVICE_PLACEMENTS) {
    faults.add(
      'services',
      `${request.services.length} services on ${request.candidates.length} candidates have up to ${perService} placements; ` +
        `at most ${MAX_SERVICE_PLACEMENTS} are planned at a time.`,
    );
  }
  const pools = faults
    .atMost('pools', request.pools, MAX_POOLS)
    .map((pool, i) => readPool(pool, `pools[${i}]`, faults));
  const maxAge = maxAgeOf(request.maxAge, (fault) => {
    throw new ResourceMapError('invalid_bundle_request', `max_age ${fault}.`);
  });
  const question: ParsedPlanRequest = {
    bundles: readBundles(bundles, 'bundles', faults),
    services: readServices(request.services, 'services', faults),
    pools: pools.length === 0 ? undefined : pools,
    candidates:
      pools.length === 0 && request.candidates.length === 0
        ? undefined
        : readCandidates(request.candidates, 'candidates', faults),
    maxAge,
  };
  faults.throwIfAny();
  return question;
}
