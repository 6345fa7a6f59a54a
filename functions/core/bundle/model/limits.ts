/** Limits of what a request about bundles may hold, each with its reason. */
import { MAX_ID_BYTES } from '../../snapshot/limits.ts';

/** Bytes of a request after inflating: {@link MAX_CANDIDATES} inventories in JSON, at 1 KB to 1.5 KB each. */
export const MAX_BUNDLE_REQUEST_BYTES = 32 * 1024 * 1024;

/** Bytes of a pool in JSON: what is kept in Protobuf ends at 380 KB. */
export const MAX_POOL_REQUEST_BYTES = 4 * 1024 * 1024;

/** A bundle is one workload; a live production chain has tens of jobs. */
export const MAX_JOBS = 500;

/** Enough for a scheduler's whole queue, and so few that each has its {@link MIN_BUNDLE_STEPS} in the time of one request. */
export const MAX_BUNDLES = 500;

/** Jobs of all bundles of a request: each is answered, with a reason of some 500 bytes where it has no node. */
export const MAX_JOBS_IN_ALL = 10_000;

/** Names in all placement lists of a request: each can be a finding of up to 1 KB, and all findings are reported. */
export const MAX_REFERENCES = 5_000;

/** Capabilities that all jobs of a request ask for: each is looked for in every profile or on every kind of node. */
export const MAX_REQUIREMENTS = 5_000;

/** Each service that takes something makes a new state of every kind of node. */
export const MAX_SERVICES = 32;

/** Services times candidates: an eager service has a placement of some 100 bytes on each node. */
export const MAX_SERVICE_PLACEMENTS = 100_000;

/** Every pool is tried on every kind of node. */
export const MAX_POOLS = 200;

/** Tiers of one pool: providers times purchase models are fewer. */
export const MAX_TIERS = 50;

/** Profiles of one pool, instance types of all its tiers together: a cloud has under a thousand. */
export const MAX_PROFILES = 1_000;

/** Values in one field of a selector. */
export const MAX_SELECTOR_VALUES = 1_000;

/** Inventories of one request. At some 1 KB each this is what a body can carry. */
export const MAX_CANDIDATES = 20_000;

/** Entries of one capability list. */
export const MAX_CAPABILITIES = 200;

/** Attributes of one capability. The map's accelerators have five. */
export const MAX_ATTRIBUTES = 64;

/** Bytes of a name. Pools, tiers and nodes stand in the answer once a job, so that a long name would be a long answer. */
export const MAX_NAME_BYTES = MAX_ID_BYTES;

/**
 * Devices of one node that planning looks at. The largest nodes have 16, racks that are one
 * node 72; a snapshot may claim four thousand million.
 */
export const MAX_DEVICES = 256;

/**
 * Steps of search that one request may take, shared evenly by its bundles. A step takes a
 * microsecond or a few, so that the hardest request ends within the 29 s of a deployed function.
 */
export const MAX_PLAN_STEPS = 3_500_000;

/**
 * Steps that a search for devices on one node may take, within those of its bundle: jobs with
 * shares of sixteen devices take hundreds. Nothing else is done meanwhile, so some ten milliseconds.
 */
export const MAX_STEPS_PER_NODE = 20_000;

/** Steps that each bundle has however many there are: over a fleet of 10,000 kinds of nodes most take some 5,000. */
export const MIN_BUNDLE_STEPS = 7_000;

/** Answers kept of which group of jobs a kind of node holds, over one copy as over all of a request: some 150 bytes each. */
export const MAX_RESPONSES = 2_000_000;

/** Steps of validating after which one profile is given the benefit of the doubt: no finding is made of what is not known. */
export const MAX_PROFILE_STEPS = 20_000;

/** Those for all profiles and jobs of one question together: a few seconds, where a bundle of tens of jobs takes thousands. */
export const MAX_PROFILE_STEPS_IN_ALL = 2_000_000;
