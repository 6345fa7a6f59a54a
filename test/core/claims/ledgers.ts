/** Ledgers with claims in a few words, made by the service's own admission. */
import { create } from '@bufbuild/protobuf';
import { clusterView } from '../../../functions/core/capacity/view/view.ts';
import { admit } from '../../../functions/core/claims/admit.ts';
import { chainFactsOf } from '../../../functions/core/claims/chain-facts.ts';
import { claimIdOf } from '../../../functions/core/claims/claim-id.ts';
import { parseClaimRequest } from '../../../functions/core/claims/claim-request.ts';
import { type Evaluation, evaluate } from '../../../functions/core/claims/evaluate.ts';
import { ResourceMapError } from '../../../functions/core/errors.ts';
import { atOnce } from '../../../functions/core/stepwise.ts';
import { ClaimRequestSchema, ClaimState } from '../../../functions/gen/resourcemap/v1/claims_pb.ts';
import { type Ledger, LedgerSchema } from '../../../functions/gen/resourcemap/v1/ledger_pb.ts';
import type { ClusterResourceMap } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

const NOW_MS = 1_800_000_000_000;
const HEAD = { counter: 1n, collectedAtMs: NOW_MS, observedMs: NOW_MS };
const SETTINGS = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };

export interface ClaimInit {
  /** Accelerators of each pod of its one chain. */
  readonly sizes: readonly number[];
  readonly confirmed: boolean;
  /** The chain's id; absent: claimed by number, for a job that no snapshot has. */
  readonly chain?: string | undefined;
}

function contentOf(snapshot: ClusterResourceMap) {
  return { view: clusterView(snapshot), facts: chainFactsOf(snapshot) };
}

/** A ledger with those of the claims that are accepted. */
export function acceptOn(snapshot: ClusterResourceMap, claims: readonly ClaimInit[]): Ledger {
  let ledger = create(LedgerSchema);
  for (const [index, { sizes, confirmed, chain }] of claims.entries()) {
    const request = parseClaimRequest(
      create(ClaimRequestSchema, {
        jobId: chain === undefined ? `new-${index}` : jobOf(snapshot, chain),
        ranks: [
          {
            chainIds: chain === undefined ? [] : [chain],
            podRequirements: sizes.map((acceleratorCount) => ({ acceleratorCount })),
          },
        ],
      }),
    );
    try {
      const admission = atOnce(
        admit({
          id: idOf(index),
          owner: 'o',
          request,
          ledger,
          fence: BigInt(index + 1),
          head: HEAD,
          content: contentOf(snapshot),
          nowMs: NOW_MS,
          settings: SETTINGS,
        }),
      );
      if (admission.kind !== 'accepted') continue;
      const holds = admission.ledger.holds.map((hold) =>
        hold.fence === admission.hold.fence && confirmed ? { ...hold, state: ClaimState.CONFIRMED } : hold,
      );
      ledger = { ...admission.ledger, holds };
    } catch (error) {
      if (!(error instanceof ResourceMapError)) throw error;
    }
  }
  return ledger;
}

/** The job that has the chain, or would. */
function jobOf({ jobs }: ClusterResourceMap, chainId: string): string {
  const has = jobs.find(({ ranks }) => ranks.some(({ chains }) => chains.some((c) => c.chainId === chainId)));
  return has?.jobId ?? `job-of-${chainId}`;
}

function idOf(index: number) {
  const id = Buffer.alloc(16);
  id.writeUIntBE(NOW_MS, 0, 6);
  id[6] = 0x70;
  id[8] = 0x80;
  id[15] = index;
  return claimIdOf(id);
}

/** What the ledger's claims are worth by the snapshot, a second later. */
export function evaluateOn(snapshot: ClusterResourceMap, { holds }: Ledger): Evaluation {
  return evaluate(holds, HEAD, contentOf(snapshot), NOW_MS + 1_000, SETTINGS);
}
