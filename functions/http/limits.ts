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
