/** How long a cluster may be silent, and how long its head is kept once it is out of the map. */

/** Seconds for which the content of an included cluster is kept at least: a push whose content has less left writes it again. */
export const CONTENT_RENEW_S = 12 * 3_600;

/** Lambda's limit for any function, whatever its own timeout. */
export const LONGEST_COMMIT_MS = 15 * 60_000;

/** No commit takes longer than {@link LONGEST_COMMIT_MS}; the rest of the hour is for clocks that disagree. */
export const MIN_RETIRE_AFTER_MS = 60 * 60_000;

export interface Membership {
  /** Milliseconds without a push after which a cluster is taken out of the map. */
  readonly omitAfterMs: number;
  /** Milliseconds out of the map after which only the mark is kept. */
  readonly retireAfterMs: number;
}

export const DEFAULT_MEMBERSHIP: Membership = {
  // Agents push every few seconds: this is an outage, not a restart.
  omitAfterMs: 15 * 60_000,
  // A cluster in maintenance for a night comes back to its own head.
  retireAfterMs: 24 * 60 * 60_000,
};

/** The omission reasons of the sweeper, on which alarms match: nothing came from the agent, or nothing acceptable. */
export const SILENT = 'silent';
export const REFUSED = 'refused';

/** Nobody may give them to a `DELETE`. */
export const SWEEPER_REASONS: ReadonlySet<string> = new Set([SILENT, REFUSED]);

/** A push is stamped when it arrives, and may take this long, API Gateway's limit, to reach its head. */
const MIN_OMIT_AFTER_MS = 30_000;

/** A cluster in the map has content for at least {@link CONTENT_RENEW_S}; the other half of it is for a sweeper that fails. */
const MAX_OMIT_AFTER_MS = (CONTENT_RENEW_S / 2) * 1_000;

/** A setting that would break a guarantee. */
export class MembershipError extends Error {
  override readonly name = 'MembershipError';
}

/** @throws MembershipError that names the value, what it breaks, and what may stand in its place */
export function checkMembership(membership: Membership): Membership {
  const { omitAfterMs, retireAfterMs } = membership;
  // Written so that NaN is refused as well.
  if (!(omitAfterMs >= MIN_OMIT_AFTER_MS && omitAfterMs <= MAX_OMIT_AFTER_MS)) {
    throw new MembershipError(
      `omitAfter is ${seconds(omitAfterMs)}; it must be from ${seconds(MIN_OMIT_AFTER_MS)}, within which a push may still be on its way, ` +
        `to ${seconds(MAX_OMIT_AFTER_MS)}, beyond which a cluster's body could expire while it is in the map.`,
    );
  }
  if (!(retireAfterMs >= MIN_RETIRE_AFTER_MS) || retireAfterMs === Number.POSITIVE_INFINITY) {
    throw new MembershipError(
      `retireAfter is ${seconds(retireAfterMs)}; it must be at least ${seconds(MIN_RETIRE_AFTER_MS)}. A push may be on its way for up to ` +
        `${seconds(LONGEST_COMMIT_MS)}, and one that began before a cluster was omitted must have ended before it is retired, ` +
        'or it could bring back a lower counter.',
    );
  }
  return membership;
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`;
}
