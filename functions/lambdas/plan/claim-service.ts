/** Claims on the store: read, decide, write on the version that was read, and on losing a race decide again. */
import { create } from '@bufbuild/protobuf';
import { admit, type OwnerLimit } from '../../core/claims/admit.ts';
import type { ClaimSituation } from '../../core/claims/change.ts';
import {
  type ClaimChanged,
  claimEnded,
  evaluateSituation,
  type FoundClaim,
  findClaim,
  holdOf,
} from '../../core/claims/change.ts';
import { type ClaimId, refuseStaleId } from '../../core/claims/claim-id.ts';
import type { ParsedClaim } from '../../core/claims/claim-request.ts';
import { compact } from '../../core/claims/compact.ts';
import { type ClaimSettings, isLive } from '../../core/claims/evaluate.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import { ClaimState } from '../../gen/resourcemap/v1/claims_pb.ts';
import { HoldSchema } from '../../gen/resourcemap/v1/ledger_pb.ts';
import type { ClaimReader, ClaimReading } from '../../reading/claim-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import { ClusterNotFoundError } from '../../storage/errors.ts';
import { type LedgerStore, nextVersion } from '../../storage/ledgers.ts';
import { backOff } from '../../storage/retry.ts';
import { inTurns } from './turns.ts';

/** As for pushes: so many lost races are no bad luck. */
const MAX_ATTEMPTS = 16;
const CONFLICT_BACKOFF = { baseMs: 5, capMs: 200 } as const;

export interface ClaimServiceDeps {
  readonly ledgers: LedgerStore;
  readonly reader: ClaimReader;
  readonly telemetry: Telemetry;
  readonly settings: ClaimSettings & OwnerLimit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A claim in a response, and whether it was made by this very request. */
export interface ClaimOutcome {
  readonly claim: FoundClaim;
  readonly created: boolean;
}

export interface AcceptRequest {
  readonly clusterId: string;
  readonly id: ClaimId;
  readonly owner: string;
  readonly request: ParsedClaim;
  readonly dryRun: boolean;
  /** Of the request; once it aborts nobody wants the response. */
  readonly signal: AbortSignal;
}

export class ClaimService {
  readonly #lastOf = new Map<string, Promise<unknown>>();

  constructor(private readonly deps: ClaimServiceDeps) {}

