/** A claim in the hands of its owner, with the deadline after which nothing may be started on it. */
import { type Claim, ClaimState } from '../gen/resourcemap/v1/claims_pb.ts';
import type { ClaimClient, ReleaseOptions, RenewOptions } from './claim-client.ts';

/**
 * Work may not be started: the claim is not confirmed, or its time is over or as good as over.
 *
 * @example
 * ```ts
 * import { ClaimNotStartableError } from '@resource-map/client';
 *
 * const isTooLate = (error: unknown): boolean => error instanceof ClaimNotStartableError;
 * ```
 */
export class ClaimNotStartableError extends Error {
  override readonly name = 'ClaimNotStartableError';
}

/**
 * What a start may take if the caller does not say, in milliseconds: creating a pod, with a retry.
 *
 * @example
 * ```ts
 * import { DEFAULT_START_MARGIN_MS } from '@resource-map/client';
 *
 * held.start(() => createPods(), 2 * DEFAULT_START_MARGIN_MS);
 * ```
 */
export const DEFAULT_START_MARGIN_MS = 5_000;

type Calls = Pick<ClaimClient, 'confirm' | 'renew' | 'release'>;

/**
 * The deadline is kept on this process's monotonic clock and counts from before the request was sent, so neither
 * a clock that is set nor a slow response makes it late. That clock may stop while a machine is suspended; a
 * scheduler that can be suspended confirms again after it.
 *
 * @example
 * ```ts
 * import { createClaimClient, HeldClaim } from '@resource-map/client';
 *
 * // Under an id that was written down before: what a scheduler that crashed does again.
 * const claims = createClaimClient({ baseUrl: 'http://127.0.0.1:8080' });
 * const held = await HeldClaim.from(claims, () => claims.put('a', id, request));
 * ```
 */
export class HeldClaim {
  #claim: Claim;
  #deadlineMs: number;

  private constructor(
    private readonly calls: Calls,
    claim: Claim,
    sentMs: number,
  ) {
    this.#claim = claim;
    this.#deadlineMs = deadlineOf(claim, sentMs);
  }

  /** @param accept sends the request that the claim is the response to */
  static async from(calls: Calls, accept: () => Promise<Claim>): Promise<HeldClaim> {
    const sentMs = performance.now();
    return new HeldClaim(calls, await accept(), sentMs);
  }

  /** As of the last response. */
  get claim(): Claim {
    return this.#claim;
  }

  /** Milliseconds until its time is over; 0 once it is. */
  get remainingMs(): number {
    return Math.max(0, this.#deadlineMs - performance.now());
  }

  /** Judged on the newest snapshot; from then on work may be started. Throws ApiError as the client does. */
  async confirm(options?: RenewOptions): Promise<Claim> {
    return this.#changed(() => this.calls.confirm(this.#claim.clusterId, this.#claim.id, options));
  }

  async renew(options?: RenewOptions): Promise<Claim> {
    return this.#changed(() => this.calls.renew(this.#claim.clusterId, this.#claim.id, options));
  }

  /** Nothing is started on it from now on, whatever becomes of the request. */
  async release(options?: ReleaseOptions): Promise<Claim> {
    this.#deadlineMs = Number.NEGATIVE_INFINITY;
    this.#claim = await this.calls.release(this.#claim.clusterId, this.#claim.id, options);
    return this.#claim;
  }

  /**
   * Starts work now, or refuses. Await nothing between this call and the start itself.
   *
   * @param marginMs what the start may take at most: with less time than that it is refused
   * @throws ClaimNotStartableError
   */
  start<T>(work: () => T, marginMs = DEFAULT_START_MARGIN_MS): T {
    const { id, state } = this.#claim;
    if (state !== ClaimState.CONFIRMED) {
      throw new ClaimNotStartableError(
        `Claim ${id} is ${ClaimState[state].toLowerCase()}, not confirmed; confirm it before anything is started.`,
      );
    }
    if (this.remainingMs < marginMs || this.remainingMs === 0) {
      throw new ClaimNotStartableError(
        `Claim ${id} has ${Math.floor(this.remainingMs)} ms left, and a start may take ${marginMs} ms; confirm it again first.`,
      );
    }
    return work();
  }

  async #changed(call: () => Promise<Claim>): Promise<Claim> {
    const sentMs = performance.now();
    this.#claim = await call();
    this.#deadlineMs = deadlineOf(this.#claim, sentMs);
    return this.#claim;
  }
}

function deadlineOf({ expiresIn }: Claim, sentMs: number): number {
  return sentMs + Number(expiresIn?.seconds ?? 0n) * 1_000 + (expiresIn?.nanos ?? 0) / 1e6;
}
