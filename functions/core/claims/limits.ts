/** What a claim and a ledger may hold and for how long, each number with its reason. */

/** Seconds that a held claim lives if the request does not say: decisions take seconds. */
export const DEFAULT_HELD_TTL_S = 60;

/** Seconds at least: a request with retries takes as long. */
export const MIN_HELD_TTL_S = 5;

/** Seconds at most that one request holds a claim: two ticks of a planner that runs every 5 minutes. */
export const MAX_HELD_TTL_S = 600;

/** Seconds after its acceptance at which a held claim ends, however often it is renewed. */
export const MAX_HELD_S = 30 * 60;

/** Seconds that a confirmed claim lives if the request does not say: images are pulled, nodes come up. */
export const DEFAULT_CONFIRMED_TTL_S = 15 * 60;

/** Seconds at least: a deployer reads an event and creates pods. */
export const MIN_CONFIRMED_TTL_S = 60;

/** Seconds at most that one request confirms a claim for. */
export const MAX_CONFIRMED_TTL_S = 6 * 60 * 60;

/** Seconds after its acceptance until which a confirmed claim can be renewed. */
export const MAX_CONFIRMED_S = 24 * 60 * 60;

/** Live claims of one cluster: with claims of ordinary size, 600 bytes, the ledger stays below its bound. */
export const MAX_LIVE_CLAIMS = 64;

/** Live claims of one owner in one cluster: half of all, so that one caller leaves room for others. */
export const MAX_CLAIMS_PER_OWNER = 32;

/** Bytes of one claim in the ledger. */
export const MAX_HOLD_BYTES = 2_048;

/** Bytes of a ledger's live claims: 48 write units for the costliest write, far from DynamoDB's 400 KB. */
export const MAX_LEDGER_BYTES = 48 * 1024;

/** Bytes of a ledger that ended claims take before the oldest make room: 180 ends in two minutes. */
export const MAX_TOMBSTONE_BYTES = 8 * 1024;

/** Milliseconds that an ended claim is remembered: longer than any request lives, so that none brings it back. */
export const TOMBSTONE_MS = 2 * 60_000;

/** Milliseconds by which the clock that made a claim's id may be ahead of the service's. */
export const MAX_ID_AHEAD_MS = 60_000;

/** Bytes of a claim's note. */
export const MAX_NOTE_BYTES = 200;

/** Chain ids of one rank; more chains are claimed by their number. */
export const MAX_CHAIN_IDS = 32;

/** Ranks of one claim: those of a disaggregated deployment are two or three. */
export const MAX_CLAIM_RANKS = 16;

/** Pods of one claim over all of its chains: each is assigned a target in turn. */
export const MAX_CLAIM_PODS = 16_384;

/** Bytes of a job, rank or chain id in a claim, as the rules have it for snapshots. */
export const MAX_CLAIM_ID_BYTES = 253;

/** Bytes of a request: 4,096 pods with a few conditions each. */
export const MAX_CLAIM_BYTES = 1024 * 1024;

/**
 * Milliseconds by which the clocks of two of the service's own processes may differ.
 * AWS keeps its clocks within a few milliseconds; a machine without a time service may not.
 */
export const CLOCK_SKEW_MS = 5_000;

/** Milliseconds after its start within which a job must show in a cut of its cluster. */
export const VISIBILITY_MS = 20_000;
