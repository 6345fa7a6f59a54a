/**
 * What the package exports as `resource-map/bundle`: validation and planning for a scheduler's
 * own process. Everything here is pure; plain objects go in and come out.
 */
export type { Candidate, InventoryCandidate, SlotCandidate } from './candidates.ts';
export {
  BUILT_IN_CATALOGUE,
  catalogueWith,
  type InstanceCatalogue,
  type InstanceTypeFacts,
} from './catalogue.ts';
export type { AdviceCode, ValidationCode } from './codes.ts';
export type { NodeName } from './fleet.ts';
export { clientTags, launchStart, launchTags, templateOfLaunched } from './launch.ts';
export {
  type ClusterNodes,
  clusterNodes,
  describePool,
  mapCandidates,
  type NodeTypeNodes,
} from './map-nodes.ts';
export * from './model.ts';
export type { Place } from './place.ts';
export { type PlanOptions, planBundles } from './plan.ts';
export * from './plan-model.ts';
export { planRequest, type RequestPlan } from './plan-request.ts';
export { CatalogueError, readCatalogue } from './read-catalogue.ts';
export type { Copy } from './search.ts';
export { planNodeServices } from './services.ts';
export { type BundleValidation, validateBundle } from './validate.ts';
