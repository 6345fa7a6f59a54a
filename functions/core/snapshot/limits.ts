/** Limits of what a snapshot may be, each with its reason. */

/** DNS names and Kubernetes object names end here, and so does what an id needs. */
export const MAX_ID_BYTES = 253;

/** Enough to fix an agent by; at some 200 B each a response stays near 200 KB. */
export const MAX_FINDINGS = 1_000;

/** An agent's clock that is off by more than NTP ever is off. */
export const MAX_FUTURE_SKEW_MS = 5 * 60_000;

/** More nodes of one type than the largest clusters have of all types. */
export const PLAUSIBLE_NODES = 100_000;

/** More accelerators than any machine has. */
export const PLAUSIBLE_ACCELERATORS_PER_NODE = 1_024;

/** A corrupt counter must not lock a cluster out; at a push a millisecond this lasts 285,000 years. */
export const MAX_COUNTER_JUMP = 2n ** 53n;

/** The last uint64 has no successor, so no counter may be it. */
export const COUNTER_EXHAUSTED = 2n ** 64n - 1n;

/**
 * Messages, list entries, map entries and unknown fields of a body: a cluster of 100,000
 * nodes with a pod on each has some 700,000. Each takes up to 220 bytes of heap once
 * decoded, however few it takes on the wire.
 */
export const MAX_ELEMENTS = 1_000_000;

/**
 * Values of a JSON body: what half as large a snapshot has in Protobuf. A value takes up
 * to 200 bytes while a body is parsed and checked.
 */
export const MAX_JSON_VALUES = 2_000_000;

/**
 * Different map keys of a body, or different names of a JSON one. JavaScript engines keep
 * every name they meet, and the shape of every object; a clock of this many clusters is
 * the most that anybody needs.
 */
export const MAX_DISTINCT_KEYS = 65_536;

/** Messages within messages, or groups: the deepest message of the API has eight levels. */
export const MAX_NESTING = 64;
