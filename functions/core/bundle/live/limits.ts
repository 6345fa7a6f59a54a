/** Times and numbers of bundles that are kept placed, each with its reason. */

/** Bytes of an id: with copy and generation it is a job id of at most 63 bytes, which a label of Kubernetes holds. */
export const MAX_BUNDLE_ID_BYTES = 40;

/** Bytes of a request in JSON: what is stored of it in Protobuf ends at {@link MAX_STORED_BYTES}. */
export const MAX_STORED_REQUEST_BYTES = 1024 * 1024;

/** Jobs of a stored bundle: each has a placement, or a reason of some 500 bytes why there is none, in each copy. */
export const MAX_STORED_JOBS = 100;

/** Bytes of a stored bundle: DynamoDB's items end at 400 KB. */
export const MAX_STORED_BYTES = 380 * 1024;

/** Stored bundles: a round reads all of them, within the 29 s of a function. */
export const MAX_STORED_BUNDLES = 1_000;

/** Milliseconds before its start time from which a bundle is placed: deployers pull images and nodes come up. */
export const PLACE_AHEAD_MS = 5 * 60_000;

/** Milliseconds for which a part is held while the others are claimed. */
export const HOLD_MS = 60_000;

/** Milliseconds that deployers have to start a copy, as for any confirmed claim. */
export const START_WITHIN_MS = 15 * 60_000;

/** Milliseconds of its cluster's cuts for which a chain that ran may be missing: a controller replaces a pod within them. */
export const MISSING_MS = 60_000;

/** Milliseconds that a copy waits after its first failure, doubled with each further one. */
export const BACK_OFF_MS = 15_000;

/** Milliseconds that it waits at most: room that comes free is taken within them. */
export const MAX_BACK_OFF_MS = 5 * 60_000;

/** Milliseconds for which a degraded copy stays where it is before a better place is sought: each move stops it. */
export const REPAIR_AFTER_MS = 10 * 60_000;

/** Milliseconds at least of `replace_unknown_after`: a cluster is silent only after 15 minutes, and may be restarting. */
export const MIN_REPLACE_UNKNOWN_MS = 60_000;

/** Milliseconds at most. */
export const MAX_REPLACE_UNKNOWN_MS = 7 * 24 * 3_600_000;

/** Ranks of one claim, as claims have it; a copy of more makes several. */
export const RANKS_PER_CLAIM = 16;
