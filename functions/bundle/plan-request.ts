/** Services and bundles of one request, on one fleet: what the services consume is taken when the bundles come. */
import type { Candidate } from './candidates.ts';
import type { Bundle, NodeService, Pool } from './model.ts';
import { type PlanOptions, planOnFleet } from './plan.ts';
import type { BundlePlan, NodeServicePlan } from './plan-model.ts';
import { fleetFor, planServicesOnFleet } from './services.ts';

export interface RequestPlan {
  readonly services: readonly NodeServicePlan[];
  readonly bundles: readonly BundlePlan[];
}

export function planRequest(
  request: {
    readonly services: readonly NodeService[];
    readonly bundles: readonly Bundle[];
    readonly pools: readonly Pool[];
    readonly candidates: readonly Candidate[];
  },
  options: PlanOptions = {},
): RequestPlan {
  const fleet = fleetFor(request.services, request.candidates);
  const services = planServicesOnFleet(fleet, request.services, request.pools);
  return { services, bundles: planOnFleet(fleet, request.bundles, request.pools, options) };
}
