/** What one request may cost, each number with its reason. */

/**
 * Bytes of a body as sent. API Gateway ends at 10 MB and Lambda at 6 MB of base64, so
 * this binds the local service alone; a 40 MB snapshot deflates to a tenth of it.
 */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Bytes of a body after inflating: a cluster of 100,000 nodes with an allocation each
 * is some 8 MB. Counted while inflating, so a bomb stops here and not at its end.
 */
export const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

/** A question to sync: the clock of 50,000 clusters under ids of 60 bytes. */
export const MAX_SYNC_BYTES = 4 * 1024 * 1024;

/**
 * A Lambda answers in at most 6 MB (6,291,556 bytes), in which a binary body is base64 and the
 * headers have their share.
 */
export const MAX_LAMBDA_ANSWER_BYTES = 4_600_000;
