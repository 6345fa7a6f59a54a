/** What is left, and whether something fits there. */

import { create } from '@bufbuild/protobuf';
import { evaluateShapes } from '../../core/capacity/fit/fit.ts';
import { fitResponse } from '../../core/capacity/fit/fit-response.ts';
import { MAX_FIT_BYTES } from '../../core/capacity/fit/limits.ts';
import { parseFitRequest } from '../../core/capacity/fit/parse-fit-request.ts';
import { targetMatcher } from '../../core/capacity/view/filter.ts';
import { groupTargets } from '../../core/capacity/view/group.ts';
import { targetCapacity } from '../../core/capacity/view/target-row.ts';
import { nanosOfMs } from '../../core/timestamp.ts';
import {
  CapacityResponseSchema,
  FitRequestSchema,
  FitResponseSchema,
} from '../../gen/resourcemap/v1/capacity_pb.ts';
import type { App } from '../../http/app.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { BodyLimits } from '../../http/read-body.ts';
import { readMessage } from '../../http/read-message.ts';
import { sendExposition } from '../../http/send-exposition.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import { capacityMetrics } from './capacity-metrics.ts';
import { capacityQuery, clusterQuery, headMatcher } from './capacity-query.ts';
import { sendMessage } from './send-message.ts';
import { clientClosedRequest, inTurns } from './turns.ts';
import { ViewReader } from './view-reader.ts';

export interface CapacityDeps {
  readonly store: Store;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The largest body of an answer that the front can carry; absent where it has no bound. */
  readonly maxResponseBytes?: number;
}

const FIT_LIMITS: BodyLimits = { sentBytes: MAX_FIT_BYTES, inflatedBytes: MAX_FIT_BYTES };

export function capacityRoutes(app: App, { store, telemetry, now, maxResponseBytes }: CapacityDeps): void {
  const reader = new ViewReader(store, telemetry);

  app.get('/v1/capacity', async (c) => {
    const { filter, groupBy } = capacityQuery(c);
    const accepts = targetMatcher(filter);
    const views = await reader.views(headMatcher(filter));
    const rows = views.flatMap((cluster) =>
      cluster.view.targets
        .filter((target) => accepts(cluster.view, target))
        .map((target) => ({ cluster, target })),
    );
    const nowNanos = nanosOfMs(now());
    const response = create(
      CapacityResponseSchema,
      groupBy.length > 0
        ? { groups: [...groupTargets(rows, groupBy, nowNanos)] }
        : { targets: rows.map(({ cluster, target }) => targetCapacity(cluster, target, nowNanos)) },
    );
    return sendMessage(c, CapacityResponseSchema, response, {
      maxBytes: maxResponseBytes,
      remedy: 'narrow it with a filter, or add it up with group_by',
    });
  });

  app.get('/metrics/capacity', async (c) => {
    const views = await reader.views(headMatcher(clusterQuery(c)));
    return sendExposition(c, capacityMetrics(views), maxResponseBytes);
  });

  app.post('/v1/capacity/fit', async (c) => {
    refuseUnknownParameters(c, []);
    const request = await readMessage(c, FitRequestSchema, { limits: FIT_LIMITS, mayBeEmpty: true });
    const { shapes, filter, released, maxCandidates } = parseFitRequest(request);
    const ofInterest = headMatcher(filter);
    const views =
      released.length === 0
        ? await reader.views(ofInterest)
        : await reader.viewsWithout(released, ofInterest);
    const responses = await inTurns(evaluateShapes(shapes, views, targetMatcher(filter)), c.req.raw.signal);
    if (responses === 'abandoned') return clientClosedRequest();
    return sendMessage(c, FitResponseSchema, fitResponse(responses, maxCandidates), {
      maxBytes: maxResponseBytes,
      remedy: 'ask for fewer candidates with max_candidates',
    });
  });
}
