/**
 * The commit of a push: read the head, decide, write the body, move the head, and on
 * losing a race decide again. What was acknowledged is in the table.
 */

import { CONTENT_RENEW_S } from '../core/membership.ts';
import type { AcceleratorTotals } from '../core/snapshot/accelerators.ts';
import type { EncodedContent } from '../core/snapshot/content.ts';
import type { Identity } from '../core/snapshot/identity.ts';
import { type Loss, NO_LOSS, warningsOf } from '../core/snapshot/rules/index.ts';
import type { ContentStore } from './contents.ts';
import { type Decision, decidePush, type Prior, type PushFacts } from './decide.ts';
import { ClusterNotFoundError, ContentionError, HeadConflictError } from './errors.ts';
import type { ContentRef, Head } from './head.ts';
import type { HeadStore } from './heads.ts';
import { backOff } from './retry.ts';

/** Both stores of one deployment. */
export interface Store {
  readonly heads: HeadStore;
  readonly contents: ContentStore;
}

/** A push that passed the rules. */
export interface Push extends PushFacts {
  readonly identity: Identity;
  readonly accelerators: readonly AcceleratorTotals[];
  /** What the agent sent back of our time; see {@link Head.observedAtMs}. */
  readonly observedAtMs?: number | undefined;
  /** Deflates the body; called only when it must be written. */
  readonly encode: () => Promise<EncodedContent>;
  /**
   * Applies the rules that compare with what was accepted before, throws what they
   * refuse, and gives the number of all warnings. Called again with the newer head
   * when another writer came between.
   */
  readonly succeed: (prior: Prior) => Succession | Promise<Succession>;
}

/** What a head says of how its snapshot follows the one before. */
export interface Succession {
  /** Of the push, without those of the loss. */
  readonly warnings: number;
  /** Of content that differs from the one before; the head's own goes on where it does not. */
  readonly loss: Loss;
}

/** What became of it. */
export interface Commit {
  readonly decision: Decision;
  /** The head as it is now. */
  readonly head: Head;
}

/** Sixteen lost races in a row are a fleet of agents on one cluster, not bad luck. */
const MAX_ATTEMPTS = 16;
const CONFLICT_BACKOFF = { baseMs: 5, capMs: 200 } as const;

/**
 * A push that stands there already and comes again within this time is the retry of one whose
 * answer got lost, and costs nothing. Later it is an agent that is alive and has nothing new
 * to say: its head's received time moves, or the sweeper would take an agent for silent that
 * was answered a moment ago.
 */
const RETRY_WINDOW_MS = 5_000;

/** What was accepted last: head first, then the retired mark, in this order (see {@link HeadStore.readRetired}). */
export async function readPrior(heads: HeadStore, clusterId: string): Promise<Prior> {
  const head = await heads.read(clusterId);
  if (head !== undefined) return { kind: 'head', head };
  const mark = await heads.readTombstone(clusterId);
  if (mark !== undefined) return { kind: 'retired', mark };
  return { kind: 'none', floor: await heads.readFloor() };
}

/**
 * Commits a push on top of `prior`, which the caller has just read.
 *
 * @throws CounterConflictError, ContentionError, and what `push.succeed` throws
 */
export async function commitSnapshot(store: Store, push: Push, prior: Prior, nowMs: number): Promise<Commit> {
  let seen = prior;
  let written: ContentRef | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const decision = decidePush(seen, push);
    const succession = await push.succeed(seen);
    const standing = seen.kind === 'head' ? seen.head : undefined;
    if (decision === 'repeat' && standing !== undefined && nowMs - standing.receivedAtMs < RETRY_WINDOW_MS)
      return { decision, head: standing };

    const body =
      written ??
      (decision !== 'publish' && standing !== undefined && canStay(standing, nowMs)
        ? standing.body
        : undefined);
    if (body === undefined) written = await store.contents.write(await push.encode(), nowMs);

    const next = nextHead(push, decision, standing, body ?? written, succession, nowMs);
    try {
      await store.heads.replace(standing, next);
      return { decision, head: next };
    } catch (error) {
      if (!(error instanceof HeadConflictError)) throw error;
      await backOff(CONFLICT_BACKOFF, attempt);
      // Every engine but DynamoDB itself may leave the item out.
      seen =
        error.current === undefined
          ? await readPrior(store.heads, push.clusterId)
          : { kind: 'head', head: error.current };
    }
  }
  throw new ContentionError(push.clusterId, MAX_ATTEMPTS);
}

/**
 * Takes a cluster out of the map; one that is out already stays as it is.
 *
 * @throws ClusterNotFoundError, ContentionError
 */
export async function omitCluster(
  heads: HeadStore,
  clusterId: string,
  reason: string,
  nowMs: number,
): Promise<Head> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const head = await heads.read(clusterId);
    if (head === undefined) throw new ClusterNotFoundError(clusterId);
    if (head.omission !== undefined) return head;
    try {
      return await heads.omit(head, reason, nowMs);
    } catch (error) {
      if (!(error instanceof HeadConflictError)) throw error;
      await backOff(CONFLICT_BACKOFF, attempt);
    }
  }
  throw new ContentionError(clusterId, MAX_ATTEMPTS);
}

/**
 * Whether a refresh can leave the body as it is. A cluster that comes back gets its body
 * written again, so that taking one out and pushing it again fixes a body that was lost.
 */
function canStay({ omission, body }: Head, nowMs: number): boolean {
  return omission === undefined && body.expiresAtS - nowMs / 1_000 >= CONTENT_RENEW_S;
}

function nextHead(
  push: Push,
  decision: Decision,
  standing: Head | undefined,
  body: ContentRef | undefined,
  succession: Succession,
  nowMs: number,
): Head {
  if (body === undefined) throw new Error('A head was to be written without a body.');
  // A repeat is no new look at the cluster.
  const loss = decision === 'publish' ? succession.loss : (standing?.loss ?? NO_LOSS);
  const warnings = succession.warnings + warningsOf(loss);
  const observedAtMs = decision === 'repeat' ? standing?.observedAtMs : push.observedAtMs;
  return {
    clusterId: push.clusterId,
    highWater: push.counter,
    collectedAtNanos: push.collectedAtNanos,
    ...(observedAtMs === undefined ? {} : { observedAtMs }),
    receivedAtMs: nowMs,
    contentSince:
      decision !== 'publish' && standing !== undefined
        ? {
            counter: standing.contentSince.counter,
            // Back in the map: it shows the content only from now on. Sync sends what has stood
            // longest first, so clusters that come and go would otherwise be ahead of all others.
            atMs: standing.omission === undefined ? standing.contentSince.atMs : nowMs,
          }
        : { counter: push.counter, atMs: nowMs },
    body,
    identity: push.identity,
    accelerators: push.accelerators,
    omittedModels: 0,
    warnings,
    ...(warningsOf(loss) === 0 ? {} : { loss }),
  };
}
