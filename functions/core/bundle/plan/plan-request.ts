/** Services and bundles of one request, on one fleet: what the services consume is taken when the bundles come. */

import { atOnce, type Stepwise } from '../../stepwise.ts';
import type { Bundle, NodeService, Pool } from '../model/model.ts';
import type { Candidate } from '../search/candidates.ts';
import { type PlanOptions, planOnFleet } from './plan.ts';
import type { BundlePlan, NodeServicePlan } from './plan-model.ts';
import { fleetFor, planServicesOnFleet } from './services.ts';

export interface RequestPlan {
  readonly services: readonly NodeServicePlan[];
  readonly bundles: readonly BundlePlan[];
}

export interface PlanRequest {
  readonly services: readonly NodeService[];
  readonly bundles: readonly Bundle[];
  readonly pools: readonly Pool[];
  readonly candidates: readonly Candidate[];
}

/**
 * @example
 * ```ts
 * import { planRequest, type PlanRequest } from '@resource-map/client/bundle';
 *
 * const request: PlanRequest = { services: [], bundles: [bundle], pools: [], candidates: [] };
 * console.log(planRequest(request).bundles[0]?.outcome);
 * ```
 */
export function planRequest(request: PlanRequest, options: PlanOptions = {}): RequestPlan {
  return atOnce(planStepwise(request, options));
}

/** As {@link planRequest}, yielding every few milliseconds. */
export function* planStepwise(request: PlanRequest, options: PlanOptions = {}): Stepwise<RequestPlan> {
  const fleet = yield* fleetFor(request.services, request.candidates);
  const services = yield* planServicesOnFleet(fleet, request.services, request.pools);
  const bundles = yield* planOnFleet(fleet, request.bundles, request.pools, options);
  return { services, bundles };
}
