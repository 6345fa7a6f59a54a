/** What one fit question may hold, each number with its reason. */

/** Shapes are answered one after the other, each over every cluster. */
export const MAX_SHAPES = 64;

/** The largest training jobs have some thousand pods, and those are chains of a few pods many times over. */
export const MAX_PODS_PER_CHAIN = 4_096;

/** Each names a chain whose cluster has to be derived again. */
export const MAX_RELEASED_CHAINS = 1_000;

/** Claims that a question leaves out: all of one owner in a cluster, with room for several clusters. */
export const MAX_WITHOUT_CLAIMS = 256;

/** Candidates of a shape in an answer where the question does not say. */
export const DEFAULT_CANDIDATES = 100;

/** At some 2 KB each the answer stays within what a function can carry. */
export const MAX_CANDIDATES = 1_000;

/** Bytes of a question, as sent and inflated: 64 shapes of 4,096 pods are half of it. */
export const MAX_FIT_BYTES = 16 * 1024 * 1024;