  /**
   * Accepts a claim, or finds that it was accepted before.
   *
   * @throws ResourceMapError, everything that {@link admit} throws; `claim_exists`, `claim_ended`, `contention`,
   *   `cluster_not_found`, `cluster_omitted`, `snapshot_unavailable`
   */
  accept(accept: AcceptRequest): Promise<ClaimOutcome | 'abandoned'> {
    const { clusterId, id, owner, request } = accept;
    return this.#decide<ClaimOutcome | 'abandoned'>(clusterId, async ({ stored, situation }) => {
      const known = holdOf(stored.ledger, id);
      if (known !== undefined) {
        if (!isLive(known)) throw claimEnded(id, known);
        if (known.owner !== owner || !Buffer.from(known.digest).equals(request.digest)) {
          throw new ResourceMapError(
            'claim_exists',
            `Claim ${id.text} was accepted before with another request; make a new id for each claim.`,
          );
        }
        return this.#asFound(situation, id);
      }
      refuseStaleId(id, stored.ledger.endedFloorMs, situation.nowMs);
      const { head, content } = readable(clusterId, situation);
      const admission = await inTurns(
        admit({
          id,
          owner,
          request,
          ledger: stored.ledger,
          fence: nextVersion(stored, situation.nowMs),
          head,
          content,
          nowMs: situation.nowMs,
          settings: this.deps.settings,
        }),
        accept.signal,
      );
      if (admission === 'abandoned') return { result: 'abandoned' as const };
      if (admission.kind === 'fulfilled')
        return { result: { claim: fulfilledAtOnce(id, owner, request, admission.chains), created: false } };
      const after = { ...situation, ledger: admission.ledger };
      const claim = findClaim(admission.ledger, evaluateSituation(after), id);
      if (!accept.dryRun) this.deps.telemetry.count('ClaimsAccepted', 1);
      return { result: { claim, created: true }, ...(accept.dryRun ? {} : { next: admission.ledger }) };
    });
  }

  /** Confirms, renews or releases. */
  change(
    clusterId: string,
    id: ClaimId,
    needsMap: boolean,
    decide: (situation: ClaimSituation, fence: bigint) => ClaimChanged,
  ): Promise<FoundClaim> {
    return this.#decide(clusterId, async ({ stored, situation }) => {
      if (needsMap && holdOf(stored.ledger, id) !== undefined) readable(clusterId, situation);
      const { ledger, claim } = decide(situation, nextVersion(stored, situation.nowMs));
      return { result: claim, next: ledger };
    });
  }

  /** The claim as it is. An end that was only derived is written down before it is reported. */
  find(clusterId: string, id: ClaimId): Promise<FoundClaim> {
    return this.#decide(clusterId, async ({ situation }) => {
      const found = await this.#asFound(situation, id);
      return { ...found, result: found.result.claim };
    });
  }

  async #asFound(situation: ClaimSituation, id: ClaimId) {
    const evaluation = evaluateSituation(situation);
    const claim = findClaim(situation.ledger, evaluation, id);
    const isNews = claim.kind === 'evaluated' && claim.claim.end !== undefined;
    return {
      result: { claim, created: false },
      ...(isNews ? { next: compact(situation.ledger, evaluation, situation.nowMs) } : {}),
    };
  }

  /** One decision of this process after the other for each cluster: only other processes can come between. */
  async #decide<T>(
    clusterId: string,
    decide: (
      reading: ClaimReading,
    ) => Promise<{ readonly result: T; readonly next?: ClaimSituation['ledger'] }>,
  ): Promise<T> {
    const before = this.#lastOf.get(clusterId);
    const turn = (async () => {
      await before?.catch(() => undefined);
      return this.#attempts(clusterId, decide);
    })();
    this.#lastOf.set(clusterId, turn);
    try {
      return await turn;
    } finally {
      if (this.#lastOf.get(clusterId) === turn) this.#lastOf.delete(clusterId);
    }
  }

  async #attempts<T>(
    clusterId: string,
    decide: (
      reading: ClaimReading,
    ) => Promise<{ readonly result: T; readonly next?: ClaimSituation['ledger'] }>,
  ): Promise<T> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const reading = await this.deps.reader.read(clusterId, this.deps.now());
      // Of a cluster that nobody knows nothing is written.
      if (reading.head === undefined && reading.stored.version === 0n)
        throw new ClusterNotFoundError(clusterId);
      const { result, next } = await decide(reading);
      if (next === undefined) return result;
      if ((await this.deps.ledgers.replace(reading.stored, next, reading.situation.nowMs)) !== undefined)
        return result;
      this.deps.telemetry.count('ClaimConflicts', 1);
      await backOff(CONFLICT_BACKOFF, attempt);
    }
    throw new ResourceMapError(
      'contention',
      `The claims of cluster ${quote(clusterId)} were changed by others during all ${MAX_ATTEMPTS} attempts; send the request again, with the same id.`,
      { retryAfterSeconds: 1 },
    );
  }
}

/** The response for chains that the snapshot has already: nothing is held, and nothing was written. */
function fulfilledAtOnce(
  id: ClaimId,
  owner: string,
  request: ParsedClaim,
  fulfilledChains: number,
): FoundClaim {
  const state = ClaimState.FULFILLED;
  return {
    kind: 'tombstone',
    hold: create(HoldSchema, { id: id.bytes, owner, jobId: request.jobId, state, fulfilledChains }),
  };
}

/** @throws ResourceMapError `cluster_not_found`, `cluster_omitted`, `snapshot_unavailable` */
function readable(clusterId: string, { head, content }: ClaimSituation) {
  if (head === undefined) throw new ClusterNotFoundError(clusterId);
  if (head.omittedAtMs !== undefined) {
    throw new ResourceMapError(
      'cluster_omitted',
      `Cluster ${quote(clusterId)} is out of the map, so nothing is known to be free there; claim when it is back.`,
    );
  }
  if (content === undefined) {
    throw new ResourceMapError(
      'snapshot_unavailable',
      `The snapshot of cluster ${quote(clusterId)} cannot be read at the moment; claims stay as they are. Try again.`,
      { retryAfterSeconds: 2 },
    );
  }
  return { head, content };
}
