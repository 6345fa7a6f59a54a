/** How much work packing may take, each number with its reason. */

/**
 * Steps for one yes or no. A step is about 0.1 µs: a decision that ends undecided has
 * taken 100 to 200 ms, and everything that real sizes lead to ends in a thousandth of it.
 */
export const STEPS_PER_DECISION = 1_000_000;

/** Steps for all decisions about one candidate, since nothing else is done meanwhile: some 200 to 400 ms. */
export const STEPS_PER_CANDIDATE = 2_000_000;

/** Steps for all decisions of one request; what it asks beyond them is undecided. About 2 to 4 s. */
export const STEPS_PER_REQUEST = 20_000_000;

/**
 * Steps for all of one cluster's demand, once per change of its content. A cluster made up
 * to be hard costs a second, and the others nothing.
 */
export const STEPS_PER_VIEW = 5_000_000;
