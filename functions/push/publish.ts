/**
 * What a push does, apart from HTTP: rules, canonical form, commit.
 */
import { InvalidSnapshotError } from '../errors.ts';
import type { ClusterResourceMap } from '../gen/resourcemap/v1/resource_map_pb.ts';
import { acceleratorTotals } from '../snapshot/accelerators.ts';
import { bodyIdOf, deflateBody } from '../snapshot/body.ts';
import { encodeBody } from '../snapshot/canonical.ts';
import { type Finding, type Findings, NO_FINDINGS } from '../snapshot/findings.ts';
import { MAX_FINDINGS } from '../snapshot/limits.ts';
import { checkSnapshot, checkSuccession, type RuleContext } from '../snapshot/rules/index.ts';
import { nanosOf } from '../snapshot/timestamp.ts';
import { commitSnapshot, readPrior, type Store } from '../store/commit.ts';
import { type Decision, type Prior, refuseRegression } from '../store/decide.ts';
import type { Head } from '../store/head.ts';
import { identityOf } from '../store/identity.ts';

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
  const { clusterId, snapshot, allowJump, strict } = request;
  const context: RuleContext = { clusterId, nowMs, allowJump, strict };
  const prior = await readPrior(store.heads, clusterId);
  // 0 is no counter at all, which the rules say better than a conflict would.
  if (snapshot.logicalCounter > 0n) {
    refuseRegression(prior, { clusterId, counter: snapshot.logicalCounter });
  }

  const own = checkSnapshot(snapshot, context);
  let all = own;
  const succeed = (latest: Prior): number => {
    all = together(own, succession(snapshot, context, latest));
    if (all.rejects > 0) throw new InvalidSnapshotError(all.findings, all.rejects, all.omitted);
    return all.warnings;
  };
  succeed(prior);

  const body = encodeBody(snapshot);
  const bodyId = bodyIdOf(clusterId, body);
  const collectedAt = snapshot.collectedAt;
  if (collectedAt === undefined) throw new Error('The rules let a snapshot without collected_at pass.');
  const commit = await commitSnapshot(
    store,
    {
      clusterId,
      counter: snapshot.logicalCounter,
      collectedAtNanos: nanosOf(collectedAt),
      bodyId,
      identity: identityOf(snapshot),
      accelerators: acceleratorTotals(snapshot),
      encode: () => deflateBody(bodyId, body),
      succeed,
    },
    prior,
    nowMs,
  );
  return { ...commit, warnings: all.findings, omittedWarnings: all.omitted };
}

function succession(snapshot: ClusterResourceMap, context: RuleContext, prior: Prior): Findings {
  if (prior.kind === 'none') return NO_FINDINGS;
  const { highWater, collectedAtNanos } = prior.kind === 'head' ? prior.head : prior.mark;
  return checkSuccession(snapshot, context, {
    highWater,
    collectedAtNanos,
    provider: previously('provider', snapshot, prior),
    region: previously('region', snapshot, prior),
    site: previously('site', snapshot, prior),
  });
}

/** A mark has no identity and a head a cut one: what they cannot tell from the new text counts as the same. */
function previously(
  field: 'provider' | 'region' | 'site',
  snapshot: ClusterResourceMap,
  prior: Exclude<Prior, { kind: 'none' }>,
): string {
  const now = snapshot.cluster?.[field] ?? '';
  if (prior.kind === 'retired') return now;
  const before = prior.head.identity[field];
  return before === identityOf(snapshot)[field] ? now : before;
}

function together(a: Findings, b: Findings): Findings {
  if (b === NO_FINDINGS) return a;
  const findings = [...a.findings, ...b.findings].slice(0, MAX_FINDINGS);
  const rejects = a.rejects + b.rejects;
  const warnings = a.warnings + b.warnings;
  return { findings, rejects, warnings, omitted: rejects + warnings - findings.length };
}
