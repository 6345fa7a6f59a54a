/**
 * What a push does, apart from HTTP: rules, canonical form, commit.
 */
import { create } from '@bufbuild/protobuf';
import { InvalidSnapshotError } from '../../core/errors.ts';
import { type Finding, type Findings, NO_FINDINGS } from '../../core/findings.ts';
import { acceleratorTotals } from '../../core/snapshot/accelerators.ts';
import { encodeContent } from '../../core/snapshot/canonical.ts';
import { contentIdOf, deflateContent } from '../../core/snapshot/content.ts';
import { identityOf } from '../../core/snapshot/identity.ts';
import {
  type CapacityFacts,
  capacityFacts,
  checkNodeTypeSuccession,
  checkSnapshot,
  checkSuccession,
  checkTimeAndCounter,
  lossBetween,
  lossFindings,
  mergeFindings,
  NO_LOSS,
  type RuleContext,
  type SucceedingSnapshot,
} from '../../core/snapshot/rules/index.ts';
import type { WireContent } from '../../core/snapshot/wire-content.ts';
import { nanosOf } from '../../core/timestamp.ts';
import { ClusterIdentitySchema, type ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { commitSnapshot, readPrior, type Store, type Succession } from '../../storage/commit.ts';
import { type Decision, type Prior, refuseRegression } from '../../storage/decide.ts';
import type { Head } from '../../storage/head.ts';
import type { KnownContent } from './known-contents.ts';
import { PreviousCapacity } from './previous-capacity.ts';

/** What an accepted push is answered with. */
export interface Published {
  readonly decision: Decision;
  readonly head: Head;
  /** Of the push. */
  readonly logicalCounter: bigint;
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

type PushContext = RuleContext & Omit<PublishRequest, 'snapshot'>;

/**
 * Publishes a snapshot. The snapshot is reordered in place.
 *
 * @param judged gets what a later push of the same content needs, if nothing was found in this one
 * @throws InvalidSnapshotError with every finding; CounterConflictError; ContentionError
 */
export async function publishSnapshot(
  store: Store,
  request: PublishRequest,
  nowMs: number,
  judged?: (known: KnownContent, content: Uint8Array) => void,
): Promise<Published> {
  const { snapshot, ...settings } = request;
  const { clusterId } = settings;
  const context: PushContext = { ...settings, nowMs };
  const prior = await priorOf(store, clusterId, snapshot);

  const own = checkSnapshot(snapshot, context);
  // Before anything is encoded: most of what is refused is refused for what this finds.
  refuseIfRejected(mergeFindings([own, succession(snapshot, context, prior)]));

  // Before encodeContent, whose canonical order is not the one that the findings' paths are in.
  const capacity = capacityFacts(snapshot);
  const content = encodeContent(snapshot);
  const known: KnownContent = {
    contentId: contentIdOf(clusterId, content),
    cluster: snapshot.cluster ?? create(ClusterIdentitySchema),
    accelerators: acceleratorTotals(snapshot),
  };
  const published = await commit(
    store,
    { snapshot, known, own, capacity: () => capacity, content: () => content },
    context,
    prior,
  );
  if (own.warnings === 0) judged?.(known, content);
  return published;
}

/** A push of which all but time and counter is known. */
export interface RepeatedContent {
  readonly wire: WireContent;
  readonly known: KnownContent;
  /** The whole snapshot, decoded; called only where its content has to be written after all. */
  readonly decode: () => ClusterResourceMap;
}

/**
 * Publishes a snapshot of known content, as {@link publishSnapshot} would.
 *
 * @throws InvalidSnapshotError with every finding; CounterConflictError; ContentionError
 */
export async function publishKnownContent(
  store: Store,
  request: Omit<PublishRequest, 'snapshot'>,
  { wire, known, decode }: RepeatedContent,
  nowMs: number,
): Promise<Published> {
  const context: PushContext = { ...request, nowMs };
  const snapshot: SucceedingSnapshot = { ...wire, cluster: known.cluster };
  const prior = await priorOf(store, request.clusterId, snapshot);
  const own = checkTimeAndCounter(snapshot, context);
  refuseIfRejected(mergeFindings([own, succession(snapshot, context, prior)]));
  const content = (): Uint8Array => encodeContent(decode());
  const capacity = (): CapacityFacts => capacityFacts(decode());
  return commit(store, { snapshot, known, own, capacity, content }, context, prior);
}

/** @throws CounterConflictError where the counter is below the high-water mark */
async function priorOf(
  store: Store,
  clusterId: string,
  { logicalCounter }: SucceedingSnapshot,
): Promise<Prior> {
  const prior = await readPrior(store.heads, clusterId);
  // 0 is no counter at all, which the rules say better than a conflict would.
  if (logicalCounter > 0n) refuseRegression(prior, { clusterId, counter: logicalCounter });
  return prior;
}

/** A snapshot that passed the rules that it can break alone. */
interface Judged {
  readonly snapshot: SucceedingSnapshot;
  readonly known: KnownContent;
  /** What those rules found. */
  readonly own: Findings;
  readonly capacity: () => CapacityFacts;
  /** In canonical form. */
  readonly content: () => Uint8Array;
}

async function commit(
  store: Store,
  { snapshot, known, own, capacity, content }: Judged,
  context: PushContext,
  prior: Prior,
): Promise<Published> {
  const { contentId, accelerators, cluster } = known;
  const previousCapacity = new PreviousCapacity(store.contents);
  let all = own;
  const succeed = async (latest: Prior): Promise<Succession> => {
    const previous = await previousCapacity.of(latest, contentId);
    const present = previous === undefined ? undefined : capacity();
    const loss = previous === undefined || present === undefined ? NO_LOSS : lossBetween(previous, present);
    const lost = lossFindings(loss, context);
    all = mergeFindings([
      own,
      succession(snapshot, context, latest),
      previous === undefined || present === undefined
        ? NO_FINDINGS
        : checkNodeTypeSuccession(previous, present, context),
      lost,
    ]);
    refuseIfRejected(all);
    return { warnings: all.warnings - lost.warnings, loss };
  };
  const { collectedAt } = snapshot;
  if (collectedAt === undefined) throw new Error('The rules let a snapshot without collected_at pass.');
  const done = await commitSnapshot(
    store,
    {
      clusterId: context.clusterId,
      counter: snapshot.logicalCounter,
      collectedAtNanos: nanosOf(collectedAt),
      contentId,
      identity: identityOf({ cluster }),
      accelerators,
      observedAtMs: context.observedAtMs,
      encode: () => deflateContent(contentId, content()),
      succeed,
    },
    prior,
    context.nowMs,
  );
  const { logicalCounter } = snapshot;
  return { ...done, logicalCounter, warnings: all.findings, omittedWarnings: all.omitted };
}

/** @throws InvalidSnapshotError */
function refuseIfRejected({ findings, rejects, omitted }: Findings): void {
  if (rejects > 0) throw new InvalidSnapshotError(findings, rejects, omitted);
}

function succession(snapshot: SucceedingSnapshot, context: RuleContext, prior: Prior): Findings {
  switch (prior.kind) {
    case 'head':
      return checkSuccession(snapshot, context, prior.head);
    case 'retired':
      return checkSuccession(snapshot, context, prior.mark);
    case 'none':
      return checkSuccession(snapshot, context, { highWater: prior.floor });
  }
}
