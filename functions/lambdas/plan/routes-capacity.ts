/** What is left, and whether something fits there. */

import { create } from '@bufbuild/protobuf';
import { evaluateShapes } from '../../core/capacity/fit/fit.ts';
import { fitResponse } from '../../core/capacity/fit/fit-response.ts';
import { MAX_FIT_BYTES } from '../../core/capacity/fit/limits.ts';
import { parseFitRequest } from '../../core/capacity/fit/parse-fit-request.ts';
import { targetMatcher } from '../../core/capacity/view/filter.ts';
import { groupTargets } from '../../core/capacity/view/group.ts';
import type { DatedView } from '../../core/capacity/view/target-row.ts';
import { targetCapacity } from '../../core/capacity/view/target-row.ts';
import type { ClaimSettings } from '../../core/claims/evaluate.ts';
import { freshness } from '../../core/max-age.ts';
import { nanosOfMs } from '../../core/timestamp.ts';
import {
  type CapacityResponse,
  CapacityResponseSchema,
  FitRequestSchema,
  FitResponseSchema,
} from '../../gen/resourcemap/v1/capacity_pb.ts';
import type { App } from '../../http/app-env.ts';
import { knownRepresentations } from '../../http/conditional.ts';
import { responseFormat } from '../../http/media-type.ts';
import { preferredWaitSeconds } from '../../http/prefer.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { BodyLimits } from '../../http/read-body.ts';
import { readMessage } from '../../http/read-message.ts';
import { sendExposition } from '../../http/send-exposition.ts';
import { sendMessage } from '../../http/send-message.ts';
import { REVALIDATE } from '../../http/send-pieces.ts';
import { ChangeSignal } from '../../http/wait.ts';
import { WaitLimiter } from '../../http/wait-limiter.ts';
import { ClaimReader } from '../../reading/claim-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import type { Head } from '../../storage/head.ts';
import type { LedgerStore } from '../../storage/ledgers.ts';
import { capacityEtag } from './capacity-etag.ts';
import { capacityMetrics } from './capacity-metrics.ts';
import { capacityQuery, clusterQuery, headMatcher, ignoresClaims } from './capacity-query.ts';
import { type ClaimedViews, viewsBehindClaims, withoutClaims } from './claimed-views.ts';
import { clientClosedRequest, inTurns } from './turns.ts';
import { ViewReader } from './view-reader.ts';

export interface CapacityDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
  /** Claims that are subtracted; absent: there are none. */
  readonly claims?: ClaimsDeps;
  /** Ends waiting early; absent where no other request of the process changes anything. */
  readonly changes?: ChangeSignal;
}

/** What claims are read from and by. */
export interface ClaimsDeps {
  readonly ledgers: LedgerStore;
  readonly settings: ClaimSettings;
}

const FIT_LIMITS: BodyLimits = { sentBytes: MAX_FIT_BYTES, inflatedBytes: MAX_FIT_BYTES };

export function capacityRoutes(
  app: App,
  { store, telemetry, now, maxResponseBytes, claims, changes = new ChangeSignal() }: CapacityDeps,
): void {
  const reader = new ViewReader(store, telemetry);
  const waits = new WaitLimiter();
  const behind =
    claims === undefined
      ? undefined
      : { store, ...claims, reader: new ClaimReader(store, claims.ledgers, telemetry, claims.settings) };
  const claimed = async (
    views: () => Promise<readonly DatedView[]>,
    ignored: boolean,
    without: readonly string[] = [],
  ): Promise<ClaimedViews> =>
    behind === undefined || ignored
      ? withoutClaims(await views())
      : viewsBehindClaims(behind, views, now(), without);

  app.get('/v1/capacity', async (c) => {
    const query = capacityQuery(c);
    const { filter, groupBy, ignoreClaims, maxAge } = query;
    const isKnown = knownRepresentations(c);
    responseFormat(c);
    const seconds = preferredWaitSeconds(c);
    const accepts = targetMatcher(filter);
    const ofInterest = headMatcher(filter);
    const read = async (): Promise<{ readonly response: CapacityResponse; readonly etag: string }> => {
      const nowMs = now();
      const { isFresh, staleClusters } = freshness<Head>(maxAge, nowMs);
      const { shown } = await claimed(
        () => reader.views((head) => ofInterest(head) && isFresh(head)),
        ignoreClaims,
      );
      const rows = shown.flatMap((cluster) =>
        cluster.view.targets
          .filter((target) => accepts(cluster.view, target))
          .map((target) => ({ cluster, target })),
      );
      const nowNanos = nanosOfMs(nowMs);
      const response = create(CapacityResponseSchema, {
        ...(groupBy.length > 0
          ? { groups: [...groupTargets(rows, groupBy, nowNanos)] }
          : { targets: rows.map(({ cluster, target }) => targetCapacity(cluster, target, nowNanos)) }),
        staleClusters: staleClusters(),
      });
      return { response, etag: capacityEtag(query, response) };
    };
    const { response, etag } = await waits.pollUntil(
      c.get('principal'),
      read,
      (seen) => !isKnown(seen.etag),
      { changes, waitMs: seconds * 1_000, signal: c.req.raw.signal },
    );
    const headers = { etag, ...(seconds === 0 ? {} : { 'preference-applied': `wait=${seconds}` }) };
    if (isKnown(etag)) return c.body(null, 304, { ...REVALIDATE, ...headers });
    return sendMessage(c, CapacityResponseSchema, response, {
      maxBytes: maxResponseBytes,
      remedy: 'narrow it with a filter, or add it up with group_by',
      headers,
    });
  });

  app.get('/metrics/capacity', async (c) => {
    const views = await reader.views(headMatcher(clusterQuery(c)));
    return sendExposition(c, capacityMetrics(views), maxResponseBytes);
  });

  app.post('/v1/capacity/fit', async (c) => {
    refuseUnknownParameters(c, ['claims']);
    const ignored = ignoresClaims(c);
    const request = await readMessage(c, FitRequestSchema, { limits: FIT_LIMITS, mayBeEmpty: true });
    const {
      shapes,
      filter,
      released,
      maxCandidates,
      withoutClaims: without,
      maxAge,
    } = parseFitRequest(request);
    const { isFresh, staleClusters } = freshness<Head>(maxAge, now());
    const isOf = headMatcher(filter);
    const ofInterest = (head: Head): boolean => isOf(head) && isFresh(head);
    const views = () =>
      released.length === 0 ? reader.views(ofInterest) : reader.viewsWithout(released, ofInterest);
    const { fitted, taken } = await claimed(views, ignored, without);
    const responses = await inTurns(
      evaluateShapes(shapes, fitted, targetMatcher(filter), undefined, taken),
      c.req.raw.signal,
    );
    if (responses === 'abandoned') return clientClosedRequest();
    return sendMessage(c, FitResponseSchema, fitResponse(responses, maxCandidates, staleClusters()), {
      maxBytes: maxResponseBytes,
      remedy: 'ask for fewer candidates with max_candidates',
    });
  });
}
