/** What one request may cost, each number with its reason. What its content may be is beside the code that reads it; docs/limits.md lists all. */

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
export const MAX_LAMBDA_RESPONSE_BYTES = 4_600_000;

/**
 * Bytes that one byte of gzip may stand for. Deflate ends at 1,032; real snapshots, in
 * which every node and pod has a name, reach 40.
 */
export const MAX_INFLATE_RATIO = 100;

/**
 * Bytes up to which the ratio is not asked: a small snapshot of many equal nodes
 * deflates to nearly nothing, and a body of this size costs little.
 */
export const RATIO_FREE_BYTES = 8 * 1024 * 1024;

/**
 * Bodies that are inflated at the same time. Inflating runs on libuv's four threads,
 * which the embedded database needs as well.
 */
export const MAX_CONCURRENT_INFLATES = 2;

/** Bodies that wait to be inflated: at 20 ms for one that is within the free bytes, about a second. */
export const MAX_WAITING_INFLATES = 64;

/**
 * Bytes of one element of a decoded message: the largest, a node type, takes 218 while
 * it is empty.
 */
export const BYTES_PER_ELEMENT = 256;

/**
 * Bytes that the bodies of all requests under way may hold: the largest body that is
 * within all limits, twice, and room for the many small ones.
 */
export const MAX_BYTES_IN_FLIGHT = 768 * 1024 * 1024;

/**
 * Bytes of these that requests may hold which wait for others to end, such as plans for their
 * turn: a third, so that they keep no push out.
 */
export const MAX_BYTES_WAITING = 256 * 1024 * 1024;

/**
 * Bytes of a request line with all headers: a cluster id takes at most 759 percent-encoded,
 * a token with many claims some 4,000. API Gateway ends at 10,240.
 */
export const MAX_HEADER_BYTES = 16 * 1024;

/** Milliseconds in which the headers of a request must have arrived: they fit in a few packets. */
export const HEADERS_TIMEOUT_MS = 10_000;

/** Milliseconds in which a whole request must have arrived: the largest body at 2 Mbit/s. */
export const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Milliseconds after which a body that is still coming in makes way for others that lack
 * memory: the largest that most clusters have, 1 MB, at 2 Mbit/s.
 */
export const SLOW_BODY_MS = 5_000;

/**
 * Seconds for which a response is held at most: API Gateway ends a request after 30 s, and what
 * is left is for the response itself.
 */
export const MAX_WAIT_SECONDS = 25;

/**
 * Answers that one caller may have held at a time (`Prefer: wait`): one for each process of a
 * scheduler and of its stand-in, and no more than leaves room in the memory for others, since
 * the largest question to sync takes 40 MB while it waits. In Lambda, where each held response
 * is a function of its own, the front's rates bound them.
 */
export const MAX_WAITS_PER_CALLER = 16;

/**
 * Listeners to the local service's events that one caller may have connected at a time: as many as
 * responses may be held for it, for the same reason. A service without tokens has one caller.
 */
export const MAX_LISTENERS_PER_CALLER = 16;

/**
 * Listeners of all callers: each has a connection for as long as it likes, and a process may have
 * 1,024 files open where nobody has raised that.
 */
export const MAX_LISTENERS = 256;

/** Seconds after which a caller with too many responses held or listeners may try again: some have come or gone by then. */
export const RETRY_WAIT_S = 5;

/** Milliseconds between two looks for requests whose time is up, by which they may take longer: Node's own are 30,000. */
export const TIMEOUT_CHECK_MS = 2_000;

/**
 * Milliseconds that a server that is asked to end has for the responses under way: Docker kills
 * what has not ended after 10,000, and Kubernetes after 30,000.
 */
export const CLOSE_GRACE_MS = 8_000;

/** Seconds after which a client that met an overload may try again. */
export const RETRY_OVERLOAD_S = 1;

/**
 * Bytes of an Authorization header: a token of an identity provider that lists hundreds of
 * groups has some 6,000.
 */
export const MAX_TOKEN_BYTES = 8 * 1024;

/** Audiences of a token, each of which is looked up: tokens have one, seldom three. */
export const MAX_AUDIENCES = 8;

/** Bytes of an issuer's discovery document or keys: three keys have some 2,000. */
export const MAX_ISSUER_RESPONSE_BYTES = 256 * 1024;

/** Seconds after which a client whose issuer did not answer may try again: keys are not fetched before. */
export const RETRY_ISSUER_S = 30;

/** Clusters that one list may be limited to: more of them are a list without `limit`. */
export const MAX_LISTED_CLUSTERS = 1_000;

/** Characters that names of clusters are searched for: no name is longer. */
export const MAX_SEARCH_LENGTH = 253;
