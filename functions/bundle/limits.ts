/** Limits of planning, each with its reason. */

/**
 * Devices of one node that planning looks at. The largest nodes have 16, racks that are one
 * node 72; a snapshot may claim four thousand million.
 */
export const MAX_DEVICES = 256;

/**
 * Steps of search that one request may take, shared evenly by its bundles. A step takes a
 * microsecond or two, so that the hardest request ends within ten seconds.
 */
export const MAX_PLAN_STEPS = 5_000_000;

/** Steps that each bundle has however many there are: over a fleet of 10,000 kinds of nodes most take some 5,000. */
export const MIN_BUNDLE_STEPS = 20_000;
