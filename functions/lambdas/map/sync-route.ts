/** POST /v1/map/sync: what changed since the caller's clock. */

import { WHOLE_MAP } from '../../core/map/filter.ts';
import { spliceSyncJson } from '../../core/map/splice-json.ts';
import { spliceSyncProtobuf } from '../../core/map/splice-protobuf.ts';
import { SyncRequestSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import type { App } from '../../http/app-env.ts';
import { MAX_SYNC_BYTES } from '../../http/limits.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { BodyLimits } from '../../http/read-body.ts';
import { readMessage } from '../../http/read-message.ts';
import { encodePieces, sendEncoded } from '../../http/send-pieces.ts';
import type { ChangeSignal } from '../../http/wait.ts';
import type { WaitLimiter } from '../../http/wait-limiter.ts';
import type { FilterFactsReader } from '../../reading/filter-facts.ts';
import type { MapReader } from '../../reading/map-reader.ts';
import { waitOptionsOf, wantedForm } from './map-request.ts';
import type { WaitingRoute } from './map-route.ts';
import { afterOf } from './sync-continuation.ts';
import { reportsNothing, type SyncQuery, syncResponse } from './sync-response.ts';

/** What a response holds unless the caller says otherwise: what a Lambda can carry. */
const DEFAULT_SYNC_BYTES = 4_000_000;

const SYNC_LIMITS: BodyLimits = { sentBytes: MAX_SYNC_BYTES, inflatedBytes: MAX_SYNC_BYTES };

export interface SyncDeps {
  readonly map: MapReader;
  readonly facts: FilterFactsReader;
  readonly changes: ChangeSignal;
  readonly waits: WaitLimiter;
  readonly maxResponseBytes: number | undefined;
}

export function syncRoute(
  app: App,
  { path, longestWaitSeconds }: WaitingRoute,
  { map, facts, changes, waits, maxResponseBytes }: SyncDeps,
): void {
  app.post(path, async (c) => {
    refuseUnknownParameters(c, []);
    const wanted = wantedForm(c);
    const { waitOptions, headers } = waitOptionsOf(c, changes, longestWaitSeconds);
    const request = await readMessage(c, SyncRequestSchema, { limits: SYNC_LIMITS, mayBeEmpty: true });
    const query: SyncQuery = {
      callerClock: new Map(Object.entries(request.vectorClock)),
      filter: request.filter ?? WHOLE_MAP,
      after: afterOf(request.continuation),
      maxBytes: Math.min(
        Number(request.maxBytes) || DEFAULT_SYNC_BYTES,
        maxResponseBytes ?? Number.MAX_SAFE_INTEGER,
      ),
    };
    const response = await waits.pollUntil(
      c.get('principal'),
      () => syncResponse(map, facts, query, wanted),
      (seen) => !reportsNothing(seen),
      waitOptions,
    );
    const splice = wanted.format === 'protobuf' ? spliceSyncProtobuf : spliceSyncJson;
    return sendEncoded(c, encodePieces(splice(response), wanted.zipped), {
      zipped: wanted.zipped,
      headers: { ...headers, 'content-type': wanted.contentType },
      maxBytes: maxResponseBytes,
      remedy: wanted.zipped
        ? 'leave its largest cluster out with a filter'
        : 'send Accept-Encoding: gzip, or leave its largest cluster out with a filter',
    });
  });
}
