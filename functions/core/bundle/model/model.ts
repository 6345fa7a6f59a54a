/**
 * The vocabulary of bundles, in the shape of their JSON: what a workload asks for and
 * what nodes and pools offer. Plain objects, so that a scheduler can build them without
 * any library; `read.ts` makes them from messages of the wire.
 *
 * Where a list is optional, absent and empty mean the same. Capacity is a score against
 * the reference workload (one real-time H.264 1080p30 encode, libx264 preset medium, is 1).
 */

/** Which bundles choose first. */
export type PriorityBand = 'gold' | 'silver' | 'bronze';

/**
 * The bands in the order in which they are placed.
 *
 * @example
 * ```ts
 * import { PRIORITY_BANDS } from '@resource-map/client/bundle';
 *
 * console.log(PRIORITY_BANDS[0]); // gold
 * ```
 */
export const PRIORITY_BANDS: readonly PriorityBand[] = ['gold', 'silver', 'bronze'];

/** `hard` filters nodes, `soft` prefers them, `off` does neither. */
export type AzRule = 'hard' | 'soft' | 'off';

/** `forbid` is best effort: see {@link ResiliencePolicy}. */
export type DomainRule = 'allow' | 'forbid';

export type BundleState = 'live' | 'deleting';

/** What an `elastic` pool cannot hold it never will; a `cluster` pool may get another node. */
export type PoolKind = 'elastic' | 'cluster';

/** Names and values of a capability's attributes. Read through `Object.entries` only: the names are a client's. */
export type Attributes = Readonly<Record<string, string>>;

/** One logical workload: jobs that are placed together, and with a policy once more as a backup. */
export interface Bundle {
  readonly bundleId: string;
  /** Name of the pool whose nodes it may use. */
  readonly pool: string;
  readonly jobs: readonly BundleJobSpec[];
  readonly intraReplicaPlacement?: IntraReplicaRules | undefined;
  /** Its presence asks for a second copy. */
  readonly resiliencePolicy?: ResiliencePolicy | undefined;
  /** Absent: `live`. */
  readonly state?: BundleState | undefined;
}

export interface BundleJobSpec {
  /** Unique in the bundle. */
  readonly jobName: string;
  /** Absent: the job needs nothing. */
  readonly requirements?: JobRequirements | undefined;
  /** Names of jobs that must share this job's node. */
  readonly coLocateWith?: readonly string[] | undefined;
  /** Names of jobs that must not. */
  readonly separateFrom?: readonly string[] | undefined;
  readonly launch?: LaunchSpec | undefined;
}

export interface JobRequirements {
  readonly requiredCapacity?: number | undefined;
  /** Absent or 0: no cores are pinned. */
  readonly requiredCores?: number | undefined;
  /** Share of one device. */
  readonly requiredGpuCapacity?: number | undefined;
  /** Absent or empty: any model. */
  readonly requiredGpuModel?: string | undefined;
  readonly requiredCapabilities?: readonly CapabilityRequirement[] | undefined;
  /** Absent: `bronze`, since a job that does not say that it matters must not outrun one that does. */
  readonly priorityBand?: PriorityBand | undefined;
}

export interface CapabilityRequirement {
  readonly name: string;
  readonly count: number;
  /** Every key must be there with this value. */
  readonly attributeMatches?: Attributes | undefined;
}

export interface Capability {
  readonly name: string;
  /** Units, each of which one job alone can hold. */
  readonly count: number;
  readonly attributes?: Attributes | undefined;
}

/** How the jobs of one copy stand to each other. */
export interface IntraReplicaRules {
  /** Jobs that list neither co-location nor separation share one node. */
  readonly sameNodeDefault?: boolean | undefined;
  /** Absent: `off`. */
  readonly sameAz?: AzRule | undefined;
}

/**
 * How the backup, as a whole, stands to the primary as a whole. Where `forbid` cannot be had since no other domain
 * is free, the backup is placed all the same and reported degraded. An absent rule allows.
 */
export interface ResiliencePolicy {
  /** Absent: the bundle's own. The empty string is a name like any other. */
  readonly pool?: string | undefined;
  readonly sameNode?: DomainRule | undefined;
  readonly sameAz?: DomainRule | undefined;
  readonly sameCloud?: DomainRule | undefined;
}

/** How a job is started; exactly one of the two. */
export type LaunchSpec =
  | { readonly productTemplate: ProductTemplate; readonly legacy?: undefined }
  | { readonly legacy: { readonly job: JsonObject }; readonly productTemplate?: undefined };

