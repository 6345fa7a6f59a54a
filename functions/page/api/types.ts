/** What the page reads of the API's JSON. 64-bit integers are strings. */

export interface AcceleratorCount {
  readonly model: string;
  readonly total: string;
  readonly free: string;
  readonly unavailable: string;
}

export interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly path: string;
  readonly message: string;
}

export interface Refusal {
  readonly at: string;
  readonly code: string;
  readonly message: string;
  /** Pushes refused since the last accepted one, at least. */
  readonly count: number;
}

export interface ClusterStatus {
  readonly cluster: {
    readonly clusterId: string;
    readonly displayName: string;
    readonly provider: string;
    readonly region: string;
    readonly site: string;
  };
  readonly state: string;
  readonly omittedReason: string;
  readonly omittedAt?: string;
  readonly highWaterMark: string;
  /** Absent for a cluster that never had a good push. */
  readonly collectedAt?: string;
  readonly receivedAt?: string;
  /** Seconds with `s` behind them, by the service's clock. */
  readonly age?: string;
  readonly contentSinceCounter: string;
  readonly contentSince?: string;
  readonly accelerators: readonly AcceleratorCount[];
  readonly omittedAcceleratorModels: number;
  readonly warningCount: number;
  readonly warnings: readonly Finding[];
  readonly lastRefusal?: Refusal;
}

export interface ClusterList {
  readonly clusters: readonly ClusterStatus[];
  /** Of all clusters, whatever the list is narrowed to. */
  readonly counts: Readonly<Record<'all' | 'included' | 'stale' | 'warned' | 'refused' | 'out', number>>;
  /** Clusters that the filter lets pass, listed or not. */
  readonly matching: number;
  readonly asOf: string;
}

/** Free accelerators on a node: number of such nodes. */
export type Histogram = Readonly<Record<string, string | number>>;

export interface Price {
  readonly currencyCode: string;
  readonly decimalAmount: string;
}

export interface CapacityGroup {
  readonly values: readonly { readonly key: string; readonly value: string }[];
  readonly nodes: string;
  readonly idleNodes: string;
  readonly accelerators: string;
  readonly allocated: string;
  readonly external: string;
  readonly unavailable: string;
  readonly free: string;
  readonly freeHistogram: Histogram;
  readonly freeHistogramAfterDemand: Histogram;
  readonly pendingDemand: string;
  readonly reservedDemand: string;
  readonly deficit: string;
  readonly eligibleFree: string;
  readonly claimed: string;
  readonly freeHistogramAfterClaims: Histogram;
}

export interface TargetCapacity {
  readonly clusterId: string;
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly instanceType: string;
  readonly acceleratorModel: string;
  readonly acceleratorsPerNode: number;
  readonly purchaseModel: string;
  readonly zone: string;
  readonly fabricId: string;
  readonly rdmaReady?: boolean;
  readonly eligible: boolean;
  readonly pricePerNodeHour?: Price;
  readonly nodes: number;
  readonly idleNodes: number;
  readonly pendingNodes?: number;
  readonly accelerators: string;
  readonly unavailable: string;
  readonly free: string;
  readonly freeHistogram: Histogram;
  readonly freeHistogramAfterDemand: Histogram;
  readonly pendingDemand: string;
  readonly reservedDemand: string;
  readonly deficit: string;
  readonly deficitUndecided: boolean;
  readonly headroomNodes?: string;
  readonly claimed: string;
  readonly freeHistogramAfterClaims: Histogram;
}

export interface Capacity {
  readonly groups: readonly CapacityGroup[];
  readonly targets: readonly TargetCapacity[];
}

export interface FitCandidate {
  readonly clusterId: string;
  readonly fabricId: string;
  readonly fits?: boolean;
  readonly maxChains?: string;
  readonly maxChainsAtLeast?: string;
  readonly maxChainsAtMost?: string;
  readonly fitsWithScaleOut?: boolean;
  readonly pricePerHour?: Price;
  readonly reason: string;
  readonly logicalCounter: string;
  readonly collectedAt?: string;
}

export interface ShapeFit {
  readonly fits?: boolean;
  readonly maxChains?: string;
  readonly maxChainsAtLeast?: string;
  readonly maxChainsAtMost?: string;
  readonly candidates: readonly FitCandidate[];
  readonly omittedCandidates: number;
  readonly reason: string;
}

export interface FitResponse {
  readonly shapes: readonly ShapeFit[];
}

/** A snapshot is written as canonical JSON, in which what is empty or zero is left out. */
export interface Snapshot {
  readonly capacityPools?: readonly {
    readonly id: string;
    readonly nodeTypes?: readonly {
      readonly id: string;
      readonly inUse?: readonly { readonly allocations?: readonly PodAllocation[] }[];
    }[];
  }[];
  readonly jobs?: readonly Job[];
}

export interface PodAllocation {
  readonly jobId: string;
  readonly rankId: string;
  readonly chainId: string;
  readonly podIndex?: number;
}

export interface WorkStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Job {
  readonly jobId: string;
  readonly workloadKind?: string;
  readonly status?: WorkStatus;
  readonly ranks?: readonly Rank[];
}

export interface Rank {
  readonly rankId: string;
  readonly status?: WorkStatus;
  readonly minChains?: number;
  readonly maxChains?: number;
  readonly desiredChains?: number;
  readonly podRequirements?: readonly {
    readonly poolId: string;
    readonly nodeTypeId: string;
    readonly acceleratorCount: number;
  }[];
  readonly chains?: readonly Chain[];
}

export interface Chain {
  readonly chainId: string;
  readonly status?: WorkStatus;
  readonly pods?: readonly { readonly podIndex?: number; readonly status?: WorkStatus }[];
}

export interface Claim {
  readonly id: string;
  readonly state: string;
  readonly owner: string;
  readonly jobId: string;
  readonly acceptedAt?: string;
  readonly expiresAt?: string;
  readonly endedAt?: string;
  readonly remainingChains: number;
  /** Past its time, with no evidence yet that nothing was started. */
  readonly lapsed: boolean;
  /** Whether what it holds still fits; absent where that could not be decided. */
  readonly backed?: boolean;
  readonly reason: string;
}

export interface ClaimList {
  readonly claims: readonly Claim[];
}

export interface BundleRecord {
  readonly bundle: { readonly bundleId: string; readonly pool: string };
  readonly state: string;
  readonly owner: string;
  readonly paused: boolean;
  readonly reason: string;
  readonly stopAt?: string;
  readonly copies: readonly BundleCopy[];
}

export interface BundleCopy {
  readonly copy: string;
  readonly generation: string;
  readonly phase: string;
  readonly since?: string;
  readonly retryAt?: string;
  readonly reason: string;
  readonly ranks: readonly {
    readonly rankId: string;
    readonly clusterId: string;
    readonly poolId: string;
    readonly nodeTypeId: string;
    readonly accelerators: number;
  }[];
  readonly unplaced: readonly {
    readonly jobName: string;
    readonly filter: string;
    readonly message: string;
  }[];
  readonly degraded: readonly { readonly domain: string; readonly value: string }[];
  readonly ending: readonly { readonly generation: string; readonly clusterIds: readonly string[] }[];
}

export interface BundleList {
  readonly bundles: readonly BundleRecord[];
}
