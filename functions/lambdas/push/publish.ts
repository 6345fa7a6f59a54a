/**
 * What a push does, apart from HTTP: rules, canonical form, commit.
 */
import { InvalidSnapshotError } from '../../core/errors.ts';
import { type Finding, type Findings, NO_FINDINGS } from '../../core/findings.ts';
import { acceleratorTotals } from '../../core/snapshot/accelerators.ts';
import { encodeContent } from '../../core/snapshot/canonical.ts';
import { contentIdOf, deflateContent } from '../../core/snapshot/content.ts';
import { identityOf } from '../../core/snapshot/identity.ts';
import {
  capacityFacts,
  checkNodeTypeSuccession,
  checkSnapshot,
  checkSuccession,
  lossBetween,
  lossFindings,
  mergeFindings,
  NO_LOSS,
  type RuleContext,
} from '../../core/snapshot/rules/index.ts';
import { nanosOf } from '../../core/timestamp.ts';
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { commitSnapshot, readPrior, type Store, type Succession } from '../../storage/commit.ts';
import { type Decision, type Prior, refuseRegression } from '../../storage/decide.ts';
import type { Head } from '../../storage/head.ts';
import { PreviousCapacity } from './previous-capacity.ts';

/** What an accepted push is answered with. */
export interface Published {
  readonly decision: Decision;
  readonly head: Head;
  readonly warnings: readonly Finding[];
  /** Warnings beyond the cap. */
  readonly omittedWarnings: number;
}

/** A push as it came, decoded. */
export interface PublishRequest {
  /** Of the URL. */
  readonly clusterId: string;
  readonly snapshot: ClusterResourceMap;
  readonly allowJump: boolean;
  readonly strict: boolean;
  /** How far ahead of the service's clock `collected_at` may be; the rule book's 5 minutes where not given. */
  readonly maxFutureSkewMs?: number | undefined;
  /** A time of ours, in milliseconds since the epoch, that the agent had before it began its cut. */
  readonly observedAtMs?: number | undefined;
}

/**
 * Publishes a snapshot. The snapshot is reordered in place.
 *
 * @throws InvalidSnapshotError with every finding; CounterConflictError; ContentionError
 */
export async function publishSnapshot(
  store: Store,
  request: PublishRequest,
  nowMs: number,
): Promise<Published> {
  const { snapshot, ...settings } = request;
  const { clusterId } = settings;
  const context: RuleContext = { ...settings, nowMs };
  const prior = await readPrior(store.heads, clusterId);
  // 0 is no counter at all, which the rules say better than a conflict would.
  if (snapshot.logicalCounter > 0n) {
    refuseRegression(prior, { clusterId, counter: snapshot.logicalCounter });
  }

  const own = checkSnapshot(snapshot, context);
  // Before anything is encoded: most of what is refused is refused for what this finds.
  refuseIfRejected(mergeFindings([own, succession(snapshot, context, prior)]));

  // Before encodeBody, whose canonical order is not the one that the findings' paths are in.
  const capacity = capacityFacts(snapshot);
  const body = encodeContent(snapshot);
  const contentId = contentIdOf(clusterId, body);
  const previousCapacity = new PreviousCapacity(store.contents);
  let all = own;
  const succeed = async (latest: Prior): Promise<Succession> => {
    const previous = await previousCapacity.of(latest, contentId);
    const loss = previous === undefined ? NO_LOSS : lossBetween(previous, capacity);
    const lost = lossFindings(loss, context);
    all = mergeFindings([
      own,
      succession(snapshot, context, latest),
      previous === undefined ? NO_FINDINGS : checkNodeTypeSuccession(previous, capacity, context),
      lost,
    ]);
    refuseIfRejected(all);
    return { warnings: all.warnings - lost.warnings, loss };
  };
  const collectedAt = snapshot.collectedAt;
  if (collectedAt === undefined) throw new Error('The rules let a snapshot without collected_at pass.');
  const commit = await commitSnapshot(
    store,
    {
      clusterId,
      counter: snapshot.logicalCounter,
      collectedAtNanos: nanosOf(collectedAt),
      contentId,
      identity: identityOf(snapshot),
      accelerators: acceleratorTotals(snapshot),
      observedAtMs: request.observedAtMs,
      encode: () => deflateContent(contentId, body),
      succeed,
    },
    prior,
    nowMs,
  );
  return { ...commit, warnings: all.findings, omittedWarnings: all.omitted };
}

/** @throws InvalidSnapshotError */
function refuseIfRejected({ findings, rejects, omitted }: Findings): void {
  if (rejects > 0) throw new InvalidSnapshotError(findings, rejects, omitted);
}

function succession(snapshot: ClusterResourceMap, context: RuleContext, prior: Prior): Findings {
  switch (prior.kind) {
    case 'head':
      return checkSuccession(snapshot, context, prior.head);
    case 'retired':
      return checkSuccession(snapshot, context, prior.mark);
    case 'none':
      return checkSuccession(snapshot, context, { highWater: prior.floor });
  }
}
