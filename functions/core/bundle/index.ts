/**
 * What the package exports as `@resource-map/client/bundle`: validation and planning for a scheduler's
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
export {
  type AssignedJob,
  type Attributes,
  type AzRule,
  type Bundle,
  type BundleJobSpec,
  type BundleState,
  type Capability,
  type CapabilityRequirement,
  type DomainRule,
  type ElasticInstanceType,
  type ElasticTier,
  type GpuResource,
  type IntraReplicaRules,
  type JobRequirements,
  type JsonObject,
  type JsonValue,
  type LaunchSpec,
  type NodeInventory,
  type NodeProfile,
  type NodeSelector,
  type NodeService,
  type Pool,
  type PoolDescriptor,
  type PoolKind,
  PRIORITY_BANDS,
  type PriorityBand,
  type ProductTemplate,
  type ProfileGpu,
  type ResiliencePolicy,
  type Tier,
  type ValidationFinding,
} from './model/model.ts';
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
export {
  type BundlePlan,
  FILTERS,
  type Filter,
  type JobPlacement,
  type NodeRef,
  type NodeServicePlacement,
  type NodeServicePlan,
  type PlacedCopy,
  type SharedDomain,
  type UnplacedCopy,
  type UnplacedJob,
} from './plan/plan-model.ts';
export { type PlanRequest, planRequest, type RequestPlan } from './plan/plan-request.ts';
export { planNodeServices } from './plan/services.ts';
export type { Candidate, InventoryCandidate, SlotCandidate } from './search/candidates.ts';
export type { NodeName } from './search/fleet.ts';
export type { Copy } from './search/search-model.ts';
export { type BundleValidation, validateBundle } from './validate/validate.ts';
