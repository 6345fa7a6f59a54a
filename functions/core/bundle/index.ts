/**
 * What the package exports as `resource-map/bundle`: validation and planning for a scheduler's
 * own process. Everything here is pure; plain objects go in and come out.
 */

export {
  BUILT_IN_CATALOGUE,
  catalogueWith,
  type InstanceCatalogue,
  type InstanceTypeFacts,
} from './model/catalogue.ts';
export type { AdviceCode, ValidationCode } from './model/codes.ts';
export { clientTags, launchStart, launchTags, templateOfLaunched } from './model/launch.ts';
export * from './model/model.ts';
export type { Place } from './model/place.ts';
export { CatalogueError, readCatalogue } from './model/read-catalogue.ts';
export {
  type ClusterNodes,
  clusterNodes,
  describePool,
  mapCandidates,
  type NodeTypeNodes,
} from './plan/map-nodes.ts';
export { type PlanOptions, planBundles } from './plan/plan.ts';
export * from './plan/plan-model.ts';
export { type PlanRequest, planRequest, type RequestPlan } from './plan/plan-request.ts';
export { planNodeServices } from './plan/services.ts';
export type { Candidate, InventoryCandidate, SlotCandidate } from './search/candidates.ts';
export type { NodeName } from './search/fleet.ts';
export type { Copy } from './search/search.ts';
export { type BundleValidation, validateBundle } from './validate/validate.ts';
