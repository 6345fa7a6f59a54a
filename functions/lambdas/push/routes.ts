/** What an agent may do: push, and take its cluster out of the map. */
import { create } from '@bufbuild/protobuf';
import { ResourceMapError } from '../../core/errors.ts';
import { SWEEPER_REASONS } from '../../core/membership.ts';
import { quote } from '../../core/quote.ts';
import { cutUtf8 } from '../../core/snapshot/identity.ts';
import { checkSnapshot } from '../../core/snapshot/rules/index.ts';
import { wireContentOf } from '../../core/snapshot/wire-content.ts';
import { ClusterResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import {
  ClusterStatusSchema,
  FindingSchema,
  PushOutcome,
  PushResultSchema,
  ValidateResultSchema,
} from '../../gen/resourcemap/v1/service_pb.ts';
import type { App } from '../../http/app-env.ts';
import { CLUSTER_ROUTE, clusterIdOf, SNAPSHOT_ROUTE } from '../../http/cluster-path.ts';
import { clusterStatus } from '../../http/cluster-status.ts';
import { responseFormat } from '../../http/media-type.ts';
import { observedAtMs, sendObserved } from '../../http/observed.ts';
import { booleanParameter, refuseUnknownParameters } from '../../http/query.ts';
import { readEncoded, readMessage } from '../../http/read-message.ts';
import { respond } from '../../http/respond.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import { omitCluster, type Store } from '../../storage/commit.ts';
import type { Decision } from '../../storage/decide.ts';
import { KnownContents } from './known-contents.ts';
import { type Published, publishKnownContent, publishSnapshot } from './publish.ts';
import { RefusalRecorder } from './refusal-recorder.ts';

export interface PushDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How far ahead of that a snapshot's `collected_at` may be; the rule book's 5 minutes where not given. */
  readonly maxFutureSkewMs?: number | undefined;
  /** After how long without a push a cluster leaves the map: an agent is to push more often. */
  readonly omitAfterMs?: number | undefined;
}

const OUTCOMES: Readonly<Record<Decision, PushOutcome>> = {
  publish: PushOutcome.PUBLISHED,
  refresh: PushOutcome.REFRESHED,
  repeat: PushOutcome.ALREADY_PUBLISHED,
};

/** Takes a snapshot, applies the rules that one alone can break, and keeps nothing of it. */
export const VALIDATE_PATH = '/v1/snapshots/validate';

/** A sentence, as it is in the head of an omitted cluster. */
const MAX_REASON_BYTES = 200;

export function pushRoutes(
  app: App,
  { store, telemetry, now, maxFutureSkewMs, omitAfterMs }: PushDeps,
): void {
  const contents = new KnownContents();
  const recorder = new RefusalRecorder(store.heads.refusals, telemetry);
  app.put(SNAPSHOT_ROUTE, sendObserved(now), async (c, next) => {
    const clusterId = clusterIdOf(c, '/snapshot');
    await next();
    if (c.error === undefined) recorder.accepted(clusterId);
    else await recorder.refused(clusterId, c.error, now());
  });
  app.put(SNAPSHOT_ROUTE, async (c) => {
    const clusterId = clusterIdOf(c, '/snapshot');
    refuseUnknownParameters(c, ['allow_jump', 'strict']);
    const allowJump = booleanParameter(c, 'allow_jump');
    const strict = booleanParameter(c, 'strict');
    const observed = observedAtMs(c, now());
    // Asked now, so that a client that takes neither format learns it before anything is written.
    responseFormat(c);
    const { bytes, format, decode } = await readEncoded(c, ClusterResourceMapSchema);
    const wire = format === 'protobuf' ? wireContentOf(bytes) : undefined;
    const known = wire === undefined ? undefined : contents.find(clusterId, wire);
    const settings = { clusterId, allowJump, strict, maxFutureSkewMs, observedAtMs: observed };
    let published: Published;
    if (wire !== undefined && known !== undefined) {
      published = await publishKnownContent(store, settings, { wire, known, decode }, now());
    } else {
      published = await publishSnapshot(
        store,
        { ...settings, snapshot: decode() },
        now(),
        (judged, content) => {
          if (wire !== undefined) contents.remember(clusterId, wire, judged, content);
        },
      );
    }
    const outcome = OUTCOMES[published.decision];
    telemetry.count('Pushes', 1, { outcome: PushOutcome[outcome] });
    if (omitAfterMs !== undefined)
      c.header('resource-map-omit-after', String(Math.ceil(omitAfterMs / 1_000)));
    return respond(
      c,
      PushResultSchema,
      create(PushResultSchema, {
        outcome,
        clusterId,
        logicalCounter: published.logicalCounter,
        highWaterMark: published.head.highWater,
        warnings: published.warnings.map((w) => create(FindingSchema, w)),
        omittedWarnings: published.omittedWarnings,
      }),
    );
  });

  app.post(VALIDATE_PATH, async (c) => {
    refuseUnknownParameters(c, ['strict']);
    const strict = booleanParameter(c, 'strict');
    responseFormat(c);
    const snapshot = await readMessage(c, ClusterResourceMapSchema);
    const { findings, omitted, rejects } = checkSnapshot(snapshot, { nowMs: now(), strict, maxFutureSkewMs });
    return respond(
      c,
      ValidateResultSchema,
      create(ValidateResultSchema, {
        valid: rejects === 0,
        findings: findings.map((finding) => create(FindingSchema, finding)),
        omittedFindings: omitted,
      }),
    );
  });

  app.delete(CLUSTER_ROUTE, async (c) => {
    const clusterId = clusterIdOf(c, '');
    refuseUnknownParameters(c, ['reason']);
    responseFormat(c);
    const reason = c.req.query('reason') ?? '';
    if (Buffer.byteLength(reason) > MAX_REASON_BYTES) {
      throw new ResourceMapError(
        'invalid_query',
        `The reason ${JSON.stringify(`${cutUtf8(reason, 40)}…`)} has ${Buffer.byteLength(reason)} bytes; at most ${MAX_REASON_BYTES} are kept.`,
        { field: 'reason', limit: MAX_REASON_BYTES },
      );
    }
    if (SWEEPER_REASONS.has(reason)) {
      throw new ResourceMapError(
        'invalid_query',
        `The reason ${quote(reason)} is reserved: the service itself gives it to a cluster whose agent it has not heard. Give another one.`,
        { field: 'reason', value: reason },
      );
    }
    const head = await omitCluster(store.heads, clusterId, reason || 'deleted', now());
    const refusal = await store.heads.refusals.read(clusterId);
    return respond(c, ClusterStatusSchema, clusterStatus(head, refusal, now()));
  });
}
