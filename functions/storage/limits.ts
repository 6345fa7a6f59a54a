/** What is kept, and what one read of it takes, each number with its reason. */

/** An item ends at 400 KB, of which names and the version take their share. */
export const MAX_POOL_BYTES = 380_000;

/**
 * Bytes of pools, as they are kept, that one list reads: hundreds of large ones or some hundred
 * thousand small ones, in seconds. How many are kept cannot be limited without a race, nor
 * need it be: what is read is what costs.
 */
export const MAX_LISTED_POOL_BYTES = 16 * 1024 * 1024;