export interface ProductTemplate {
  readonly ref: string;
  readonly parameters?: JsonObject | undefined;
  /** RFC 3339. Absent: now. */
  readonly startDateTime?: string | undefined;
  /** RFC 3339. Absent: it runs until it is stopped. */
  readonly stopDateTime?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** JSON that is passed on and never looked into. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type JsonValue = string | number | boolean | null | JsonObject | readonly JsonValue[];

export interface GpuResource {
  readonly index: number;
  readonly model?: string | undefined;
  readonly totalCapacity: number;
  readonly reservedCapacity?: number | undefined;
  /** One job holds the whole device. */
  readonly exclusivelyReserved?: boolean | undefined;
}

/** What a worker says of its node. Workers own it: it is read here and never written. */
export interface NodeInventory {
  readonly totalCapacity: number;
  /** Share of `totalCapacity` that is safe to allocate, 0 to 1. */
  readonly utilizationCap: number;
  readonly totalCores?: number | undefined;
  readonly gpus?: readonly GpuResource[] | undefined;
  readonly capabilities?: readonly Capability[] | undefined;
  readonly reservedCapacity?: number | undefined;
  readonly reservedCores?: number | undefined;
  readonly reservedCapabilities?: readonly Capability[] | undefined;
  /** Absent: it is not. */
  readonly reachable?: boolean | undefined;
  /** RFC 3339. */
  readonly lastSeen?: string | undefined;
  readonly cordoned?: boolean | undefined;
  readonly assignedJobs?: readonly AssignedJob[] | undefined;
}

export interface AssignedJob {
  readonly jobId: string;
  /** The cores that the job is pinned to, by index. */
  readonly coreSet?: readonly number[] | undefined;
  readonly gpuIndex?: number | undefined;
}

/** A service that runs on every node that can hold it and lends the node capabilities. */
export interface NodeService {
  readonly serviceId: string;
  readonly jobSpec?: JsonObject | undefined;
  readonly consumes?: readonly CapabilityRequirement[] | undefined;
  /** Counts for placement only once a node's inventory shows it. */
  readonly provides?: readonly Capability[] | undefined;
  /** Names of the pools whose nodes it runs on. */
  readonly pools: readonly string[];
  /** A `lazy` service is deferred until it is asked for. */
  readonly lifecycle: 'eager' | 'lazy';
}

/** What validation needs to know of a pool. */
export interface PoolDescriptor {
  readonly poolName: string;
  readonly kind: PoolKind;
  readonly nodeProfiles: readonly NodeProfile[];
  /** The failure domains that the pool's tiers span. */
  readonly clouds: readonly string[];
}

/** What one kind of node offers when it is empty. */
export interface NodeProfile {
  /** Absent: unknown, which is not 0. */
  readonly totalCapacity?: number | undefined;
  /** Absent: unknown. */
  readonly totalCores?: number | undefined;
  readonly capabilities?: readonly Capability[] | undefined;
  /** The devices, where they are known beyond the accelerator capabilities. */
  readonly gpus?: readonly ProfileGpu[] | undefined;
}

export interface ProfileGpu {
  readonly model?: string | undefined;
  readonly totalCapacity: number;
}

/** A pool: its tiers in the order in which they are to be used up. */
export interface Pool {
  readonly poolName: string;
  readonly tiers: readonly Tier[];
}

/** Nodes of the map, or instance types that can be had on demand; exactly one of the two. */
export type Tier = { readonly tierName?: string | undefined } & (
  | { readonly cluster: NodeSelector; readonly elastic?: undefined }
  | { readonly elastic: ElasticTier; readonly cluster?: undefined }
);

/**
 * Values of one field are alternatives, fields are conditions that must all hold, and an
 * absent or empty field is no condition. Values are compared whole and exactly.
 */
export interface NodeSelector {
  readonly provider?: readonly string[] | undefined;
  readonly region?: readonly string[] | undefined;
  readonly clusterId?: readonly string[] | undefined;
  /** Capacity pool of the map. */
  readonly poolId?: readonly string[] | undefined;
  readonly nodeTypeId?: readonly string[] | undefined;
  readonly acceleratorModel?: readonly string[] | undefined;
}

/** Candidate instance types. A node that exists stands in the tier if its instance type and provider do. */
export interface ElasticTier {
  /** Absent or empty: any, and no failure domain. */
  readonly provider?: string | undefined;
  readonly instanceTypes: readonly ElasticInstanceType[];
}

export interface ElasticInstanceType {
  readonly instanceType: string;
  /** What it leaves open is taken from the instance-type catalogue. */
  readonly profile?: NodeProfile | undefined;
}

/** One thing that validation has to say. */
export interface ValidationFinding<Code extends string = string> {
  /** Stable; match on it. */
  readonly code: Code;
  /** Names the job, the offending value and the best that is offered. */
  readonly message: string;
}
