/** What the reconciler knows beside the bundle itself. Everything is read, nothing is written through it. */
import type { ClaimState } from '../../../gen/resourcemap/v1/claims_pb.ts';
import type { ClaimId } from '../../claims/claim-id.ts';
import type { ParsedClaim } from '../../claims/claim-request.ts';
import type { InstanceCatalogue } from '../model/catalogue.ts';
import type { Pool } from '../model/model.ts';
import type { SlotCandidate } from '../search/candidates.ts';
import type { JobStates } from './job-states.ts';

/** A claim of a ledger, as it is evaluated now. */
export interface ClaimFact {
  readonly state: ClaimState;
  /** Absent: it is effective. */
  readonly ended: boolean;
  readonly reason: string;
  /** It was given up, and counts until a late start can be ruled out. */
  readonly releasing: boolean;
}

/**
 * What is known of a cluster. `heard`: it is in the map. `silent`: nothing acceptable comes from its agent, so
 * what it runs is unknown. `gone`: it was taken out of the map on request, or retired, or never was there.
 */
export interface ClusterFact {
  readonly standing: 'heard' | 'silent' | 'gone';
  /** By the agent's clock: when it began the cut. */
  readonly cutMs: number;
  /** Absent: its snapshot cannot be read at the moment, or it is not in the map. */
  readonly jobs: JobStates | undefined;
  /** By id; of ended claims those that are remembered. */
  readonly claims: ReadonlyMap<string, ClaimFact>;
}

export interface BundleWorld {
  readonly nowMs: number;
  readonly pools: readonly Pool[];
  readonly catalogue: InstanceCatalogue;
  /** Every node of the map, behind demand and claims as they are now. */
  candidates(): readonly SlotCandidate[];
  cluster(clusterId: string): ClusterFact;
  newClaimId(): ClaimId;
  /** Claims that were refused in this pass, with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** What is to be done on a ledger, in this order. A refusal ends the list. */
export type ClaimOperation =
  | {
      readonly kind: 'accept';
      readonly clusterId: string;
      readonly id: ClaimId;
      readonly request: ParsedClaim;
    }
  | {
      readonly kind: 'confirm';
      readonly clusterId: string;
      readonly id: ClaimId;
      /** Milliseconds from now. */
      readonly ttlMs: number;
    }
  | {
      readonly kind: 'release';
      readonly clusterId: string;
      readonly id: ClaimId;
      readonly neverStarted: boolean;
      readonly reason: string;
    };
