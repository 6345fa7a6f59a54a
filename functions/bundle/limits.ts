/** Limits of what a request about bundles may hold, each with its reason. */

/** A bundle is one workload; a live production chain has tens of jobs. */
export const MAX_JOBS = 500;

/** Names in all lists of a bundle: every one of them can be a finding, and all findings are reported. */
export const MAX_REFERENCES = 5_000;

/** Capabilities that all jobs of a bundle ask for: each is looked for in every profile. */
export const MAX_REQUIREMENTS = 2_000;

/** Enough for a scheduler's whole queue. */
export const MAX_BUNDLES = 1_000;

export const MAX_SERVICES = 100;

/** Every pool is tried on every kind of node. */
export const MAX_POOLS = 200;

/** Tiers of one pool, and profiles or instance types of one tier: a catalogue of a cloud has under a thousand. */
export const MAX_TIERS = 50;
export const MAX_PROFILES = 1_000;

/** Values in one field of a selector. */
export const MAX_SELECTOR_VALUES = 1_000;

/** Inventories in one request. At some 1 KB each this is what a body can carry. */
export const MAX_CANDIDATES = 20_000;

/** Entries of one capability list, and attributes of one entry. */
export const MAX_CAPABILITIES = 200;

/**
 * Devices of one node that planning looks at. The largest nodes have 16, racks that are one
 * node 72; a snapshot may claim four thousand million.
 */
export const MAX_DEVICES = 256;

/** Bytes of a name: pools, jobs, bundles, nodes, capabilities, as ids of the map. */
export const MAX_NAME_BYTES = 253;

/**
 * Steps of search that one request may take, shared evenly by its bundles. A step takes a
 * microsecond or two, so that the hardest request ends within ten seconds.
 */
export const MAX_PLAN_STEPS = 5_000_000;

/** Steps that each bundle has however many there are: over a fleet of 10,000 kinds of nodes most take some 5,000. */
export const MIN_BUNDLE_STEPS = 20_000;
