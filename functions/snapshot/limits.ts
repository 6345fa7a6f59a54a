/** Limits of what a snapshot may be, each with its reason. */

/** DNS names and Kubernetes object names end here, and so does what an id needs. */
export const MAX_ID_BYTES = 253;

/** Enough to mend an agent by; at some 200 B each an answer stays near 200 KB. */
export const MAX_FINDINGS = 1_000;

/** An agent's clock that is off by more than NTP ever is off. */
export const MAX_FUTURE_SKEW_MS = 5 * 60_000;

/** A corrupt counter must not lock a cluster out; at a push a millisecond this lasts 285,000 years. */
export const MAX_COUNTER_JUMP = 2n ** 53n;

/** The last uint64 has no successor, so no counter may be it. */
export const COUNTER_EXHAUSTED = 2n ** 64n - 1n;
